//! The setup of a trial and how it ended.

use std::time::Duration;

use plan::{ReplyTime, StatementClass};
use serde::{Deserialize, Serialize};

/// The setup of a trial: its plan, and what dyno found when it ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    pub planned: plan::Trial,
    /// When a reply counted as received; differs from the plan if the kernel did not stamp replies.
    pub reply_time: ReplyTime,
    /// The engine and its version; empty before a server was reached.
    pub engine: String,
    /// The server's URL, without its password.
    pub server: String,
    /// Protocol version and cipher; `None` without encryption.
    pub tls: Option<String>,
    /// Threads of the generator that drive the virtual users, for each server.
    pub workers: u32,
    pub tables: u32,
    /// The directory that held the data of servers that dyno started.
    pub directory: Option<String>,
    /// What dyno found out about the servers' site, such as the program that ran their containers;
    /// `None` if that adds nothing to the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    #[serde(default)]
    pub emulated: bool,
    /// Whether the engine ran in the workers' threads, so that their CPU time includes its own.
    pub in_process: bool,
}

impl Setup {
    /// The setup of a planned trial before a server is reached.
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
            platform: None,
            emulated: false,
            in_process: false,
        }
    }
}

/// A kind of statement. Its index in the list of kinds is its index in
/// [`crate::slice::Slice::statements`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementKind {
    /// For example `point_select`.
    pub name: String,
    pub class: StatementClass,
}

/// Transactions that were still running when the load stopped.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Unfinished {
    pub count: u64,
    pub oldest_ms: Option<f64>,
    /// Number of them that did not complete in time and were canceled.
    pub cancelled: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Outcome {
    /// At its limit of time or transactions.
    #[default]
    Completed,
    /// By the user; the measurement until then is valid.
    Interrupted,
    /// The server was unreachable when the load reached its limit, or until no reply came. The
    /// measurement until then is stored.
    ServerLost {
        /// When the last transaction completed, in milliseconds on the trial's clock.
        at_ms: u64,
        error: String,
    },
    /// By an error that the study does not ignore.
    Stopped { error: String },
    /// By the laboratory, for example because a server died.
    Failed { reason: String },
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

/// For example `server lost at 12.0 s`, on the trial's clock.
pub fn server_lost(at: Duration) -> String {
    format!("server lost at {:.1} s", at.as_secs_f64())
}
