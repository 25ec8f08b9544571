//! What a study breaks during a measurement.

use std::fmt::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::duration::{format_duration, optional_text, text};
use crate::fault_kind::{FaultAction, FaultKind};
use crate::number::{format_percent, shown_bytes};
use crate::quorum::{Isolation, LostSide};
use crate::volume::DiskLimits;

/// A fault, and when it is healed. It is stored with the words that a study has for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// When, from the start of the measurement.
    #[serde(with = "text")]
    pub at: Duration,
    #[serde(flatten)]
    pub action: FaultAction,
    /// Its target in each cluster.
    pub target: FaultTarget,
    /// Time from `at` until it is healed; `None`: never, or there is nothing to heal.
    #[serde(default, with = "optional_text")]
    pub heal: Option<Duration>,
    /// Whether the study expects that no member accepts writes until it is healed.
    #[serde(default)]
    pub expect_outage: bool,
}

/// Whether a result need not store an option of a fault.
pub(crate) fn is_default<T: Default + PartialEq>(option: &T) -> bool {
    *option == T::default()
}

/// What a study may say of a fault besides its kind, target, and time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FaultOptions {
    /// Which processes of a node that has a cluster manager are hit.
    pub process: FaultProcess,
    /// Members that stay on the target's side of a partition.
    pub with: Vec<FaultTarget>,
    /// The member that both sides of a partition still reach.
    pub bridge: Option<FaultTarget>,
    pub link: SlowLink,
    pub volume: FaultVolume,
    /// A device of the volume, from 1.
    pub device: Option<u32>,
    pub limits: DiskLimits,
    pub command: Vec<String>,
    pub heal_command: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowLink {
    /// `None`: no limit.
    #[serde(rename = "rate", default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
    /// Of each packet; `None`: no delay.
    #[serde(
        default,
        with = "optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub delay: Option<Duration>,
    /// Which packets are dropped; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The share of packets that are dropped, above 0 and below 1.
    pub share: f64,
    pub seed: u64,
}

impl Fault {
    pub fn kind(&self) -> FaultKind {
        self.action.kind()
    }

    /// When it is healed, from the start of the measurement; `None`: never.
    pub fn healed_at(&self) -> Option<Duration> {
        Some(self.at.saturating_add(self.heal?))
    }

    /// The target, and the members that stay on its side of a partition.
    pub fn targets(&self) -> impl Iterator<Item = FaultTarget> + use<> {
        [self.target].into_iter().chain(self.action.options().with)
    }

    /// Sets the seed of what it draws at random.
    pub fn set_seed(&mut self, seed: u64) {
        if let FaultTarget::Any(drawn) = &mut self.target {
            *drawn = seed;
        }
        if let FaultAction::SlowLink { link } = &mut self.action {
            link.loss.iter_mut().for_each(|loss| loss.seed = seed);
        }
    }

    /// The same for one server: a step of a rolling restart.
    pub fn of_server(&self, number: u32) -> Self {
        Self {
            target: FaultTarget::Server(number),
            ..self.clone()
        }
    }

    /// A switchover to a replica: the step of a rolling restart before that of the primary.
    pub fn switchover(&self) -> Self {
        Self {
            action: FaultAction::Switchover,
            target: FaultTarget::Replica,
            ..self.clone()
        }
    }

    /// How the other members see one that it hits: only its server counts.
    pub fn isolates(&self) -> Isolation {
        let spares_server = self.action.options().process == FaultProcess::Manager;
        match spares_server || self.target == FaultTarget::Coordinator {
            true => Isolation::Reachable,
            false => self.kind().rules().isolates,
        }
    }

    /// The members of a cluster of so many that it isolates.
    pub fn isolated(&self, members: u32) -> impl Iterator<Item = Isolation> + use<> {
        let side = u32::try_from(self.targets().count()).unwrap_or(u32::MAX);
        let bridge = u32::from(self.action.options().bridge.is_some());
        let count = match (self.isolates(), LostSide::of(members, side, bridge)) {
            (Isolation::Reachable, _) | (_, LostSide::Neither) => 0,
            (_, LostSide::Target) => side,
            (_, LostSide::Rest) => members.saturating_sub(side + bridge),
        };
        std::iter::repeat_n(self.isolates(), count as usize)
    }

