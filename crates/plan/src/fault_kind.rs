//! The kinds of faults: the one table of their words, parameters, and rules.

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::fault::{FaultOptions, FaultProcess, FaultTarget, FaultVolume, SlowLink, is_default};
use crate::quorum::Isolation;
use crate::volume::DiskLimits;
use {ActsOn::*, Ends::*, Isolation::*, Need::*};

/// What is particular to a kind of fault.
#[derive(Debug, Clone, Copy)]
pub struct FaultRules {
    pub acts_on: ActsOn,
    pub ends: Ends,
    pub isolates: Isolation,
    /// Whether a primary that it hits is lost, so that dyno promotes a replica where members elect none.
    pub loses_primary: bool,
    /// Whether an operator plans it. Such a fault begins to cost with the request.
    pub is_planned: bool,
    /// Whether its target can be the service that the members share.
    pub hits_coordinator: bool,
    /// What the servers need, in the order in which it is checked.
    pub needs: &'static [Need],
    /// The kinds that may be done to what it broke for good.
    pub followed_by: &'static [FaultKind],
    /// What happens, in Markdown.
    pub does: &'static str,
    /// What healing does, in Markdown; empty if a study does not heal it.
    pub heals: &'static str,
}

/// What a kind of fault acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActsOn {
    Server,
    /// What a node sends and receives.
    Links,
    Space,
    Devices,
    /// The host of a node, with its links.
    Host,
    Roles,
    /// Whatever the study's own program does.
    Anything,
}

/// How a kind of fault ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// It lasts until it is healed.
    Healed,
    /// It is healed as soon as it took effect.
    AtOnce,
    /// It is a job on a volume, and is healed when that is done.
    Done,
    /// It is over once it took effect.
    Over,
}

/// What the servers of a trial need so that a fault can be done to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Successor,
    Peers,
    /// An address of each member's own, on this host.
    Namespaces,
    /// Other hosts.
    Hosts,
    /// A host of each member's own, as which a namespace counts.
    OwnHost,
    /// No other host that several instances share.
    Unshared,
    Guests,
    LoopDevices,
    Btrfs,
    /// A volume that is not on the disk of dyno's cache.
    OwnDisk,
    /// Volumes that are there again once their host has restarted.
    Lasting,
}

/// A fault that lasts, and is healed with this effect.
const fn lasting(acts_on: ActsOn, does: &'static str, heals: &'static str) -> FaultRules {
    FaultRules {
        acts_on,
        ends: Healed,
        isolates: Reachable,
        loses_primary: false,
        is_planned: false,
        hits_coordinator: false,
        needs: &[],
        followed_by: &[],
        does,
        heals,
    }
}

/// A fault that ends by itself.
const fn passing(acts_on: ActsOn, ends: Ends, does: &'static str) -> FaultRules {
    FaultRules {
        ends,
        ..lasting(acts_on, does, "")
    }
}

