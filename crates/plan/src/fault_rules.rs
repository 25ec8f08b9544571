//! The kinds of faults, and the one table of what is particular to each.

use crate::choice::choice;

choice! {
    /// What a fault does, without its parameters; [`FaultKind::rules`] describe it.
    #[derive(PartialOrd, Ord, Hash)]
    FaultKind {
        Kill = "kill",
        Stop = "stop",
        Pause = "pause",
        Restart = "restart",
        Partition = "partition",
        Drop = "drop",
        CutClients = "cut_clients",
        SlowLink = "slow_link",
        FillDisk = "fill_disk",
        FailDevice = "fail_device",
        SlowDevice = "slow_device",
        ReplaceDevice = "replace_device",
        Scrub = "scrub",
        FailHost = "fail_host",
        CutPower = "cut_power",
        Switchover = "switchover",
        Command = "command",
    }
}

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
    /// The processes of a node.
    Server,
    /// What a node sends and receives.
    Links,
    /// The free space of a volume.
    Space,
    /// The devices of a volume.
    Devices,
    /// The host of a node, with its links.
    Host,
    /// Who is the primary.
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

/// How the other members of a cluster see one that is hit, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// They still reach it.
    None,
    /// It is gone, and they notice at once.
    Closed,
    /// It falls silent, so that they notice only by timeouts.
    Silent,
    /// It takes its leave: a group that elects becomes smaller.
    Leaves,
}

/// What the servers of a trial need so that a fault can be done to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A member that could take over.
    Successor,
    /// Other members.
    Peers,
    /// An address of each member's own.
    Namespaces,
    Guests,
    /// A volume on loop devices.
    LoopDevices,
    Btrfs,
    /// A volume that is not on the disk of dyno's cache.
    OwnDisk,
}

/// A fault that lasts, and is healed with this effect.
const fn lasting(acts_on: ActsOn, does: &'static str, heals: &'static str) -> FaultRules {
    FaultRules {
        acts_on,
        ends: Ends::Healed,
        isolates: Isolation::None,
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

const RESTORES_LINKS: &str = "Restores the links.";

impl FaultKind {
    /// The table of rules.
    pub fn rules(self) -> FaultRules {
        use {ActsOn::*, Ends::*, Isolation::*, Need::*};
        match self {
            Self::Kill => FaultRules {
                isolates: Silent,
                loses_primary: true,
                hits_coordinator: true,
                followed_by: &[Self::Restart],
                ..lasting(
                    Server,
                    "Kills the server, as `kill -9` does.",
                    "Starts it again, with the same data, port, and password.",
                )
            },
            Self::Stop => FaultRules {
                isolates: Leaves,
                loses_primary: true,
                is_planned: true,
                followed_by: &[Self::Restart],
                ..lasting(Server, "Shuts the server down.", "Starts it again.")
            },
            Self::Pause => FaultRules {
                isolates: Silent,
                loses_primary: true,
                ..lasting(
                    Server,
                    "Suspends all processes of the server (SIGSTOP).",
                    "Resumes them.",
                )
            },
            Self::Restart => FaultRules {
                isolates: Closed,
                is_planned: true,
                ..passing(
                    Server,
                    AtOnce,
                    "Shuts the server down unless it is dead, and starts it again at once. \
                     `restart = \"all\"` is a rolling restart, described below.",
                )
            },
            Self::Partition => FaultRules {
                isolates: Silent,
                loses_primary: true,
                hits_coordinator: true,
                needs: &[Peers, Namespaces],
                ..lasting(
                    Links,
                    "Cuts the member, and those `with` it, off from the other members and from etcd, \
                     in both directions.",
                    RESTORES_LINKS,
                )
            },
            Self::Drop => FaultRules {
                isolates: Silent,
                hits_coordinator: true,
                needs: &[Peers, Namespaces],
                ..lasting(
                    Links,
                    "Drops what the member sends to the others.",
                    RESTORES_LINKS,
                )
            },
            Self::CutClients => FaultRules {
                loses_primary: true,
                needs: &[Namespaces],
                ..lasting(
                    Links,
                    "Drops what the member sends to clients on this host, such as the load; the other \
                     members still reach it.",
                    RESTORES_LINKS,
                )
            },
            Self::SlowLink => FaultRules {
                needs: &[Peers, Namespaces],
                ..lasting(
                    Links,
                    "Limits, delays, or loses what the member sends to the others.",
                    RESTORES_LINKS,
                )
            },
            Self::FillDisk => FaultRules {
                loses_primary: true,
                needs: &[OwnDisk],
                ..lasting(
                    Space,
                    "Fills the file system that the server's data is on.",
                    "Frees the space again.",
                )
            },
            Self::FailDevice => FaultRules {
                loses_primary: true,
                needs: &[LoopDevices],
                followed_by: &[
                    Self::FillDisk,
                    Self::FailDevice,
                    Self::SlowDevice,
                    Self::ReplaceDevice,
                    Self::Scrub,
                ],
                ..lasting(
                    Devices,
                    "Makes a loop device of the server's volume reject all requests.",
                    "Brings it back with what it had when it failed.",
                )
            },
            Self::SlowDevice => FaultRules {
                needs: &[LoopDevices],
                ..lasting(
                    Devices,
                    "Limits how much a loop device of the volume does for the server.",
                    "Removes these limits.",
                )
            },
            Self::ReplaceDevice => FaultRules {
                needs: &[LoopDevices, Btrfs],
                ..passing(
                    Devices,
                    Done,
                    "Rebuilds a device of a `btrfs` volume on a new one (`btrfs replace`). It is healed \
                     once that is done.",
                )
            },
            Self::Scrub => FaultRules {
                needs: &[Btrfs],
                ..passing(
                    Devices,
                    Done,
                    "Reads everything on a `btrfs` volume and corrects what differs from its checksum \
                     (`btrfs scrub`). It is healed once that is done.",
                )
            },
            Self::FailHost => FaultRules {
                isolates: Silent,
                loses_primary: true,
                needs: &[Namespaces],
                ..lasting(
                    Host,
                    "Cuts all links of the member, also with clients, and kills its processes, without \
                     notice to anyone.",
                    "Restores the links and starts the server again.",
                )
            },
            Self::CutPower => FaultRules {
                isolates: Silent,
                loses_primary: true,
                needs: &[Guests],
                ..lasting(
                    Host,
                    "Switches the guest of the server off (`site.kind = \"vm\"`), with what it had not \
                     written to its disk.",
                    "Boots the guest on the same disk and starts the server again.",
                )
            },
            Self::Switchover => FaultRules {
                is_planned: true,
                needs: &[Successor],
                ..passing(
                    Roles,
                    Over,
                    "Makes another member the primary, as an administrator does before maintenance. The \
                     target takes over.",
                )
            },
            Self::Command => FaultRules {
                heals: "Runs `heal_command`.",
                ..passing(
                    Anything,
                    Over,
                    "Runs a program without a shell: `command = [\"program\", \"argument\"]`.",
                )
            },
        }
    }

    /// Whether it lasts until it is healed.
    pub fn lasts(self) -> bool {
        self.rules().ends == Ends::Healed
    }

    /// Whether its target is a volume.
    pub fn is_of_volume(self) -> bool {
        self.has("volume")
    }
}
