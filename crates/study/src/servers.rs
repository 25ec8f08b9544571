//! The servers of a trial, as far as they decide which faults it can have.

use plan::{
    ClusterTraits, EngineTraits, Fault, FaultKind, FaultProcess, FaultTarget, FaultVolume,
    FileSystem, FileSystemKind, LostSide, Network, ServerSpec, SiteKind, Trial, Value, Volume,
};

use crate::content::{Base, Content};
use crate::effect::{hosts, in_process};

/// The servers of a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Servers {
    /// `None`: they are running already, as processes.
    engine: Option<EngineTraits>,
    pub(crate) cluster: Option<ClusterTraits>,
    pub(crate) instances: u32,
    /// Of each instance.
    pub(crate) members: u32,
    /// Whether they run in guests.
    are_guests: bool,
    /// Whether links between members can be cut.
    has_links: bool,
    /// Where the data is stored.
    disk: Disk,
    /// Where the transaction log is stored; `None`: with the data.
    log: Option<Disk>,
    /// Whether dyno promotes a replica if the primary is lost.
    promotes: bool,
}

/// Where data is stored.
#[derive(Debug, Clone, Copy)]
struct Disk {
    /// Whether the study names or makes it.
    is_separate: bool,
    /// Whether dyno makes it.
    is_made: bool,
    /// The least number of loop devices; `None`: it is on none.
    devices: Option<u32>,
    is_btrfs: bool,
}

/// Why servers cannot have a fault.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What the reason is.
    pub(crate) subject: Subject,
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

/// What is wrong with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Kind,
    Target,
    Process,
    Volume,
    Device,
    With,
    Bridge,
}

impl Disk {
    fn of(volume: &Volume) -> Self {
        let made = volume.file_system.as_deref();
        let on_loops = made.filter(|made| made.named_device().is_none());
        Self {
            is_separate: volume.is_separate(),
            is_made: made.is_some(),
            devices: on_loops.map(FileSystem::device_count),
            is_btrfs: made.is_some_and(|made| made.kind.value == FileSystemKind::Btrfs),
        }
    }
}

impl Servers {
    /// Whether the data is on a file system that dyno makes for it.
    pub(crate) fn has_made_disk(&self) -> bool {
        self.disk.is_made
    }

    /// Those of a planned trial.
    pub(crate) fn of(trial: &Trial, engines: &[EngineTraits]) -> Self {
        let engine = match &trial.server {
            ServerSpec::Engine(spec) => engines
                .iter()
                .find(|e| e.name == spec.engine.value)
                .copied(),
            ServerSpec::Url(url, _) => in_process(engines, &Value::Url(url.value.clone())),
        };
        let topology = &trial.topology;
        let cluster = topology.cluster.as_ref();
        Self {
            engine,
            cluster: cluster.and_then(|cluster| kind(&engine?, &cluster.kind.value)),
            instances: topology.instances,
            members: topology.members(),
            are_guests: topology.node.site.kind.value == SiteKind::Vm,
            has_links: topology.network() == Network::Namespaces,
            disk: Disk::of(&topology.node.volume),
            log: topology.node.log_volume.as_ref().map(Disk::of),
            promotes: cluster.is_some_and(|cluster| cluster.failover.is_some()),
        }
    }

