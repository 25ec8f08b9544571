//! What held a trial back, in one line with its evidence.

use serde::{Deserialize, Serialize};

/// What a trial was bound by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The load generator could not do more.
    Generator,
    /// The host's CPUs were busy.
    Cpu,
    /// Pages had to be read from the disk.
    IoReads,
    /// Commits waited for the log.
    IoLog,
    /// Transactions waited for each other's rows.
    Locks,
    /// None of these.
    Nothing,
}

/// A verdict with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What the trial was bound by.
    pub bound: Bound,
    /// The numbers that say so, for example `CPUs 98 % busy, 61 % of it the servers'`.
    pub evidence: String,
}
