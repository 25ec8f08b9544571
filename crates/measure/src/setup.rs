//! The setup of a trial and how it ended.

use std::fmt;
use std::time::Duration;

use plan::{ReplyTime, StatementClass};
use serde::{Deserialize, Serialize};

use crate::clock::HostClock;

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
    /// The clocks of the other hosts that the servers ran on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<HostClock>,
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
            clocks: Vec::new(),
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

/// Why dyno ended a measurement early.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Ended {
    Sure {
        after_s: f64,
        at_most_s: f64,
        /// Half of the 95 % interval at the end, as a share of the mean (0 to 1).
        reached: f64,
    },
    /// The server clearly could not keep up with the arrivals.
    Overloaded {
        after_s: f64,
        at_most_s: f64,
        /// Arrivals that were due but not started.
        backlog: u64,
    },
}

impl Ended {
    pub fn saved_s(&self) -> f64 {
        let (Self::Sure {
            after_s, at_most_s, ..
        }
        | Self::Overloaded {
            after_s, at_most_s, ..
        }) = self;
        (at_most_s - after_s).max(0.0)
    }
}

/// For example `target precision reached after 23 s of at most 1800 s: …`.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sure {
                after_s,
                at_most_s,
                reached,
            } => write!(
                f,
                "target precision reached after {after_s:.0} s of at most {at_most_s:.0} s: throughput is known to ±{:.1} %",
                reached * 100.0
            ),
            Self::Overloaded {
                after_s,
                at_most_s,
                backlog,
            } => write!(
                f,
                "overloaded after {after_s:.0} s of at most {at_most_s:.0} s: backlog of {backlog} arrivals"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_end_says_when_and_why() {
        let sure = Ended::Sure {
            after_s: 23.02,
            at_most_s: 1800.0,
            reached: 0.0187,
        };
        let said =
            "target precision reached after 23 s of at most 1800 s: throughput is known to ±1.9 %";
        assert_eq!(sure.to_string(), said);
        assert!((sure.saved_s() - 1776.98).abs() < 1e-9);
        let json = serde_json::to_string(&sure).unwrap();
        assert_eq!(serde_json::from_str::<Ended>(&json).unwrap(), sure);
    }
}
