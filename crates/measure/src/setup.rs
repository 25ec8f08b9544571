//! What was driven, with what, and how it ended: what a summary is told besides
//! the seconds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use plan::ReplyTime;

use crate::ended::Ended;
use crate::instance::{InstanceSummary, Reset};
use crate::metric::Metrics;

/// What a trial was driven with: the plan of it, and what it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The trial as the study planned it.
    pub planned: plan::Trial,
    /// When a reply counted as received: not as planned where the kernel stamped none.
    pub reply_time: ReplyTime,
    /// The engine and its version; empty before a server was reached.
    pub engine: String,
    /// The server's URL, without its password.
    pub server: String,
    /// Protocol version and cipher; `None` without encryption.
    pub tls: Option<String>,
    /// Threads of the generator that drive the virtual users, for each server.
    pub workers: u32,
    /// Tables that the workload used.
    pub tables: u32,
    /// The directory below which servers that dyno started had their data.
    pub directory: Option<String>,
    /// The engine runs inside the workers, whose CPU time is then its own.
    pub in_process: bool,
}

impl Setup {
    /// What a planned trial says of it, before a server is reached.
    #[must_use]
    pub fn new(planned: &plan::Trial) -> Self {
        Self {
            planned: planned.clone(),
            reply_time: planned.load.reply_time,
            engine: String::new(),
            server: String::new(),
            tls: None,
            workers: 0,
            tables: planned.data.tables,
            directory: None,
            in_process: false,
        }
    }
}

/// Whether a statement reads, writes or does neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Reads rows.
    Read,
    /// Changes rows.
    Write,
    /// BEGIN, COMMIT.
    Other,
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Other => "other",
        })
    }
}

/// One kind of statement of a load; its place in the list is its place in
/// [`crate::slice::Slice::statements`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementKind {
    /// Its name, for example `point_select`.
    pub name: String,
    /// What it does.
    pub class: Class,
}

/// Transactions that had no end when the load stopped.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Unfinished {
    /// How many were running at the end of the measurement.
    pub count: u64,
    /// How long the oldest of them had been running, in milliseconds.
    pub oldest_ms: Option<f64>,
    /// How many of them did not complete in time and were cancelled.
    pub cancelled: u64,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Outcome {
    /// At its limit of time or transactions.
    #[default]
    Completed,
    /// By the user; what was measured until then counts.
    Interrupted,
    /// At its limit, or for lack of any reply, while its server was away; what was measured
    /// until then is kept.
    ServerLost {
        /// When the last transaction ended, on the trial's clock, in milliseconds.
        at_ms: u64,
        /// Why virtual users could not go on.
        error: String,
    },
    /// By an error that the load may not ignore.
    Stopped {
        /// The error, in the server's words.
        error: String,
    },
    /// By the laboratory, such as by the death of a server.
    Failed {
        /// What happened.
        reason: String,
    },
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::ServerLost { at_ms, error } => {
                write!(f, "{}: {error}", server_lost(Duration::from_millis(*at_ms)))
            }
            Self::Stopped { error } => write!(f, "stopped by an error: {error}"),
            Self::Failed { reason } => write!(f, "failed: {reason}"),
        }
    }
}

/// That a server was lost, and when on the trial's clock.
#[must_use]
pub fn server_lost(at: Duration) -> String {
    format!("server lost at {:.1} s", at.as_secs_f64())
}

/// What a summary is told besides the seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Wall-clock time at the zero of the trial's clock.
    pub started_at: Option<String>,
    /// What was driven, with what.
    pub setup: Setup,
    /// What was still running at the end.
    pub unfinished: Unfinished,
    /// Each server's part.
    pub instances: Vec<InstanceSummary>,
    /// What the monitors saw over the measure phase.
    pub metrics: Metrics,
    /// How the servers got their data.
    pub reset: Option<Reset>,
    /// Why it ended before its time, where it was meant to.
    pub ended: Option<Ended>,
    /// How it ended.
    pub outcome: Outcome,
}
