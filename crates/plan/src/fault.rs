//! What a study breaks during a measurement.

use std::fmt::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bytes::shown_bytes;
use crate::choice::choice;
use crate::duration::{format_duration, optional_text, parse_duration, text};
use crate::percent::format_percent;
use crate::volume::DiskLimits;

/// A fault, and when it is healed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// When, from the start of the measurement.
    #[serde(with = "text")]
    pub at: Duration,
    /// Its kind.
    pub kind: FaultKind,
    /// Its target in each cluster.
    pub target: FaultTarget,
    /// Time from `at` until it is healed; `None`: never, or there is nothing to heal.
    #[serde(default, with = "optional_text")]
    pub heal: Option<Duration>,
    /// Which processes of a node that has a cluster manager are killed, stopped, or paused.
    #[serde(default)]
    pub process: FaultProcess,
    /// For a slow link: bytes per second; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
    /// For a slow link: delay of each packet; `None`: no delay.
    #[serde(
        default,
        with = "optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub delay: Option<Duration>,
    /// For a slow link: which packets are dropped; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// For a partition: members that stay on the target's side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<FaultTarget>,
    /// For a partition: the member that both sides still reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<FaultTarget>,
    /// For faults of a volume: the volume.
    #[serde(default)]
    pub volume: FaultVolume,
    /// For faults of one device: its number in the volume, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// For a slow device: its limits.
    #[serde(default, skip_serializing_if = "DiskLimits::is_none")]
    pub limits: DiskLimits,
    /// For [`FaultKind::Command`]: the program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// For [`FaultKind::Command`]: the command that heals it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heal_command: Vec<String>,
    /// Whether the study expects that no member accepts writes until it is healed.
    #[serde(default)]
    pub expect_outage: bool,
}

impl Fault {
    /// When it is healed, from the start of the measurement; `None`: never.
    pub fn healed_at(&self) -> Option<Duration> {
        Some(self.at.saturating_add(self.heal?))
    }

    /// The target, and the members that stay on its side of a partition.
    pub fn targets(&self) -> impl Iterator<Item = FaultTarget> {
        [self.target].into_iter().chain(self.with.iter().copied())
    }

    /// Describes the targets and the bridge: `primary with server 2, bridge server 3`.
    pub fn target_words(&self) -> String {
        let mut words = self.target.to_string();
        for (i, with) in self.with.iter().enumerate() {
            let _ = write!(words, " {} {with}", if i == 0 { "with" } else { "and" });
        }
        if let Some(bridge) = self.bridge {
            let _ = write!(words, ", bridge {bridge}");
        }
        words
    }
}

/// Packet loss of a link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The share of packets that are dropped, above 0 and below 1.
    pub share: f64,
    /// Seed of the generator that chooses them.
    pub seed: u64,
}

/// Shows `at 30s: kill primary, healed after 10s`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", format_duration(self.at), self.kind)?;
        if !self.command.is_empty() {
            write!(f, " `{}` on", self.command.join(" "))?;
        }
        write!(f, " {}", self.target_words())?;
        if self.process != FaultProcess::Server {
            write!(f, ", process {}", self.process)?;
        }
        if self.volume != FaultVolume::Data {
            write!(f, ", volume {}", self.volume)?;
        }
        if let Some(device) = self.device {
            write!(f, ", device {device}")?;
        }
        if !self.limits.is_none() {
            write!(f, ", {}", self.limits)?;
        }
        if let Some(rate) = self.bytes_per_s {
            write!(f, ", {}/s", shown_bytes(rate))?;
        }
        if let Some(delay) = self.delay {
            write!(f, ", delay {}", format_duration(delay))?;
        }
        if let Some(loss) = self.loss {
            write!(
                f,
                ", loss {} (seed {})",
                format_percent(loss.share),
                loss.seed
            )?;
        }
        match self.heal {
            Some(heal) => write!(f, ", healed after {}", format_duration(heal)),
            None if self.kind.lasts() => f.write_str(", never healed"),
            None => Ok(()),
        }
    }
}

choice! {
    /// What a fault does.
    #[derive(PartialOrd, Ord, Hash)]
    FaultKind {
        /// Kills a node, as `kill -9` does; healing starts it again.
        Kill = "kill",
        /// Shuts a node down; healing starts it again.
        Stop = "stop",
        /// Suspends a node's processes (SIGSTOP); healing resumes them.
        Pause = "pause",
        /// Shuts a node down unless it is dead, and starts it again at once.
        Restart = "restart",
        /// Separates a node, and the members on its side, from the others in both directions.
        Partition = "partition",
        /// Drops what a node sends to the other members of its cluster.
        Drop = "drop",
        /// Drops what a node sends to clients; the other members still reach it.
        CutClients = "cut_clients",
        /// Limits or delays what a node sends, or drops some of it.
        SlowLink = "slow_link",
        /// Fills the file system that a node's data is on.
        FillDisk = "fill_disk",
        /// Fails a device of the volume: it refuses every request; healing brings it back with its old
        /// content.
        FailDevice = "fail_device",
        /// Limits the throughput of a device of the volume.
        SlowDevice = "slow_device",
        /// Rebuilds a device of the volume on a new one.
        ReplaceDevice = "replace_device",
        /// Reads the whole volume and repairs blocks whose checksums do not match.
        Scrub = "scrub",
        /// Kills a node and cuts its links at once, so that peers see no closed connections; healing starts
        /// it again.
        FailHost = "fail_host",
        /// Powers a node's guest off: unsynced writes are lost; healing boots it and starts the node
        /// again.
        CutPower = "cut_power",
        /// Makes another member the primary, as an administrator does before maintenance.
        Switchover = "switchover",
        /// Runs a command that the study gives.
        Command = "command",
    }
}

