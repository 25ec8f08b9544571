//! All that a study found: its trials and where they ran.

use serde::{Deserialize, Serialize};

use crate::summary::TrialSummary;

/// A whole result, as `result.json` holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`crate::summary::SCHEMA_VERSION`] when it was written.
    pub schema_version: u32,
    /// The study's title.
    pub title: String,
    /// What it asks.
    pub question: Option<String>,
    /// How it goes about it.
    pub description: Option<String>,
    /// What was planned.
    #[serde(default)]
    pub design: Design,
    /// Where it ran.
    pub environment: Environment,
    /// What it found, in the order of the trials.
    pub trials: Vec<TrialSummary>,
}

/// What a study planned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Design {
    /// How many trials.
    pub trials: u32,
    /// How many times each point.
    pub repeats: u32,
    /// The keys in which trials differ, slowest first; `variant` is one of them.
    pub axes: Vec<String>,
    /// In which order the trials ran, in a sentence with its seed.
    pub order: String,
    /// The tables that the report is to show, in the paper's shape.
    pub tables: Vec<Table>,
}

/// A table of a report: a row for each value of a key, a column for each number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Table {
    /// The key, for example `topology.instances`.
    pub rows: String,
    /// The numbers, for example `tps`, `response_ms.p99`, `cpu.user`.
    pub columns: Vec<String>,
}

/// Where and with what a study ran; what the host does not tell is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Version of dyno.
    pub dyno_version: String,
    /// When it started (RFC 3339, UTC).
    pub started: String,
    /// The command line, without secrets.
    pub command: String,
    /// The host's name.
    pub hostname: Option<String>,
    /// The operating system as it names itself.
    pub os: Option<String>,
    /// Name and release of the kernel.
    pub kernel: Option<String>,
    /// Model of the CPU.
    pub cpu_model: Option<String>,
    /// CPUs that this process may use.
    pub cores: Option<u64>,
    /// Main memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// How the kernel chooses the CPU's clock, for example `performance`.
    pub governor: Option<String>,
}
