//! The bottleneck of a trial, with its evidence.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What limited a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    Generator,
    Cpu,
    /// Programs that were not part of the trial used most of the CPUs.
    OtherPrograms,
    CpuQuota,
    IoReads,
    IoLog,
    IoWrites,
    Locks,
    /// Sessions waited for the server's locks on its own memory.
    Latches,
    Nothing,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generator => "Generator-bound",
            Self::Cpu => "CPU-bound",
            Self::OtherPrograms => "Bound by other programs",
            Self::CpuQuota => "CPU-bound by the quota",
            Self::IoReads => "IO-bound by reads",
            Self::IoLog => "IO-bound by the log",
            Self::IoWrites => "IO-bound by writes",
            Self::Locks => "Lock-bound",
            Self::Latches => "Latch-bound",
            Self::Nothing => "No bottleneck identified",
        })
    }
}

/// A verdict with its evidence. Shown as `CPU-bound: CPUs 98 % busy; …`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub bound: Bottleneck,
    /// For example `CPUs 98 % busy; of that time, servers 61 %`.
    pub evidence: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.bound, self.evidence)
    }
}