    /// Those of all trials of a base, the fewest first; those with an invalid engine or kind of
    /// cluster are left out.
    pub(crate) fn of_base(
        content: &Content,
        base: &Base<'_>,
        engines: &[EngineTraits],
    ) -> Vec<Self> {
        let values = |name: &str| -> Vec<Value> {
            let typed = content.values_in(base, name);
            let typed = typed.into_iter().map(|typed| typed.value.clone());
            let typed: Vec<_> = typed.collect();
            match typed.is_empty() {
                true => crate::point::default(name)
                    .map(|v| v.value)
                    .into_iter()
                    .collect(),
                false => typed,
            }
        };
        let numbers = |name: &str| -> Vec<u32> {
            let numbers = values(name).into_iter();
            numbers
                .filter_map(|n| u32::try_from(n.as_number()? as u64).ok())
                .collect()
        };
        let is_given = |name: &str| !content.values_in(base, name).is_empty();
        let disk = |section: &str| {
            let key = |name: &str| format!("{section}.{name}");
            let is_made = is_given(&key("filesystem"));
            let mut kinds = values(&key("filesystem")).into_iter();
            Disk {
                is_separate: is_made || is_given(&key("directory")),
                is_made,
                devices: (is_made && !is_given(&key("device")))
                    .then(|| numbers(&key("devices")).into_iter().min().unwrap_or(1)),
                is_btrfs: is_made
                    && kinds.all(|kind| kind.as_text() == Some(FileSystemKind::Btrfs.name())),
            }
        };
        let networks = values("topology.network");
        let sites = values("site.kind");
        let running = Self {
            engine: None,
            cluster: None,
            instances: numbers("topology.instances").into_iter().min().unwrap_or(1),
            members: 1,
            are_guests: sites
                .iter()
                .all(|site| site.as_text() == Some(SiteKind::Vm.name())),
            has_links: networks
                .iter()
                .all(|n| n.as_text() == Some(Network::Namespaces.name())),
            disk: disk("volume"),
            log: ["directory", "filesystem"]
                .iter()
                .any(|key| is_given(&format!("log_volume.{key}")))
                .then(|| disk("log_volume")),
            promotes: is_given("topology.failover"),
        };
        let mut all = Vec::new();
        for url in values("server.url") {
            all.push(Self {
                engine: in_process(engines, &url),
                members: hosts(&url),
                ..running
            });
        }
        let clusters = values("topology.cluster");
        for name in values("server.engine") {
            let name = name.as_text().unwrap_or_default();
            let Some(engine) = engines.iter().find(|engine| engine.name == name) else {
                continue;
            };
            let engine_only = Self {
                engine: Some(*engine),
                ..running
            };
            if clusters.is_empty() {
                all.push(engine_only);
            }
            let kinds = clusters.iter().filter_map(|c| kind(engine, c.as_text()?));
            for kind in kinds {
                all.extend(numbers("topology.members").into_iter().map(|members| Self {
                    cluster: Some(kind),
                    members,
                    ..engine_only
                }));
            }
        }
        all.sort_by_key(|servers| servers.members);
        all
    }

    /// Whether they run as processes, whoever started them.
    pub(crate) fn are_processes(&self) -> bool {
        self.engine.is_none_or(|engine| engine.is_process)
    }

    /// How many there are in all.
    pub(crate) fn count(&self) -> u32 {
        self.instances.saturating_mul(self.members)
    }

    /// Why they cannot have a fault.
    pub(crate) fn refuse(&self, fault: &Fault) -> Option<Refusal> {
        let hit = match (fault.volume, self.log) {
            (FaultVolume::Data, _) => *self,
            (FaultVolume::Log, Some(log)) => Self { disk: log, ..*self },
            (FaultVolume::Log, None) => {
                return Some(Refusal {
                    subject: Subject::Volume,
                    message: "the log has no volume of its own".to_owned(),
                    help: "describe one under [log_volume], or remove `volume`",
                });
            }
        };
        hit.refuse_kind(fault.kind)
            .or_else(|| self.refuse_target(fault.kind, fault.target, Subject::Target))
            .or_else(|| self.refuse_sides(fault))
            .or_else(|| self.refuse_process(fault.process))
            .or_else(|| hit.refuse_device(fault.device?))
    }

