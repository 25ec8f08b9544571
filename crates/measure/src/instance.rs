//! The servers of a trial: their results, settings, processes and data.

use serde::{Deserialize, Serialize};

use crate::setup::Outcome;
use crate::summary::{LatencySummary, Rate};

/// The results of one of several servers under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceSummary {
    /// From 1.
    pub number: u32,
    /// Its address, without password.
    pub server: String,
    /// Transactions that ended.
    pub transactions: Rate,
    /// From the intended start to the end; `None` when none ended.
    pub response_ms: Option<LatencySummary>,
    /// Errors of all codes.
    pub errors: u64,
    /// Those of them after which the transaction was restarted.
    pub restarts: u64,
    /// How its load ended.
    pub outcome: Outcome,
    /// Every setting of the server that is not its default, in order of name.
    pub settings: Vec<(String, String)>,
    /// Its process; `None` for an engine inside dyno, and in a trial without monitors.
    pub process: Option<ServerProcess>,
    /// How long its cluster took to form, in seconds: from the start of the first program until all
    /// members replicated and it could be driven. `None` if dyno formed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formation_s: Option<f64>,
}

/// The process of a server, whose CPU time and memory are sampled if it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ServerProcess {
    /// It runs on this host.
    Found {
        /// Its number.
        pid: u32,
    },
    /// It runs elsewhere, or this user cannot see it.
    NotFound {
        /// Why.
        reason: String,
    },
}

/// How the servers of a trial got their data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reset {
    /// What was done.
    pub how: ResetHow,
    /// How long it took for all servers, in seconds.
    pub took_s: f64,
    /// How long it took to write the data to disk and drop it from the page cache before the
    /// servers started, in seconds; `None` where that was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_s: Option<f64>,
    /// How long it took to set up the sites of all servers and to start the servers, in seconds;
    /// `None` if they had been started before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_s: Option<f64>,
    /// How long building the data took when it was built, in seconds.
    pub build_s: f64,
    /// Size of one server's data, in bytes.
    pub bytes: u64,
    /// Checksum over the rows of all tables, in hexadecimal.
    pub checksum: Option<String>,
}

/// How a server's data is brought into the state that a trial requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetHow {
    /// Copied from an existing template.
    Copied,
    /// The template was built first, then copied.
    BuiltAndCopied,
    /// Built for this trial.
    Rebuilt,
    /// Left as the trial before left it.
    Kept,
    /// The server was running already; missing rows were loaded.
    Found,
}
