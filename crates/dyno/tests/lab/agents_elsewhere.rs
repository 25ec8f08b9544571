//! Agents in networks of their own, connected by a nats-server that the study starts with TLS.

use tempfile::TempDir;
use testkit::Hosts;

use crate::agents::after;
use crate::common::{Cache, Program};

/// The certificate of both ends, and the authority that both trust.
const FILES: [(&str, &str); 3] = [
    ("NATS_CA", "ca.pem"),
    ("NATS_CERT", "server-cert.pem"),
    ("NATS_KEY", "server-key.pem"),
];

struct Place {
    hosts: Hosts,
    cache: Cache,
    files: TempDir,
}

impl Place {
    /// With so many hosts; `None` where this user may not make any.
    fn with(hosts: u8) -> Option<Self> {
        let hosts = Hosts::start(hosts)?;
        let files = tempfile::tempdir().unwrap();
        testkit::certify(files.path(), &format!("IP:{}", hosts.here()));
        let cache = Cache::kept();
        Some(Self {
            hosts,
            cache,
            files,
        })
    }

    fn certified(&self, program: Program) -> Program {
        FILES.into_iter().fold(program, |program, (name, file)| {
            program.env(name, self.files.path().join(file))
        })
    }

    fn study(&self, site: &str) -> Program {
        let text = format!(
            "title = 't'\nserver.engine = 'mariadb'\n{site}\n[data]\nrows = 100\n[load]\nthreads = 6\n\
             from = ['one', 'two']\nnats_listen = '{}:0'\nwarmup = '0s'\ntime = '3s'\n",
            self.hosts.here()
        );
        self.certified(Program::study(&text)).cache(&self.cache)
    }
}

#[test]
fn agents_of_two_hosts_drive_a_server_on_a_third() {
    let Some(place) = Place::with(3) else { return };
    let config = place.hosts.config();
    let site = format!(
        "site.hosts = ['host1']\nsite.ssh_config = '{}'",
        config.display()
    );
    let mut dyno = place.study(&site).start();
    dyno.says("on each load machine");
    let said = dyno.stderr();
    let (nats, key) = (after(&said, "--nats"), after(&said, "--key"));
    assert!(
        nats.starts_with(&format!("tls://{}:", place.hosts.here())),
        "{nats}"
    );
    let agents = [(2, "one"), (3, "two")].map(|(number, label)| {
        let words = format!("agent --nats {nats} --key {key} --label {label}");
        let agent = place.certified(Program::on(&place.hosts, number));
        agent.args(&words).start()
    });
    let trial = dyno.wait().succeeds().completed();
    assert_eq!(trial.agents.len(), 2);
    for agent in &trial.agents {
        assert!(
            agent.transactions > 0 && agent.missing_since_s.is_none(),
            "{agent:?}"
        );
    }
    drop(agents);
    place.cache.assert_nothing_left();
}

#[test]
fn servers_that_agents_elsewhere_cannot_reach_are_refused() {
    let Some(place) = Place::with(1) else { return };
    let refused = place.study("");
    refused.fails(
        2,
        &[
            "cannot reach servers on this one's loopback interface",
            "`site.host`",
        ],
    );
    place.cache.assert_nothing_left();
}
