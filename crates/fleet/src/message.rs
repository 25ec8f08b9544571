//! What a coordinator and its agents tell each other, besides what a load reports.

use serde::{Deserialize, Serialize};

/// Most bytes of what an agent says of itself.
const MAX_BYTES: usize = 1000;

/// An agent, as it presents itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// As its user calls it.
    pub label: String,
    /// Of this process; no other one has it.
    pub id: String,
    /// The version and build of the program.
    pub build: String,
    /// Of its CPUs.
    pub architecture: String,
    /// CPUs that it may use.
    pub cpus: u32,
    /// Which machine it runs on, as long as that runs.
    pub machine: String,
    /// Processes of a machine with the same one reach each other at their loopback interface.
    pub network: String,
    /// Its process ID.
    pub process: u32,
}

/// An answer to a call for agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    pub identity: Identity,
    /// The run that it works for; `None` if it is free.
    pub run: Option<String>,
    /// The public key of the coordinator whose orders it takes.
    pub trusts: String,
}

impl Presence {
    /// From an answer, if it can be shown to users, and is no longer than what agents say of
    /// themselves.
    pub(crate) fn parse(answer: &[u8]) -> Option<Self> {
        // Without escapes, all texts are as plain as the answer.
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'\\';
        if answer.len() > MAX_BYTES || !answer.iter().all(is_plain) {
            return None;
        }
        let presence: Self = serde_json::from_slice(answer).ok()?;
        // The id is part of subjects.
        let names = [&presence.identity.label, &presence.identity.id];
        let are_labels = names.into_iter().all(|name| plan::is_label(name));
        are_labels.then_some(presence)
    }
}

/// What one agent is to run. Signed by the coordinator.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The agent's [`Identity::id`], so that nobody else can use it.
    pub(crate) agent: String,
    pub(crate) run: String,
    /// One of the run's loads.
    pub(crate) load: u32,
    /// When the clock of the coordinator's load read 0, on the agent's monotonic clock.
    pub(crate) origin_ns: u64,
    pub(crate) body: serde_json::Value,
}

/// An agent's answer to an order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Taken {
    Accepted,
    /// It works for this run.
    Busy(String),
    Refused(String),
}

/// How a load is to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Ending {
    #[default]
    None,
    /// As if its time were over.
    Enough,
    Interrupt,
    /// At once: the coordinator has everything that it wants.
    Over,
}

/// What all agents of a load are to know, as a whole: one that missed some of them needs only the
/// last one. Signed by the coordinator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Higher than that of all earlier ones.
    pub version: u64,
    /// When the load starts, on the clock of the coordinator's load.
    pub start_ns: Option<u64>,
    pub ending: Ending,
    /// Whether each server is open to users.
    pub open: Vec<bool>,
    /// Starts of transactions that are awaited, on the same clock.
    pub awaited_ns: Vec<u64>,
    /// The ids of agents that count as missing.
    pub missing: Vec<String>,
}

pub(crate) const HELLO: &str = "dyno.agents.hello";
/// The stream of everything that loads report.
pub(crate) const STREAM: &str = "DYNO";
pub(crate) const REPORTS: &str = "dyno.reports.>";
pub(crate) const CONTROL: &str = "control";
pub(crate) const HERE: &str = "here";
pub(crate) const ORDER: &str = "order";
/// Asks for a [`Reading`](measure::clock::Reading).
pub(crate) const CLOCK: &str = "clock";

pub(crate) fn of_agent(agent: &str, what: &str) -> String {
    format!("dyno.agent.{agent}.{what}")
}

/// The load of a run: `here` asks whether its coordinator is still there, and `control` is told. A
/// [`Control`] is signed for the subject on which it is told.
pub(crate) fn of_load(run: &str, load: u32, what: &str) -> String {
    format!("dyno.run.{run}.{load}.{what}")
}

pub(crate) fn reports_of(run: &str, load: u32, agent: &str) -> String {
    format!("dyno.reports.{run}.{load}.{agent}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_agents_say_of_themselves_is_short_and_plain() {
        let presence = |label: &str, machine: &str, run: Option<&str>| Presence {
            identity: Identity {
                label: label.to_owned(),
                id: "1f".to_owned(),
                build: "1.0+aa".to_owned(),
                architecture: "x86_64".to_owned(),
                cpus: 1,
                machine: machine.to_owned(),
                network: "net:[4026531992]".to_owned(),
                process: 1,
            },
            run: run.map(str::to_owned),
            trusts: String::new(),
        };
        let is_taken = |presence: &Presence| {
            Presence::parse(&serde_json::to_vec(presence).unwrap()).as_ref() == Some(presence)
        };
        assert!(is_taken(&presence("a", "", None)));
        assert!(is_taken(&presence("a", "b", Some("c"))));
        assert!(!is_taken(&presence("a.b", "", None)));
        for bad in ["\n", "a b", "\u{7f}", "\u{202e}"] {
            assert!(!is_taken(&presence("a", "", Some(bad))), "{bad:?}");
        }
        assert!(!is_taken(&presence("a", &"x".repeat(MAX_BYTES), None)));
    }
}