/// Declares the kinds: the word of each in a study, its parameters as in [`FaultOptions`], and its rules.
macro_rules! kinds {
    ($($kind:ident = $word:literal $({ $($(#[$meta:meta])* $option:ident: $type:ty),+ })? => $rules:expr,)+) => {
        choice! {
            /// What a fault does, without its parameters.
            #[derive(PartialOrd, Ord, Hash)]
            FaultKind { $($kind = $word,)+ }
        }

        impl FaultKind {
            pub const fn rules(self) -> FaultRules {
                match self { $(Self::$kind => $rules,)+ }
            }

            /// What it does with these options; it ignores those that it does not have.
            pub fn with(self, options: FaultOptions) -> FaultAction {
                match self { $(Self::$kind => FaultAction::$kind $({ $($option: options.$option),+ })?,)+ }
            }

            /// Whether it has one of the [`FaultOptions`], by the name of its field.
            pub fn has(self, option: &str) -> bool {
                match self { $(Self::$kind => [$($(stringify!($option)),+)?].contains(&option),)+ }
            }
        }

        /// What a fault does.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum FaultAction {
            $(
                #[serde(rename = $word)]
                $kind $({
                    $($(#[$meta])* #[serde(default, skip_serializing_if = "is_default")] $option: $type),+
                })?,
            )+
        }

        impl FaultAction {
            pub fn kind(&self) -> FaultKind {
                match self { $(Self::$kind { .. } => FaultKind::$kind,)+ }
            }

            /// Its parameters; the default of those that it does not have.
            pub fn options(&self) -> FaultOptions {
                let mut options = FaultOptions::default();
                match self.clone() {
                    $(Self::$kind $({ $($option),+ })? => { $($(options.$option = $option;)+)? })+
                }
                options
            }
        }
    };
}

kinds! {
    Kill = "kill" { process: FaultProcess } => FaultRules {
        isolates: Silent, loses_primary: true, hits_coordinator: true, followed_by: &[FaultKind::Restart],
        ..lasting(Server, "Kills the server, as `kill -9` does.",
            "Starts it again, with the same data, port, and password.")
    },
    Stop = "stop" { process: FaultProcess } => FaultRules {
        isolates: Leaves, loses_primary: true, is_planned: true, followed_by: &[FaultKind::Restart],
        ..lasting(Server, "Shuts the server down.", "Starts it again.")
    },
    Pause = "pause" { process: FaultProcess } => FaultRules {
        isolates: Silent, loses_primary: true,
        ..lasting(Server, "Suspends all processes of the server (SIGSTOP).", "Resumes them.")
    },
    Restart = "restart" => FaultRules {
        isolates: Closed, is_planned: true,
        ..passing(Server, AtOnce, "Shuts the server down unless it is dead, and starts it again at once. \
            `restart = \"all\"` is a rolling restart, described below.")
    },
    Partition = "partition" { with: Vec<FaultTarget>, bridge: Option<FaultTarget> } => FaultRules {
        isolates: Silent, loses_primary: true, hits_coordinator: true, needs: &[Peers, Namespaces],
        ..lasting(Links, "Cuts the member, and those `with` it, off from the other members and from etcd, in \
            both directions.", "Restores the links.")
    },
    Drop = "drop" => FaultRules {
        isolates: Silent, hits_coordinator: true, needs: &[Peers, Namespaces],
        ..lasting(Links, "Drops what the member sends to the others.", "Restores the links.")
    },
    CutClients = "cut_clients" => FaultRules {
        loses_primary: true, needs: &[Namespaces],
        ..lasting(Links, "Drops what the member sends to clients on this host, such as the load; the other \
            members still reach it.", "Restores the links.")
    },
    SlowLink = "slow_link" { #[serde(flatten)] link: SlowLink } => FaultRules {
        needs: &[Peers, Namespaces],
        ..lasting(Links, "Limits, delays, or loses what the member sends to the others.", "Restores the links.")
    },
    FillDisk = "fill_disk" { volume: FaultVolume } => FaultRules {
        loses_primary: true, needs: &[OwnDisk],
        ..lasting(Space, "Fills the file system that the server's data is on.", "Frees the space again.")
    },
    FailDevice = "fail_device" { volume: FaultVolume, device: Option<u32> } => FaultRules {
        loses_primary: true, needs: &[LoopDevices],
        followed_by: &[
            FaultKind::FillDisk, FaultKind::FailDevice, FaultKind::SlowDevice, FaultKind::ReplaceDevice,
            FaultKind::Scrub,
        ],
        ..lasting(Devices, "Makes a loop device of the server's volume reject all requests.",
            "Brings it back with what it had when it failed.")
    },
    SlowDevice = "slow_device" { volume: FaultVolume, device: Option<u32>, #[serde(flatten)] limits: DiskLimits } => FaultRules {
        needs: &[LoopDevices],
        ..lasting(Devices, "Limits how much a loop device of the volume does for the server.",
            "Removes these limits.")
    },
    ReplaceDevice = "replace_device" { volume: FaultVolume, device: Option<u32> } => FaultRules {
        needs: &[LoopDevices, Btrfs],
        ..passing(Devices, Done, "Rebuilds a device of a `btrfs` volume on a new one (`btrfs replace`). It is \
            healed once that is done.")
    },
    Scrub = "scrub" { volume: FaultVolume } => FaultRules {
        needs: &[Btrfs],
        ..passing(Devices, Done, "Reads everything on a `btrfs` volume and corrects what differs from its \
            checksum (`btrfs scrub`). It is healed once that is done.")
    },
    FailHost = "fail_host" => FaultRules {
        isolates: Silent, loses_primary: true, needs: &[OwnHost, Unshared],
        ..lasting(Host, "Cuts all links of the member, also with clients, and kills its processes, without \
            notice to anyone; with `site.hosts`, of all members on its host.", "Restores the links and starts the server again.")
    },
    Silence = "silence" => FaultRules {
        isolates: Silent, loses_primary: true, needs: &[Hosts, Unshared],
        ..lasting(Host, "Cuts the host of the member (`site.hosts`) off from everyone but dyno itself, without \
            notice to anyone. Should dyno lose it, too, the host ends that by itself.", "Lets it be heard again.")
    },
    Reboot = "reboot" => FaultRules {
        isolates: Silent, loses_primary: true, needs: &[Hosts, Unshared, Lasting],
        ..lasting(Host, "Restarts the host of the member (`site.hosts`) at once, as a power failure would: nothing is \
            written to disk or shut down. Only hosts in `site.allow_reboot`.",
            "Waits until the host is back, and starts the server again.")
    },
    CutPower = "cut_power" => FaultRules {
        isolates: Silent, loses_primary: true, needs: &[Guests],
        ..lasting(Host, "Switches the guest of the server off (`site.kind = \"vm\"`), with what it had not \
            written to its disk.", "Boots the guest on the same disk and starts the server again.")
    },
    Switchover = "switchover" => FaultRules {
        is_planned: true, needs: &[Successor],
        ..passing(Roles, Over, "Makes another member the primary, as an administrator does before maintenance. \
            The target takes over.")
    },
    Command = "command" {
        command: Vec<String>,
        heal_command: Vec<String>
    } => FaultRules {
        heals: "Runs `heal_command`.",
        ..passing(Anything, Over, "Runs a program without a shell: `command = [\"program\", \"argument\"]`.")
    },
}

impl FaultKind {
    /// Whether it lasts until it is healed.
    pub fn lasts(self) -> bool {
        self.rules().ends == Healed
    }

    pub fn is_of_volume(self) -> bool {
        self.has("volume")
    }
}
