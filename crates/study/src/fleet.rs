//! What a load that comes from several machines needs and cannot have.

use plan::key::THREADS;
use plan::{ServerSpec, Trial};

use crate::error::Report;
use crate::point::{AGENTS, ENGINE, FROM, LISTEN, NATS, Point, URL};

pub(crate) fn check(at: &Point<'_>, trial: &Trial) {
    let Some(fleet) = &trial.load.fleet else {
        return;
    };
    for (one, other) in [(FROM, AGENTS), (NATS, LISTEN)] {
        if let (Some(one), Some(other)) = (at.find(one), at.find(other)) {
            let (name, other_name) = (one.name.full(), other.name.full());
            let message = format!("`{name}` cannot be combined with `{other_name}`");
            at.refuse_two(one.at, other.at, message, "remove one of the two");
        }
    }
    let Some(cause) = [FROM, AGENTS].iter().find_map(|name| at.find(name)) else {
        return;
    };
    let (users, count) = (trial.load.threads, fleet.agents.count());
    if (users as usize) < count {
        let message = format!("{users} virtual users are too few for {count} agents");
        let place = at.find(THREADS).map_or(cause.at, |threads| threads.at);
        at.refuse(
            place,
            message,
            "each agent drives one at least: raise `load.threads`",
        );
    }
    let server = at.find(URL).or_else(|| at.find(ENGINE));
    let server = server.map_or(cause.at, |server| server.at);
    if let Some(engine) = at.in_process() {
        let message = format!(
            "agents cannot reach `{}`, which runs inside dyno",
            engine.name
        );
        let help = format!(
            "remove `{}`, or choose an engine that runs as a server",
            cause.name.full()
        );
        return at.refuse_two(server, cause.at, message, help);
    }
    let far = [NATS, LISTEN].iter().find_map(|name| at.find(name));
    if let Some(far) = far.filter(|_| !fleet.nats.is_loopback() && trial.serves_only_this_machine())
    {
        let message =
            "agents on other machines cannot reach servers on this one's loopback interface";
        let help = match trial.server {
            ServerSpec::Url(..) => "write the address at which other machines reach the server",
            ServerSpec::Engine(_) => {
                "start the servers on another host with `site.host`, name running ones with `server.url`, or remove it to have all agents on this machine"
            }
        };
        at.refuse_two(far.at, server, message, help);
    }
}
