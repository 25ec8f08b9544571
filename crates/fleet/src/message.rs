//! What a coordinator and its agents tell each other, besides what a load reports.

use serde::{Deserialize, Serialize};

/// Most bytes of what an agent says of itself.
const MAX_TEXT_BYTES: usize = 100;

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
    /// Whether it can be shown to users, and is no longer than what agents say of themselves.
    pub(crate) fn is_plain(&self) -> bool {
        let agent = &self.identity;
        let texts = [&agent.build, &agent.architecture, &self.trusts];
        let places = [&agent.machine, &agent.network];
        let is_plain = |text: &String| {
            let has_room = text.len() <= MAX_TEXT_BYTES;
            has_room && text.chars().all(|c| c.is_ascii_graphic())
        };
        let texts = texts.into_iter().chain(places).chain(&self.run);
        // The id is part of subjects.
        let names = [&agent.label, &agent.id];
        names.into_iter().all(|name| plan::is_label(name)) && texts.into_iter().all(is_plain)
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
    /// Whether the coordinator has everything that it wants.
    pub is_over: bool,
}

pub(crate) const HELLO: &str = "dyno.agents.hello";
/// The stream of everything that loads report.
pub(crate) const STREAM: &str = "DYNO";
pub(crate) const REPORTS: &str = "dyno.reports.>";
pub(crate) const ORDER: &str = "order";

/// Asks an agent for a [`Reading`](measure::clock::Reading) of its clocks.
pub(crate) fn clock_of(agent: &str) -> String {
    format!("dyno.agent.{agent}.clock")
}

pub(crate) fn order_for(agent: &str) -> String {
    format!("dyno.agent.{agent}.order")
}

/// The load of a run: `here` asks whether its coordinator is still there, and `control` is told.
pub(crate) fn of_load(run: &str, load: u32, what: &str) -> String {
    format!("dyno.run.{run}.{load}.{what}")
}

pub(crate) fn reports_of(run: &str, load: u32, agent: &str) -> String {
    format!("dyno.reports.{run}.{load}.{agent}")
}

/// What a [`Control`] is signed for: one load of one run.
pub(crate) fn control_of(run: &str, load: u32) -> String {
    format!("control {run} {load}")
}

#[cfg(test)]
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
        assert!(presence("a", "", None).is_plain());
        assert!(presence("a", "b", Some("c")).is_plain());
        assert!(!presence("a.b", "", None).is_plain());
        assert!(!presence("a", "", Some("\n")).is_plain());
        let long = "x".repeat(MAX_TEXT_BYTES + 1);
        assert!(!presence("a", &long, None).is_plain());
    }
}
