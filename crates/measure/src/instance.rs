//! The servers of a trial: their results, settings, processes, data, and events.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::setup::Outcome;
use crate::summary::{LatencySummary, Rate};
use crate::words::words;

/// The results of one of several servers under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceSummary {
    /// Counted from 1.
    pub number: u32,
    /// The address without the password.
    pub server: String,
    pub transactions: Rate,
    /// From the intended start to the end; `None` if no transaction completed.
    pub response_ms: Option<LatencySummary>,
    pub errors: u64,
    /// Number of errors after which the transaction was restarted.
    pub restarts: u64,
    pub outcome: Outcome,
    /// Settings of the server that differ from the defaults, in order of name.
    pub settings: Vec<(String, String)>,
    /// `None` for an engine inside dyno, and in a trial without monitors.
    pub process: Option<ServerProcess>,
    /// Time that the cluster took to form, in seconds: from the start of the first program until
    /// all members replicated and it could be driven. `None` if dyno formed no cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formation_s: Option<f64>,
}

/// The process of a server. If it was found, its CPU time and memory are sampled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ServerProcess {
    Found {
        pid: u32,
    },
    /// The process runs elsewhere, or this user cannot see it.
    NotFound {
        reason: String,
    },
}

/// How a trial's servers got their data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reset {
    pub how: ResetHow,
    /// Time that it took for all servers, in seconds.
    pub took_s: f64,
    /// Time to write the data to disk and drop it from the page cache before the servers started,
    /// in seconds; `None` if that was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_s: Option<f64>,
    /// Time to set up the sites of all servers and to start the servers, in seconds; `None` if they
    /// already ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_s: Option<f64>,
    /// Time to build the template or to load missing rows, in seconds, which later trials reuse; `None` if
    /// nothing was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_s: Option<f64>,
    /// Time that building the data took when it was built, in seconds.
    pub build_s: f64,
    /// Size of one server's data, in bytes.
    pub bytes: u64,
    /// Checksum of the rows of all tables, in hexadecimal.
    pub checksum: Option<String>,
}

/// How a server's data gets into the state that a trial requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetHow {
    Copied,
    /// The template was built first, then copied.
    BuiltAndCopied,
    Rebuilt,
    /// Left in the state after the previous trial.
    Kept,
    /// The server was already running; missing rows were loaded.
    Found,
}

/// The disk space of the data of all servers after the load.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Space {
    /// Size of the servers' files without holes, before compression and deduplication.
    pub data_bytes: u64,
    /// Bytes on the devices of the volumes, with all copies and parity; `None` unless dyno made
    /// each volume's file system.
    pub used_bytes: Option<u64>,
    /// `used_bytes` without compression and deduplication.
    pub unreduced_bytes: Option<u64>,
}

impl Space {
    /// Space that compression and deduplication save on the devices, in percent.
    pub fn savings_pct(&self) -> Option<f64> {
        let unreduced = self.unreduced_bytes.filter(|bytes| *bytes > 0)?;
        Some(100.0 * (1.0 - self.used_bytes? as f64 / unreduced as f64))
    }

    pub fn add(&mut self, other: &Self) {
        let sum = |one: Option<u64>, two: Option<u64>| one?.checked_add(two?);
        self.data_bytes = self.data_bytes.saturating_add(other.data_bytes);
        self.used_bytes = sum(self.used_bytes, other.used_bytes);
        self.unreduced_bytes = sum(self.unreduced_bytes, other.unreduced_bytes);
    }
}

/// An event of a node that the study did not ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeEvent {
    /// Seconds on the trial's clock, like `t_s` of its series.
    pub at_s: f64,
    /// Number of the node, counted from 1.
    pub node: u32,
    pub what: NodeEventKind,
    /// How the node died, or which node was the primary before.
    pub reason: String,
}

words! {
    NodeEventKind {
        /// Died unexpectedly.
        Died = "died",
        /// Became the primary that virtual users follow.
        BecamePrimary = "became the primary",
    }
}

/// For people: `at 12.0 s: server 1 died`.
impl fmt::Display for NodeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at_s, node, what) = (self.at_s, self.node, self.what);
        write!(f, "at {at_s:.1} s: server {node} {what}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn savings_are_relative_to_unreduced_bytes() {
        let mut mirrored = Space {
            data_bytes: 100,
            used_bytes: Some(120),
            unreduced_bytes: Some(200),
        };
        assert_eq!(mirrored.savings_pct(), Some(40.0));
        mirrored.add(&Space {
            used_bytes: Some(180),
            ..mirrored
        });
        assert_eq!(
            (mirrored.data_bytes, mirrored.savings_pct()),
            (200, Some(25.0))
        );
        mirrored.add(&Space::default());
        assert_eq!(mirrored.savings_pct(), None);
    }
}
