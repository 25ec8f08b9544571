//! Load machines: `dyno agent`, `dyno agents`, and the agents that a study's load comes from.

mod access;
mod key;
mod list;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fleet::{Fleet, Identity, PublicKey};
use lab::servers::NatsServer;
use lab::{Lab, Trial};
use plan::{Exit, Nats, ServerUrl};

use crate::cli::{AgentArgs, NatsArg};
use crate::console::{eprint, print};
use crate::failure::Failure;
use crate::signals;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const HOST_NAME: &str = "/proc/sys/kernel/hostname";
/// How long `dyno agents` listens for answers.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// Serves as a load machine until it is interrupted.
pub(crate) fn agent(args: &AgentArgs) -> Result<(), Failure> {
    let access = access::typed(&args.nats)?;
    let trusted = PublicKey::parse(&args.key)?;
    let identity = Identity::of_this_process(&label(args)?, VERSION)?;
    let interrupted = signals::interruption()?;
    let run = lab::run_order;
    fleet::agent::serve(&access, &identity, &trusted, run, &interrupted, eprint)
}

/// The label that is typed, else the host's name.
fn label(args: &AgentArgs) -> Result<String, Failure> {
    let typed = args.label.clone();
    let label = typed.unwrap_or_else(|| {
        let name = std::fs::read_to_string(HOST_NAME).unwrap_or_default();
        let first = name.trim().split('.').next().unwrap_or_default();
        first.to_owned()
    });
    match plan::is_label(&label) {
        true => Ok(label),
        false => {
            let message = format!("`{}` cannot be the label of an agent", plan::shown(&label));
            let remedy = "give it one with --label: letters, digits, `-`, and `_`, at most 64";
            Err(Failure::usage(message).remedy(remedy))
        }
    }
}

/// Lists the agents that a nats-server connects.
pub(crate) fn agents(args: &NatsArg) -> Result<(), Failure> {
    let access = access::typed(args)?;
    let key = key::of_this_machine()?;
    let public_key = key.public().to_string();
    print(&format!("public key of this machine: {public_key}"))?;
    let fleet = Fleet::connect(&access, key, VERSION)?;
    let present = fleet.present(ANSWER_LIMIT, |_| false)?;
    if present.is_empty() {
        return print(&format!(
            "no agents; on each load machine: dyno agent --nats {} --key {public_key}",
            access.url
        ));
    }
    let offsets = fleet.offsets(present.iter().map(|one| &one.identity));
    let agents: Vec<_> = present.into_iter().zip(offsets).collect();
    print(&list::table(&agents, &fleet.own, &public_key))
}

/// Connects the trials of a study with the agents that their load comes from, and waits until these
/// are there. A private nats-server lives as long as the result.
pub(crate) fn connect(
    lab: &Lab,
    mut trials: Vec<&mut Trial>,
    interrupted: &AtomicBool,
) -> Result<Option<NatsServer>, Failure> {
    let mut wanted = trials.iter();
    let Some(wanted) = wanted.find_map(|trial| trial.planned.load.fleet.clone()) else {
        return Ok(None);
    };
    let (server, url) = match wanted.nats {
        Nats::Url(url) => (None, url.value),
        Nats::Private { listen } => {
            let tls = access::private()?.filter(|_| !listen.ip().is_loopback());
            let server = NatsServer::start(lab.home()?, listen, tls.as_ref(), interrupted)?;
            let url = ServerUrl::from(server.url());
            (Some(server), url)
        }
    };
    let access = access::at(url)?;
    let fleet = Arc::new(Fleet::connect(&access, key::of_this_machine()?, VERSION)?);
    fleet.check()?;
    let key = fleet.public_key();
    let command = format!("dyno agent --nats {} --key {key}", access.url);
    for trial in &mut trials {
        let has_agents = trial.planned.load.fleet.is_some();
        trial.fleet = has_agents.then(|| Arc::clone(&fleet));
    }
    let check = || {
        let mut trials = trials.iter();
        trials.try_for_each(|trial| lab::check_agents(&fleet, trial))
    };
    let how = match labels(&trials).as_slice() {
        [] => format!("on each load machine: {command}"),
        labels => format!(
            "on each load machine, with its label ({}): {command} --label LABEL",
            labels.join(", ")
        ),
    };
    let mut tell = |why: &str| eprint(&format!("waiting: {why}\n  {how}"));
    let gathered = lab::gather(lab::GATHER_LIMIT, check, &mut tell, &|| {
        interrupted.load(Ordering::Relaxed)
    });
    match gathered {
        Err(failure) if failure.exit == Exit::Server => Err(failure.remedy(how)),
        gathered => gathered.map(|()| server),
    }
}

/// The labels that the trials name.
fn labels<'a>(trials: &'a [&mut Trial]) -> Vec<&'a str> {
    let fleets = trials
        .iter()
        .filter_map(|trial| trial.planned.load.fleet.as_ref());
    let labels = fleets.flat_map(|fleet| fleet.agents.labels());
    let labels: BTreeSet<&str> = labels.map(String::as_str).collect();
    labels.into_iter().collect()
}
