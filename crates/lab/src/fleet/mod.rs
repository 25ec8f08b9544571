//! Load from many machines: which agents drive a trial, and what they tell.
//!
//! Only the load itself runs on the agents. The coordinator has the servers, the ledger, faults,
//! probers, and monitors, and sees one load: `drive` sends each agent its part, merges their seconds,
//! and passes on what the trial decides meanwhile. `agent` is the other side.

mod agent;
pub(crate) mod drive;
mod message;
mod part;
#[cfg(test)]
mod scale_tests;
pub(crate) mod team;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use fleet::{Fleet, Identity, Presence};
use plan::{Agents, Exit, listed};

use crate::{Failure, Trial};

pub use agent::run_order;

/// How long agents may take to answer a call for them.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// How long agents are waited for: people start them, services start them again, and other runs end.
pub const GATHER_LIMIT: Duration = Duration::from_secs(300);

/// Checks, before anything runs, that the agents of a trial are there and can drive it.
pub fn check_agents(fleet: &Fleet, trial: &Trial) -> Result<(), Failure> {
    muster(fleet, &trial.planned).map(drop)
}

/// The agents of a trial; none if its load comes from this process.
fn muster(fleet: &Fleet, trial: &plan::Trial) -> Result<Vec<Identity>, Failure> {
    let Some(plan::Fleet { agents: wanted, .. }) = &trial.load.fleet else {
        return Ok(Vec::new());
    };
    // All of an order except the addresses of the servers.
    let texts = trial.load.scripts.iter().map(|script| &*script.text);
    let order = serde_json::to_vec(&(trial, texts.collect::<Vec<_>>()));
    let order = order.map_err(Failure::internal)?;
    fleet.check_order(order.len())?;
    let fits = |agent: &&Presence| match wanted {
        Agents::Count(_) => hindrance(fleet, agent).is_none(),
        Agents::Labels(labels) => labels.contains(&agent.identity.label),
    };
    let count = wanted.count();
    let enough = |present: &[Presence]| present.iter().filter(fits).count() >= count;
    let present = fleet.present(ANSWER_LIMIT, enough)?;
    check_labels(fleet, &present, wanted.labels())?;
    let agents = present.iter().filter(fits).take(count);
    let agents: Vec<Identity> = agents.map(|one| one.identity.clone()).collect();
    if agents.len() < count {
        return Err(too_few(fleet, wanted, &present, agents.len()));
    }
    let far = agents.iter().find(|agent| !is_near(fleet, agent));
    match far.filter(|_| trial.serves_only_this_machine()) {
        Some(agent) => Err(out_of_reach(agent, "servers on the loopback interface")),
        None => Ok(agents),
    }
}

/// Whether an agent reaches what listens on this process' loopback interface.
fn is_near(fleet: &Fleet, agent: &Identity) -> bool {
    let own = &fleet.own;
    agent.machine == own.machine && agent.network == own.network
}

/// Why an agent cannot take orders of this coordinator; `None` if it can.
fn hindrance(fleet: &Fleet, agent: &Presence) -> Option<Failure> {
    let (theirs, own) = (&agent.identity, &fleet.own);
    let label = &theirs.label;
    let why = if agent.trusts != fleet.public_key() {
        format!("agent {label} trusts another coordinator's key")
    } else if theirs.architecture != own.architecture {
        let (there, here) = (&theirs.architecture, &own.architecture);
        format!("agent {label} runs on {there}, this machine is {here}")
    } else if theirs.build != own.build {
        let (there, here) = (&theirs.build, &own.build);
        format!("agent {label} runs dyno {there}, this is dyno {here}")
    } else {
        let run = agent.run.as_ref().filter(|run| **run != own.id)?;
        // A study waits for that, unlike for the others.
        return Some(fleet::busy(theirs, run));
    };
    let remedy = "start it anew, with the program and the key of this coordinator";
    Some(Failure::usage(why).remedy(remedy))
}

/// Checks that none of the agents with these labels is hindered, or stands for two.
fn check_labels(fleet: &Fleet, present: &[Presence], labels: &[String]) -> Result<(), Failure> {
    for label in labels {
        let mut same = present.iter().filter(|one| one.identity.label == *label);
        let (first, second) = (same.next(), same.next());
        if second.is_some() {
            let message = format!("two agents have the label {label}");
            let remedy = "give each agent a label of its own (dyno agent --label)";
            return Err(Failure::usage(message).remedy(remedy));
        }
        if let Some(failure) = first.and_then(|agent| hindrance(fleet, agent)) {
            return Err(failure);
        }
    }
    Ok(())
}

fn too_few(fleet: &Fleet, wanted: &Agents, present: &[Presence], fit: usize) -> Failure {
    let hindered = present.iter().filter_map(|one| hindrance(fleet, one));
    let hindered: Vec<String> = hindered.map(|failure| failure.message).collect();
    if matches!(wanted, Agents::Count(_)) && !hindered.is_empty() {
        let message = format!("{fit} of {wanted} can be used: {}", hindered.join("; "));
        let remedy = "start more, with the program and the key of this coordinator";
        return Failure::server(message).remedy(remedy);
    }
    let labels = present.iter().map(|one| one.identity.label.as_str());
    let answered = match present.is_empty() {
        true => "no agent answered".to_owned(),
        false => format!("only these answered: {}", listed(labels)),
    };
    let message = format!("the load is to come from {wanted}, but {answered}");
    let remedy =
        "start more: `dyno agent` on each load machine, with the address of the nats-server";
    Failure::server(message).remedy(remedy)
}

/// Waits until `check` finds the agents that it needs, or until the limit. `tell` gets each reason why
/// it does not.
pub fn gather<T>(
    limit: Duration,
    mut check: impl FnMut() -> Result<T, Failure>,
    tell: &mut dyn FnMut(&str),
    is_interrupted: &dyn Fn() -> bool,
) -> Result<T, Failure> {
    let deadline = Instant::now() + limit;
    let mut told = String::new();
    loop {
        let failure = match check() {
            Err(failure) if failure.exit == Exit::Server => failure,
            // Agents that are there but cannot be used do not change.
            checked => return checked,
        };
        if is_interrupted() {
            return Err(Failure::interrupted("interrupted while waiting for agents"));
        }
        if Instant::now() >= deadline {
            return Err(failure);
        }
        if told != failure.message {
            told.clone_from(&failure.message);
            tell(&told);
        }
    }
}

/// The failure of a study with an agent that does not reach a server.
fn out_of_reach(agent: &Identity, server: &str) -> Failure {
    let message = format!(
        "agent {} runs on another machine or in another network, from which it cannot reach {server}",
        agent.label
    );
    let remedy = "give the server an address that all agents reach";
    Failure::usage(message).remedy(remedy)
}
