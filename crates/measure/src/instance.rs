//! The servers of a trial: their results, settings, processes and data.

use serde::{Deserialize, Serialize};

use crate::setup::Outcome;
use crate::summary::{LatencySummary, Rate};

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