impl FaultKind {
    /// Whether it lasts until it is healed; other faults are over once they take effect.
    pub fn lasts(self) -> bool {
        let is_over = matches!(self, Self::Restart | Self::Switchover | Self::Command);
        !is_over && !self.is_job()
    }

    /// Whether it is a job on a volume, which ends by itself and is healed then.
    pub fn is_job(self) -> bool {
        matches!(self, Self::ReplaceDevice | Self::Scrub)
    }

    /// Whether its target is one device of a volume.
    pub fn is_of_device(self) -> bool {
        matches!(
            self,
            Self::FailDevice | Self::SlowDevice | Self::ReplaceDevice
        )
    }

    /// Whether its target is a volume.
    pub fn is_of_volume(self) -> bool {
        self.is_of_device() || matches!(self, Self::FillDisk | Self::Scrub)
    }

    /// Whether its node falls silent, so that the others notice only by timeouts.
    pub fn silences(self) -> bool {
        matches!(
            self,
            Self::Kill
                | Self::Pause
                | Self::Partition
                | Self::Drop
                | Self::FailHost
                | Self::CutPower
        )
    }

    /// Whether it acts on processes. A node with a cluster manager has several.
    pub fn is_of_processes(self) -> bool {
        matches!(self, Self::Kill | Self::Stop | Self::Pause)
    }

    /// Whether its target can be a service that the members share.
    pub fn is_of_coordinator(self) -> bool {
        matches!(self, Self::Kill | Self::Partition | Self::Drop)
    }

    /// Whether it breaks links, so that each member needs an address of its own.
    pub fn breaks_links(self) -> bool {
        self.is_of_network() || matches!(self, Self::FailHost | Self::CutClients)
    }

    /// Whether it affects packets between members of a cluster.
    pub fn is_of_network(self) -> bool {
        matches!(self, Self::Partition | Self::Drop | Self::SlowLink)
    }
}

/// The target of a fault. For a switchover, the member that takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultTarget {
    /// The member that is the primary at that time.
    Primary,
    /// The first member that is a replica at that time.
    Replica,
    /// A member that is drawn at random with this seed.
    Any(u64),
    /// The server of this number, from 1.
    Server(u32),
    /// The service through which the members choose their primary.
    Coordinator,
    /// All members in turn, the primary last.
    All,
}

/// Shows `primary`, `replica`, `any (seed 7)`, `server 2`, `coordinator`.
impl fmt::Display for FaultTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primary => f.write_str("primary"),
            Self::Replica => f.write_str("replica"),
            Self::Any(seed) => write!(f, "any (seed {seed})"),
            Self::Server(number) => write!(f, "server {number}"),
            Self::Coordinator => f.write_str("coordinator"),
            Self::All => f.write_str("all members"),
        }
    }
}

choice! {
    /// The processes of a node that are killed, stopped, or paused: a choice only where a cluster
    /// manager runs beside the server.
    #[derive(Default)]
    FaultProcess {
        #[default]
        Server = "server",
        /// Its cluster manager.
        Manager = "manager",
        Both = "both",
    }
}

choice! {
    /// The volume of a node that a fault affects.
    #[derive(Default)]
    FaultVolume {
        #[default]
        Data = "data",
        /// The volume of its transaction log.
        Log = "log",
    }
}

impl Chaos {
    /// Stands for every kind that a trial can have.
    pub const ANY: &str = "any";
    /// Every fault is healed at least this long before the end of the measurement.
    pub const HEALED_BEFORE_END: Duration = Duration::from_secs(10);
}

/// Parses a frequency such as `1 per 30s` or `2 per 1m30s`; returns events per second, above 0.
pub fn parse_frequency(text: &str) -> Option<f64> {
    let (count, period) = text.split_once(" per ")?;
    let count: u32 = count.trim().parse().ok()?;
    let period_s = parse_duration(period).ok()?.as_secs_f64();
    let per_s = f64::from(count) / period_s;
    (per_s > 0.0 && per_s.is_finite()).then_some(per_s)
}

choice! {
    /// Which members of a cluster virtual users connect to.
    #[derive(Default)]
    Follow {
        /// The member that accepts writes, wherever it moves.
        #[default]
        Primary = "primary",
        /// All of them in turn.
        Any = "any",
        /// The first member, whatever happens to it.
        Fixed = "fixed",
    }
}

choice! {
    /// The network between members of a cluster.
    #[derive(Default)]
    Network {
        /// All on this host's loopback interface.
        #[default]
        Loopback = "loopback",
        /// Each in a network namespace with an address of its own.
        Namespaces = "namespaces",
    }
}

/// A workload that proves which acknowledged commits were kept. It runs beside the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Transfers per second of each instance.
    pub rate: f64,
    /// Reads of replicas per second, which measure how stale they are; 0: none.
    pub replica_reads: f64,
}

impl Ledger {
    /// Number of users that make an instance's transfers: one for every 25 transfers per second, at
    /// most 64.
    pub fn users(&self) -> u32 {
        (self.rate / 25.0).ceil().clamp(1.0, 64.0) as u32
    }
}

/// A random schedule of faults. The plan contains the faults that were drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chaos {
    /// The kinds of faults to draw from.
    pub kinds: Vec<FaultKind>,
    /// Mean number of faults per second, above 0.
    pub per_s: f64,
    /// Seed of the schedule.
    pub seed: u64,
}