    /// Describes the targets and the bridge: `primary with server 2, bridge server 3`.
    pub fn target_words(&self) -> String {
        let FaultOptions { with, bridge, .. } = self.action.options();
        let mut words = self.target.to_string();
        for (i, with) in with.iter().enumerate() {
            let _ = write!(words, " {} {with}", if i == 0 { "with" } else { "and" });
        }
        if let Some(bridge) = bridge {
            let _ = write!(words, ", bridge {bridge}");
        }
        words
    }
}

/// Shows `at 30s: kill primary, healed after 10s`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.action.options();
        let link = &options.link;
        write!(f, "at {}: {}", format_duration(self.at), self.kind())?;
        if !options.command.is_empty() {
            write!(f, " `{}` on", options.command.join(" "))?;
        }
        write!(f, " {}", self.target_words())?;
        let process = Some(options.process).filter(|process| *process != FaultProcess::Server);
        let volume = Some(options.volume).filter(|volume| *volume != FaultVolume::Data);
        let loss = |Loss { share, seed }| format!("loss {} (seed {seed})", format_percent(share));
        let healed = |heal| format!("healed after {}", format_duration(heal));
        let is_never_healed = self.heal.is_none() && self.kind().lasts();
        let parts = [
            process.map(|process| format!("process {process}")),
            volume.map(|volume| format!("volume {volume}")),
            options.device.map(|device| format!("device {device}")),
            (!options.limits.is_none()).then(|| options.limits.to_string()),
            link.bytes_per_s
                .map(|rate| format!("{}/s", shown_bytes(rate))),
            link.delay
                .map(|delay| format!("delay {}", format_duration(delay))),
            link.loss.map(loss),
            self.heal.map(healed),
            is_never_healed.then(|| "never healed".to_owned()),
        ];
        let mut parts = parts.into_iter().flatten();
        parts.try_for_each(|part| write!(f, ", {part}"))
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

impl FaultTarget {
    /// Those that a study names by a word.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("primary", Self::Primary),
        ("replica", Self::Replica),
        ("any", Self::Any(0)),
        ("coordinator", Self::Coordinator),
        ("all", Self::All),
    ];
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
        Log = "log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result of a version in which all kinds had all parameters is read, too.
    #[test]
    fn every_kind_is_stored_with_its_parameters() {
        for kind in FaultKind::ALL {
            let options = FaultOptions {
                process: FaultProcess::Both,
                with: vec![FaultTarget::Server(2)],
                bridge: Some(FaultTarget::Any(7)),
                link: SlowLink {
                    delay: Some(Duration::from_millis(5)),
                    loss: Some(Loss {
                        share: 0.025,
                        seed: 7,
                    }),
                    ..SlowLink::default()
                },
                volume: FaultVolume::Log,
                device: Some(2),
                limits: DiskLimits {
                    read_iops: Some(100),
                    ..DiskLimits::default()
                },
                command: vec!["true".to_owned()],
                heal_command: vec!["false".to_owned()],
            };
            let fault = Fault {
                at: Duration::from_secs(1),
                action: kind.with(options),
                target: FaultTarget::Primary,
                heal: Some(Duration::from_secs(10)),
                expect_outage: false,
            };
            let mut stored = serde_json::to_value(&fault).unwrap();
            assert_eq!(stored["kind"], kind.name());
            assert_eq!(stored.get("process").is_some(), kind.has("process"));
            for (name, value) in [("process", "server"), ("volume", "data")] {
                if stored.get(name).is_none() {
                    stored[name] = value.into();
                }
            }
            assert_eq!(serde_json::from_value::<Fault>(stored).unwrap(), fault);
        }
    }
}