    /// Why they cannot have any fault of a kind.
    pub(crate) fn refuse_kind(&self, kind: FaultKind) -> Option<Refusal> {
        let refused = |message: String, help| {
            Some(Refusal {
                subject: Subject::Kind,
                message,
                help,
            })
        };
        let is_alone = self.members < 2;
        match self.engine {
            Some(engine) if !engine.is_process => refused(
                format!(
                    "`{kind}` has no effect on `{}`, which runs inside dyno",
                    engine.name
                ),
                "remove it, or choose an engine that runs as a server",
            ),
            None if kind != FaultKind::Command => refused(
                format!(
                    "`{kind}` on a server that is already running: dyno breaks only servers that it started"
                ),
                "let dyno start the servers with `server.engine`, or name a program that does it: command = [\"program\", \"argument\"]",
            ),
            _ if kind == FaultKind::Switchover && is_alone => refused(
                "there is no member that could take over".to_owned(),
                "a switchover needs a cluster of two or more: use `topology.cluster` and `topology.members`",
            ),
            _ if kind.is_of_network() && is_alone => refused(
                format!("there is no link between members for `{kind}`"),
                "it needs a cluster of two or more: use `topology.cluster` and `topology.members`",
            ),
            _ if kind.breaks_links() && !self.has_links => refused(
                format!(
                    "`{kind}` has no effect on members that share this host's loopback interface"
                ),
                "give each member an address of its own: network = \"namespaces\" under [topology]",
            ),
            _ if kind == FaultKind::CutPower && !self.are_guests => refused(
                "`cut_power` switches guests off, and the servers run in none".to_owned(),
                "run each server in a guest: kind = \"vm\" under [site]",
            ),
            _ if kind.is_of_device() && self.disk.devices.is_none() => refused(
                format!("`{kind}` needs a volume on loop devices, which can fail"),
                "have dyno make one: filesystem = \"btrfs\" in its section, without `device`",
            ),
            _ if kind.is_job() && !self.disk.is_btrfs => refused(
                format!(
                    "`{kind}` needs a btrfs volume: other file systems have neither copies nor checksums of data"
                ),
                "use filesystem = \"btrfs\" in its section",
            ),
            _ if kind == FaultKind::FillDisk && !self.disk.is_separate => refused(
                "`fill_disk` would fill the disk of dyno's cache".to_owned(),
                "under [volume], make a small file system with filesystem = \"ext4\", or name a directory on a disk that may become full with directory = \"/…\"",
            ),
            _ => None,
        }
    }

    fn refuse_target(
        &self,
        kind: FaultKind,
        target: FaultTarget,
        subject: Subject,
    ) -> Option<Refusal> {
        let refused = |message: String, help| {
            Some(Refusal {
                subject,
                message,
                help,
            })
        };
        match target {
            FaultTarget::Replica if self.members < 2 => refused(
                match self.cluster {
                    Some(_) => "there is no replica in a cluster of 1 member".to_owned(),
                    None => "there is no replica: the trial has no cluster".to_owned(),
                },
                "a replica needs a cluster of two or more: use `topology.cluster` and `topology.members`, or the target \"primary\"",
            ),
            FaultTarget::Server(number) if number > self.count() => refused(
                format!(
                    "there is no server {number}: the trial has {}",
                    self.count()
                ),
                "servers are numbered from 1: those of the first instance or cluster, then the next",
            ),
            FaultTarget::Coordinator if !kind.is_of_coordinator() => refused(
                format!("`{kind}` cannot be done to the coordinator"),
                "it can be killed, or cut off from the members: use `kill`, `partition`, or `drop`",
            ),
            FaultTarget::Coordinator if !self.has_coordinator() => refused(
                match self.cluster {
                    Some(cluster) => format!("a `{}` cluster has no coordinator", cluster.name),
                    None => "there is no coordinator without a cluster".to_owned(),
                },
                "choose another target, or a kind of cluster that has one, as the reference lists them",
            ),
            _ => None,
        }
    }

    /// Whom a partition names besides its target are other members of the same cluster, and leave some
    /// for the other side.
    fn refuse_sides(&self, fault: &Fault) -> Option<Refusal> {
        let with = fault.with.iter().map(|member| (*member, Subject::With));
        let bridge = fault.bridge.iter().map(|member| (*member, Subject::Bridge));
        let mut others = with.chain(bridge);
        let (_, last) = others.clone().last()?;
        let named = 1 + others.clone().count();
        let refused = |subject, message: String, help| {
            Some(Refusal {
                subject,
                message,
                help,
            })
        };
        if named >= self.members as usize {
            let message = format!(
                "this partition leaves no member for the other side: it names {named} of {}",
                self.members
            );
            let help =
                "name fewer members, or use more `topology.members`; a bridge needs three or more";
            return refused(last, message, help);
        }
        others.find_map(|(member, subject)| {
            let is_elsewhere = self.instances > 1
                && matches!(member, FaultTarget::Server(_))
                && self.instance(member) != self.instance(fault.target);
            let elsewhere = || {
                let message = format!("{member} is not in every cluster that this partition hits");
                let help = "name members by their roles, or the target by its number, too";
                refused(subject, message, help)
            };
            self.refuse_target(fault.kind, member, subject)
                .or_else(|| is_elsewhere.then(elsewhere).flatten())
        })
    }

