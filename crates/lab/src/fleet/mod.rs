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

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fleet::{Access, Identity, Presence, SigningKey};
use plan::{Agents, Exit, listed};

use crate::{Failure, Trial};

pub use agent::AgentRunner;

/// How long agents may take to answer a call for them.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// The agents that a coordinator reaches, for all trials of its run.
pub struct Fleet {
    fleet: fleet::Fleet,
    own: Identity,
    /// The public key whose owner is this coordinator.
    key: String,
    run: String,
    /// The number of its next load.
    next_load: AtomicU32,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fleet({})", self.run)
    }
}

impl Fleet {
    /// `version` is that of the program, of which agents have the same.
    pub fn connect(access: &Access, key: SigningKey, version: &str) -> Result<Arc<Self>, Failure> {
        let public = key.public().to_string();
        let fleet = fleet::Fleet::connect(access, key)?;
        fleet.check()?;
        let own = Identity::of_this_process("coordinator", version)?;
        Ok(Arc::new(Self {
            fleet,
            run: own.id.clone(),
            own,
            key: public,
            next_load: AtomicU32::new(1),
        }))
    }

    /// Checks, before anything runs, that the agents of a trial are there and can drive it.
    pub fn check(&self, trial: &Trial) -> Result<(), Failure> {
        let Some(wanted) = &trial.planned.load.fleet else {
            return Ok(());
        };
        self.muster(&wanted.agents).map(drop)
    }

    /// The agents of a trial.
    fn muster(&self, wanted: &Agents) -> Result<Vec<Identity>, Failure> {
        let fits = |agent: &&Presence| match wanted {
            Agents::Count(_) => self.hindrance(agent).is_none(),
            Agents::Labels(labels) => labels.contains(&agent.identity.label),
        };
        let count = wanted.count();
        let enough = |present: &[Presence]| present.iter().filter(fits).count() >= count;
        let present = self.fleet.present(ANSWER_LIMIT, enough)?;
        self.check_labels(&present, wanted.labels())?;
        let agents = present.iter().filter(fits).take(count);
        let agents: Vec<Identity> = agents.map(|one| one.identity.clone()).collect();
        match agents.len() < count {
            true => Err(self.too_few(wanted, &present, agents.len())),
            false => Ok(agents),
        }
    }

    /// Why an agent cannot take orders of this coordinator; `None` if it can.
    fn hindrance(&self, agent: &Presence) -> Option<Failure> {
        let (theirs, own) = (&agent.identity, &self.own);
        let label = &theirs.label;
        let unfit = |why: String| {
            let remedy = "start it anew, with the program and the key of this coordinator";
            Some(Failure::usage(why).remedy(remedy))
        };
        if agent.trusts != self.key {
            return unfit(format!("agent {label} trusts another coordinator's key"));
        }
        if theirs.architecture != own.architecture {
            let (there, here) = (&theirs.architecture, &own.architecture);
            return unfit(format!(
                "agent {label} runs on {there}, this machine is {here}"
            ));
        }
        if theirs.build != own.build {
            let (there, here) = (&theirs.build, &own.build);
            return unfit(format!(
                "agent {label} runs dyno {there}, this is dyno {here}"
            ));
        }
        let run = agent.run.as_ref().filter(|run| **run != self.run)?;
        let why = format!("agent {label} works for the run {run}");
        let remedy = "wait until that run has ended, or start more agents";
        // A study waits for that, unlike for the others.
        Some(Failure::server(why).remedy(remedy))
    }

    /// Checks that none of the agents with these labels is hindered, or stands for two.
    fn check_labels(&self, present: &[Presence], labels: &[String]) -> Result<(), Failure> {
        for label in labels {
            let mut same = present.iter().filter(|one| one.identity.label == *label);
            let (first, second) = (same.next(), same.next());
            if second.is_some() {
                let message = format!("two agents have the label {label}");
                let remedy = "give each agent a label of its own (dyno agent --label)";
                return Err(Failure::usage(message).remedy(remedy));
            }
            if let Some(failure) = first.and_then(|agent| self.hindrance(agent)) {
                return Err(failure);
            }
        }
        Ok(())
    }

    fn too_few(&self, wanted: &Agents, present: &[Presence], fit: usize) -> Failure {
        let hindered = present.iter().filter_map(|one| self.hindrance(one));
        if let (Agents::Count(_), Some(failure)) = (wanted, hindered.reduce(together)) {
            return failure.context(format!("{fit} of {wanted} can be used"));
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

    fn next_load(&self) -> u32 {
        self.next_load.fetch_add(1, Ordering::Relaxed)
    }
}

/// What keeps several agents from working; those that are busy may become free.
fn together(one: Failure, other: Failure) -> Failure {
    let message = format!("{}; {}", one.message, other.message);
    let rest = match other.exit {
        Exit::Server => other,
        _ => one,
    };
    Failure { message, ..rest }
}

/// Raises the limit on open files to the maximum, which only connections use up.
fn allow_all_files() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    // If that fails, connections fail with a message of their own.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
}
