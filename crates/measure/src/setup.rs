//! What was driven, with what, and how it ended: what a summary is told besides
//! the seconds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ended::{Ended, Until};
use crate::instance::{InstanceSummary, Reset};
use crate::metric::Metrics;

pub use plan::{Protocol, ReplyTime};

/// [`Setup::arrivals`] of users that start their next transaction when the last one ended.
pub const CLOSED_LOOP: &str = "closed loop";

/// Everything that a trial was driven with; `work.rs` says what of it has to be alike for
/// two trials to be comparable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Name of the workload, for example `oltp_read_write`.
    pub workload: String,
    /// Options of its transactions and tables that are not the default, for example
    /// `point_selects=1, skip_trx=true`; empty where all are, and in results of before
    /// they were kept.
    #[serde(default)]
    pub options: String,
    /// The engine and its version.
    pub engine: String,
    /// The server's URL, without its password.
    pub server: String,
    /// Protocol version and cipher; `None` without encryption.
    pub tls: Option<String>,
    /// Servers that were driven at once, each with its own load.
    #[serde(default = "one")]
    pub instances: u32,
    /// Virtual users of each server.
    pub threads: u32,
    /// Threads of the generator that drive them, for each server.
    pub workers: u32,
    /// Tables of the data set.
    pub tables: u32,
    /// Rows in each table.
    pub rows: u64,
    /// Keys are drawn from 1 to this.
    pub key_range: u64,
    /// How they are drawn, for example `uniform`.
    pub distribution: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// How statements are sent.
    pub protocol: Protocol,
    /// What told when replies were there; in results of before there was a choice the
    /// program's clock.
    #[serde(default = "program")]
    pub reply_time: ReplyTime,
    /// When transactions start: [`CLOSED_LOOP`], or for example `200/s poisson`.
    pub arrivals: String,
    /// Pause of a virtual user after each transaction, in seconds.
    #[serde(default)]
    pub think_s: f64,
    /// Whether every table and index was read once before the warm-up.
    #[serde(default)]
    pub preload: bool,
    /// Driven before the measurement, in seconds.
    pub warmup_s: f64,
    /// Limit of the measurement, in seconds.
    pub time_s: Option<f64>,
    /// Limit of the measurement, in transactions.
    pub events: Option<u64>,
    /// When it may end before its limit.
    #[serde(default)]
    pub until: Option<Until>,
    /// CPUs that each server could use, where dyno limited them.
    #[serde(default)]
    pub cpus: Option<f64>,
    /// Below which directory they had their data, where dyno started them.
    #[serde(default)]
    pub directory: Option<String>,
    /// The engine runs inside the workers, whose CPU time is then its own.
    #[serde(default)]
    pub in_process: bool,
}

/// Results from before there could be several have one.
fn one() -> u32 {
    1
}

/// Results from before there was a choice.
fn program() -> ReplyTime {
    ReplyTime::Program
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
    /// The trial's place in the study's plan, from 1.
    pub number: u32,
    /// Short name of the trial, for example `threads=16`.
    pub label: String,
    /// The variant and the keys that the study sweeps, with this trial's values.
    pub point: Vec<(String, String)>,
    /// How often this point had been in the study then, this time included, from 1.
    pub repeat: u32,
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