    fn refuse_process(&self, process: FaultProcess) -> Option<Refusal> {
        let has_manager = self.cluster.is_some_and(|cluster| cluster.has_manager);
        // Without a manager, both are the server.
        (process == FaultProcess::Manager && !has_manager).then(|| Refusal {
            subject: Subject::Process,
            message: match self.cluster {
                Some(cluster) => format!("a `{}` cluster has no cluster manager", cluster.name),
                None => "there is no cluster manager without a cluster".to_owned(),
            },
            help: "remove `process`, or choose a kind of cluster that has a manager",
        })
    }

    fn refuse_device(&self, device: u32) -> Option<Refusal> {
        let devices = self.disk.devices?;
        (device > devices).then(|| Refusal {
            subject: Subject::Device,
            message: format!("there is no device {device}: the volume has {devices}"),
            help: "devices are numbered from 1: use a smaller number, or more `volume.devices`",
        })
    }

    /// Whether a commit is accepted no longer while so many members of a cluster are lost.
    pub(crate) fn loses_quorum(&self, lost: u32) -> bool {
        let quorum = self.cluster.map(|cluster| cluster.quorum.of(self.members));
        quorum.is_some_and(|needed| self.members.saturating_sub(lost) < needed)
    }

    /// How many members that belong to the quorum a fault makes the others count as lost.
    pub(crate) fn isolates(&self, fault: &Fault) -> u32 {
        let side = u32::try_from(fault.targets().count()).unwrap_or(u32::MAX);
        let bridge = u32::from(fault.bridge.is_some());
        let is_server =
            fault.process != FaultProcess::Manager && fault.target != FaultTarget::Coordinator;
        match LostSide::of(self.members, side, bridge) {
            _ if !is_server || !self.isolates_kind(fault.kind) => 0,
            LostSide::Target => side,
            LostSide::Rest => self.members.saturating_sub(side + bridge),
            LostSide::Neither => 0,
        }
    }

    /// The same of any fault of a kind that is done to servers.
    pub(crate) fn isolates_kind(&self, kind: FaultKind) -> bool {
        match kind {
            FaultKind::Restart => true,
            // A member that leaves a group that elects makes the group smaller.
            FaultKind::Stop => !self.cluster.is_some_and(|cluster| cluster.elects),
            kind => kind.silences(),
        }
    }

    /// Whether no member accepts writes while the primary is lost.
    pub(crate) fn stop_with_primary(&self) -> bool {
        self.members < 2 || !(self.promotes || self.cluster.is_some_and(|cluster| cluster.elects))
    }

    /// Whether one role is another server once the server that had it is lost.
    pub(crate) fn roles_move(&self) -> bool {
        !self.stop_with_primary()
    }

    pub(crate) fn has_manager(&self) -> bool {
        self.cluster.is_some_and(|cluster| cluster.has_manager)
    }

    fn has_coordinator(&self) -> bool {
        self.cluster.is_some_and(|cluster| cluster.has_coordinator)
    }

    /// The instance that a target is in, from 0; `None`: it is in every instance.
    pub(crate) fn instance(&self, target: FaultTarget) -> Option<u32> {
        match target {
            FaultTarget::Server(number) => number.checked_sub(1)?.checked_div(self.members),
            _ => None,
        }
    }
}

fn kind(engine: &EngineTraits, name: &str) -> Option<ClusterTraits> {
    engine
        .clusters
        .iter()
        .find(|kind| kind.name == name)
        .copied()
}
