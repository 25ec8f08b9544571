//! All that a study found: its trials and where they ran.

use serde::{Deserialize, Serialize};

use crate::find_max::FoundMax;
use crate::finding::Finding;
use crate::summary::TrialSummary;
use crate::threshold::ThresholdResult;

/// A whole result, as `result.json` holds it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// What host and servers were found to be like before the first load; what passed
    /// is left out.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What it found, in the order of the trials.
    pub trials: Vec<TrialSummary>,
    /// What searches for the highest rate found; empty without any.
    #[serde(default)]
    pub searches: Vec<FoundMax>,
    /// Whether each threshold was met at each point; empty without thresholds.
    #[serde(default)]
    pub thresholds: Vec<ThresholdResult>,
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
    /// The paper whose sign convention comparisons show besides: lost throughput is above 0.
    #[serde(default)]
    pub delta_as_in: Option<String>,
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
#[serde(default)]
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
    /// CPUs that are on, each thread of a core counted.
    pub cpu_threads: Option<u64>,
    /// Cores, however many threads each has.
    pub cpu_cores: Option<u64>,
    /// Chips.
    pub cpu_sockets: Option<u64>,
    /// Parts of the memory that are nearer to some CPUs than to others.
    pub numa_nodes: Option<u64>,
    /// Whether the CPU may run above its nominal clock.
    pub turbo: Option<bool>,
    /// The hypervisor or container it runs in, for example `KVM`.
    pub virtualisation: Option<String>,
    /// When the kernel uses huge pages without being asked, for example `madvise`.
    pub transparent_hugepages: Option<String>,
    /// Swap space, in bytes.
    pub swap_bytes: Option<u64>,
    /// How readily the kernel swaps (0 to 200).
    pub swappiness: Option<u64>,
    /// What the kernel reads the time from, for example `tsc`.
    pub clock_source: Option<String>,
    /// What control groups limit this process to, by the kernel's name of the limit.
    pub limits: Vec<(String, String)>,
    /// Where data and results lie.
    pub places: Vec<Place>,
}

/// A directory, and what is under it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// The directory.
    pub path: String,
    /// Where its file system is mounted.
    pub mount_point: Option<String>,
    /// For example `ext4`.
    pub file_system: Option<String>,
    /// What is mounted there, for example `/dev/vda1`.
    pub source: Option<String>,
    /// How it is mounted, for example `rw,noatime`.
    pub options: Option<String>,
    /// The disks under it; none for a file system without one.
    pub disks: Vec<Disk>,
}

/// A disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// The kernel's name, for example `nvme0n1`.
    pub name: String,
    /// As the disk names itself.
    pub model: Option<String>,
    /// In bytes.
    pub bytes: Option<u64>,
    /// How the kernel orders requests, for example `mq-deadline`.
    pub scheduler: Option<String>,
    /// Whether the kernel takes it for one that turns.
    pub rotational: Option<bool>,
    /// Whether the disk has a cache that must be flushed: `write back`, or `write through`.
    pub cache: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_version_wrote_is_read() {
        let old = r#"{"dyno_version":"0.1.0","started":"2024-01-17T09:30:00Z","command":"dyno",
            "hostname":null,"os":null,"kernel":"Linux 6.1.0 x86_64","cpu_model":null,"cores":2,
            "memory_bytes":null,"governor":null}"#;
        let read: Environment = serde_json::from_str(old).unwrap();
        assert_eq!((read.cores, read.places), (Some(2), Vec::new()));
    }
}
