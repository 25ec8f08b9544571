//! The whole result of a study: its trials, and where they ran.

use serde::{Deserialize, Serialize};

use crate::find_max::FoundMax;
use crate::finding::Finding;
use crate::summary::TrialSummary;
use crate::threshold::ThresholdResult;

/// The content of `result.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunResult {
    /// [`crate::summary::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    pub title: String,
    pub question: Option<String>,
    /// How the study answers its question.
    pub description: Option<String>,
    pub design: Design,
    pub environment: Environment,
    /// The checks of host and servers before the first load that did not pass.
    pub findings: Vec<Finding>,
    /// In the order of the trials.
    pub trials: Vec<TrialSummary>,
    pub searches: Vec<FoundMax>,
    /// Whether each threshold was met at each point; empty without thresholds.
    pub thresholds: Vec<ThresholdResult>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Design {
    /// How many were planned.
    pub trials: u32,
    /// The numbers of those that were not needed, because earlier ones had decided the comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<u32>,
    pub repeats: u32,
    /// The keys in which trials differ, slowest first; `variant` is one of them.
    pub axes: Vec<String>,
    /// The order of the trials in words, with its seed.
    pub order: String,
    pub tables: Vec<Table>,
    /// Title of the paper whose sign convention comparisons also show: lost throughput is positive.
    pub delta_as_in: Option<String>,
}

/// A table of a report: a row for each value of a key, a column for each number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Table {
    pub rows: String,
    /// The numbers, for example `tps`, `response_ms.p99`, `cpu.user`.
    pub columns: Vec<String>,
}

/// The host and the program that ran a study. Facts that the host does not report are absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    pub dyno_version: String,
    /// When the study started (RFC 3339, UTC).
    pub started: String,
    /// The command line, without secrets.
    pub command: String,
    pub hostname: Option<String>,
    pub os: Option<String>,
    /// Name and release.
    pub kernel: Option<String>,
    pub cpu_model: Option<String>,
    /// CPUs that this process may use.
    pub cores: Option<u64>,
    pub memory_bytes: Option<u64>,
    pub governor: Option<String>,
    /// Online CPUs: hardware threads.
    pub cpu_threads: Option<u64>,
    pub cpu_cores: Option<u64>,
    pub cpu_sockets: Option<u64>,
    pub numa_nodes: Option<u64>,
    /// Whether the CPU may exceed its nominal frequency.
    pub turbo: Option<bool>,
    /// The surrounding hypervisor or container, for example `KVM`.
    pub virtualisation: Option<String>,
    /// The mode of transparent huge pages, for example `madvise`.
    pub transparent_hugepages: Option<String>,
    pub swap_bytes: Option<u64>,
    /// `vm.swappiness` (0 to 200).
    pub swappiness: Option<u64>,
    /// The kernel's clock source, for example `tsc`.
    pub clock_source: Option<String>,
    /// The control group limits of this process, by the kernel's names.
    pub limits: Vec<(String, String)>,
    /// The directories of data and results.
    pub places: Vec<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    pub path: String,
    pub mount_point: Option<String>,
    /// Type of the file system, for example `ext4`.
    pub file_system: Option<String>,
    /// Source of the mount, for example `/dev/vda1`.
    pub source: Option<String>,
    /// Mount options, for example `rw,noatime`.
    pub options: Option<String>,
    /// The disks below the file system; empty for one without a disk.
    pub disks: Vec<Disk>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// The kernel's name, for example `nvme0n1`.
    pub name: String,
    pub model: Option<String>,
    pub bytes: Option<u64>,
    /// The I/O scheduler, for example `mq-deadline`.
    pub scheduler: Option<String>,
    /// Whether the kernel considers it rotational.
    pub rotational: Option<bool>,
    /// The mode of the write cache: `write back` (must be flushed) or `write through`.
    pub cache: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_may_be_absent() {
        let stored = r#"{"dyno_version":"0.1.0","started":"2024-01-17T09:30:00Z","command":"dyno",
            "hostname":null,"os":null,"kernel":"Linux 6.1.0 x86_64","cpu_model":null,"cores":2,
            "memory_bytes":null,"governor":null}"#;
        let read: Environment = serde_json::from_str(stored).unwrap();
        assert_eq!((read.cores, read.places), (Some(2), Vec::new()));
    }
}
