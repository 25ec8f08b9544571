//! The servers of a trial, as far as they decide which faults it can have.

use std::collections::BTreeSet;

use plan::{
    ActsOn, ClusterTraits, EngineTraits, Fault, FaultKind, FaultOptions, FaultProcess, FaultTarget,
    FaultVolume, FileSystem, FileSystemKind, Isolation, Need, Network, QuorumLost, ServerSpec,
    SiteKind, TextError, Topology, Trial, Value, Volume,
};

use crate::point::in_process;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Servers<'a> {
    /// `None`: they are running already, as processes.
    engine: Option<&'a EngineTraits>,
    pub(crate) cluster: Option<&'a ClusterTraits>,
    topology: &'a Topology,
    /// Of each instance.
    pub(crate) members: u32,
}

/// Why servers cannot have a fault, after the option of the fault that is the reason; empty: its kind.
pub(crate) type Refusal = (&'static str, TextError);

impl<'a> Servers<'a> {
    pub(crate) fn of(trial: &'a Trial, engines: &'a [EngineTraits]) -> Self {
        let engine = match &trial.server {
            ServerSpec::Engine(spec) => engines.iter().find(|e| e.name == spec.engine.value),
            ServerSpec::Url(url, _) => in_process(engines, &Value::Url(url.value.clone())),
        };
        let topology = &trial.topology;
        let kind = topology.cluster.as_ref().map(|cluster| &cluster.kind.value);
        let mut kinds = engine.into_iter().flat_map(|engine| engine.clusters);
        Self {
            engine,
            cluster: kind.and_then(|kind| kinds.find(|known| known.name == kind)),
            topology,
            members: topology.members().max(trial.server.hosts()),
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.topology.instances.saturating_mul(self.members)
    }

    pub(crate) fn refuse(&self, fault: &Fault) -> Option<Refusal> {
        let node = &self.topology.node;
        let (kind, options) = (fault.kind(), fault.action.options());
        let volume = match options.volume {
            FaultVolume::Data => Some(&node.volume),
            FaultVolume::Log => node.log_volume.as_ref(),
        };
        let Some(volume) = volume else {
            return refused(
                "volume",
                "the log has no volume of its own",
                "describe one under [log_volume], or remove `volume`",
            );
        };
        self.refuse_kind(kind, volume)
            .or_else(|| self.refuse_target(kind, fault.target, "target"))
            .or_else(|| self.refuse_reboot(kind, Some(fault.target)))
            .or_else(|| self.refuse_sides(fault, &options))
            .or_else(|| self.refuse_process(options.process))
            .or_else(|| refuse_device(options.device?, volume))
    }

    pub(crate) fn data(&self) -> &'a Volume {
        &self.topology.node.volume
    }

    /// Why they cannot have any fault of a kind on this volume.
    pub(crate) fn refuse_kind(&self, kind: FaultKind, volume: &Volume) -> Option<Refusal> {
        match self.engine {
            Some(engine) if !engine.is_process => refused(
                "",
                format!(
                    "`{kind}` has no effect on `{}`, which runs inside dyno",
                    engine.name
                ),
                "remove it, or choose an engine that runs as a server",
            ),
            None if kind.rules().acts_on != ActsOn::Anything => refused(
                "",
                format!(
                    "`{kind}` on a server that is already running: dyno breaks only servers that it started"
                ),
                "let dyno start the servers with `server.engine`, or name a program that does it: command = [\"program\", \"argument\"]",
            ),
            _ => {
                let mut needs = kind.rules().needs.iter();
                let missing = needs.find(|need| !self.has(**need, volume))?;
                Some(("", lack_of(*missing, kind)))
            }
        }
    }

    fn has(&self, need: Need, volume: &Volume) -> bool {
        let is_btrfs = |made: &FileSystem| made.kind.value == FileSystemKind::Btrfs;
        match need {
            Need::Successor | Need::Peers => self.members > 1,
            Need::Namespaces => self.topology.network() == Network::Namespaces,
            Need::Hosts => self.has_hosts(),
            Need::OwnHost => self.has_hosts() || self.topology.network() == Network::Namespaces,
            Need::Unshared => {
                !self.has_hosts()
                    || self
                        .topology
                        .instances_by_host()
                        .iter()
                        .all(|on_host| on_host.iter().all(|one| on_host.first() == Some(one)))
            }
            Need::Guests => self.topology.node.site.kind.value == SiteKind::Vm,
            Need::LoopDevices => loop_devices(volume).is_some(),
            Need::Btrfs => volume.file_system.as_deref().is_some_and(is_btrfs),
            Need::OwnDisk => volume.is_separate(),
            Need::Lasting => self
                .topology
                .node
                .volumes()
                .all(|volume| volume.file_system.is_none() && volume.scheduler.is_none()),
        }
    }

    fn has_hosts(&self) -> bool {
        self.topology.node.site.hosts.is_some()
    }

    /// Why a fault may not restart all hosts that it can hit; without a target, those of all servers.
    pub(crate) fn refuse_reboot(
        &self,
        kind: FaultKind,
        target: Option<FaultTarget>,
    ) -> Option<Refusal> {
        let hosts = self.topology.node.site.hosts.as_ref();
        let hosts = hosts.filter(|_| kind == FaultKind::Reboot)?;
        let servers = match target {
            Some(FaultTarget::Server(number)) => number - 1..number,
            _ => 0..self.count(),
        };
        let hit: BTreeSet<_> = servers.map(|index| self.topology.host_of(index)).collect();
        let hit = hit.into_iter().filter_map(|place| hosts.list.get(place));
        let hit: Vec<&str> = hit.map(|host| host.address.as_str()).collect();
        let is_allowed = |name: &str| hosts.allow_reboot.iter().any(|allowed| allowed == name);
        let refused_one = hit.iter().find(|name| !is_allowed(name))?;
        let message = format!(
            "`{kind}` could restart the host `{refused_one}`, which the study does not allow"
        );
        let names = hit
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect::<Vec<_>>();
        let help = format!(
            "if whatever runs there may be lost, add allow_reboot = [{}] under [site]",
            names.join(", ")
        );
        refused("", message, &help)
    }

    /// How the other members of a cluster see those that a fault hits.
    pub(crate) fn isolated(&self, fault: &Fault) -> Vec<Isolation> {
        let isolated: Vec<_> = fault.isolated(self.members).collect();
        isolated.repeat(self.hit_with(fault.kind()))
    }

    /// Most members of a cluster that a kind of fault hits with its target: all of a host.
    pub(crate) fn hit_with(&self, kind: FaultKind) -> usize {
        let on_host = self.topology.instances_by_host();
        let of_one = |nodes: &Vec<u32>| {
            nodes
                .iter()
                .filter(|one| nodes.first() == Some(one))
                .count()
        };
        match self.has_hosts() && kind.rules().acts_on == ActsOn::Host {
            true => on_host.iter().map(of_one).max().unwrap_or(1),
            false => 1,
        }
    }

    fn refuse_target(
        &self,
        kind: FaultKind,
        target: FaultTarget,
        subject: &'static str,
    ) -> Option<Refusal> {
        match target {
            FaultTarget::Replica if self.members < 2 => refused(
                subject,
                match self.cluster {
                    Some(_) => "there is no replica in a cluster of 1 member".to_owned(),
                    None => "there is no replica: the trial has no cluster".to_owned(),
                },
                "a replica needs a cluster of two or more: use `topology.cluster` and `topology.members`, or the target \"primary\"",
            ),
            FaultTarget::Server(number) if number > self.count() => refused(
                subject,
                format!(
                    "there is no server {number}: the trial has {}",
                    self.count()
                ),
                "servers are numbered from 1: those of the first instance or cluster, then the next",
            ),
            FaultTarget::Coordinator if !kind.rules().hits_coordinator => refused(
                subject,
                format!("`{kind}` cannot be done to the coordinator"),
                "it can be killed, or cut off from the members: use `kill`, `partition`, or `drop`",
            ),
            FaultTarget::Coordinator if !self.cluster.is_some_and(|one| one.has_coordinator) => {
                refused(
                    subject,
                    match self.cluster {
                        Some(cluster) => format!("a `{}` cluster has no coordinator", cluster.name),
                        None => "there is no coordinator without a cluster".to_owned(),
                    },
                    "choose another target, or a kind of cluster that has one, as the reference lists them",
                )
            }
            _ => None,
        }
    }

    /// Whom a partition names besides its target are other members of the same cluster, and leave some
    /// for the other side.
    fn refuse_sides(&self, fault: &Fault, options: &FaultOptions) -> Option<Refusal> {
        let with = options.with.iter().map(|member| (*member, "with"));
        let bridge = options.bridge.iter().map(|member| (*member, "bridge"));
        let mut others = with.chain(bridge);
        let (_, last) = others.clone().last()?;
        let named = 1 + others.clone().count();
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
            let is_elsewhere = self.topology.instances > 1
                && matches!(member, FaultTarget::Server(_))
                && self.instance(member) != self.instance(fault.target);
            let elsewhere = || {
                let message = format!("{member} is not in every cluster that this partition hits");
                let help = "name members by their roles, or the target by its number, too";
                refused(subject, message, help)
            };
            self.refuse_target(fault.kind(), member, subject)
                .or_else(|| is_elsewhere.then(elsewhere).flatten())
        })
    }

    fn refuse_process(&self, process: FaultProcess) -> Option<Refusal> {
        // Without a manager, both are the server.
        if process != FaultProcess::Manager || self.has_manager() {
            return None;
        }
        let message = match self.cluster {
            Some(cluster) => format!("a `{}` cluster has no cluster manager", cluster.name),
            None => "there is no cluster manager without a cluster".to_owned(),
        };
        let help = "remove `process`, or choose a kind of cluster that has a manager";
        refused("process", message, help)
    }

    /// Why no commit is accepted while members of a cluster are isolated.
    pub(crate) fn quorum_lost(
        &self,
        isolated: impl IntoIterator<Item = Isolation>,
    ) -> Option<QuorumLost> {
        let quorum = self.cluster?.quorum;
        quorum.lost(self.members, self.elects(), isolated)
    }

    pub(crate) fn elects(&self) -> bool {
        self.cluster.is_some_and(|cluster| cluster.elects)
    }

    /// Whether no member accepts writes while the primary is lost.
    pub(crate) fn stop_with_primary(&self) -> bool {
        let cluster = self.topology.cluster.as_ref();
        let promotes = cluster.is_some_and(|cluster| cluster.failover.is_some());
        self.members < 2 || !(promotes || self.elects())
    }

    pub(crate) fn has_manager(&self) -> bool {
        self.cluster.is_some_and(|cluster| cluster.has_manager)
    }

    /// The instance that a target is in, from 0; `None`: it is in every instance.
    pub(crate) fn instance(&self, target: FaultTarget) -> Option<u32> {
        match target {
            FaultTarget::Server(number) => number.checked_sub(1)?.checked_div(self.members),
            _ => None,
        }
    }
}

fn refused(subject: &'static str, message: impl Into<String>, help: &str) -> Option<Refusal> {
    Some((subject, TextError::new(message, help)))
}

/// What a kind of fault needs and the servers do not have, and how to get it.
#[rustfmt::skip] // Two lines for each.
fn lack_of(need: Need, kind: FaultKind) -> TextError {
    let (message, help) = match need {
        Need::Successor => ("there is no member that could take over".to_owned(),
            "a switchover needs a cluster of two or more: use `topology.cluster` and `topology.members`"),
        Need::Peers => (format!("there is no link between members for `{kind}`"),
            "it needs a cluster of two or more: use `topology.cluster` and `topology.members`"),
        Need::Namespaces => (format!("`{kind}` breaks links between network namespaces of this host, and the members have none"),
            "give each member an address of its own: network = \"namespaces\" under [topology], without other hosts"),
        Need::Hosts => (format!("`{kind}` is done to other hosts, and the servers run on this one"),
            "name others: hosts = [\"db1\", …] under [site]; in network namespaces of this host, members can have `fail_host` or `partition`"),
        Need::OwnHost => (format!("`{kind}` has no effect on members that share this host's loopback interface"),
            "give each member an address of its own: network = \"namespaces\" under [topology], or hosts = [\"db1\", …] under [site]"),
        Need::Unshared => (format!("`{kind}` would hit servers of several instances, which share a host"),
            "use more hosts, or give each instance its own with `topology.instances_on`"),
        Need::Guests => (format!("`{kind}` switches guests off, and the servers run in none"),
            "run each server in a guest: kind = \"vm\" under [site]"),
        Need::LoopDevices => (format!("`{kind}` needs a volume on loop devices, which can fail"),
            "have dyno make one: filesystem = \"btrfs\" in its section, without `device`"),
        Need::Btrfs => (format!("`{kind}` needs a btrfs volume: other file systems have neither copies nor checksums of data"),
            "use filesystem = \"btrfs\" in its section"),
        Need::OwnDisk => (format!("`{kind}` would fill the disk of dyno's cache"),
            "under [volume], make a small file system with filesystem = \"ext4\", or name a directory on a disk that may become full with directory = \"/…\""),
        Need::Lasting => (format!("`{kind}` would undo what dyno has set up for the volumes: after a restart, nobody mounts them"),
            "remove `filesystem` and `scheduler`; with directory = \"/…\" under [volume], data can be on any disk that the host mounts by itself"),
    };
    TextError::new(message, help)
}

fn refuse_device(device: u32, volume: &Volume) -> Option<Refusal> {
    let devices = loop_devices(volume)?;
    let message = format!("there is no device {device}: the volume has {devices}");
    let help = "devices are numbered from 1: use a smaller number, or more `volume.devices`";
    (device > devices).then(|| refused("device", message, help))?
}

/// Number of loop devices; `None`: it is on none.
fn loop_devices(volume: &Volume) -> Option<u32> {
    let made = volume.file_system.as_deref();
    let on_loops = made.filter(|made| made.named_device().is_none());
    on_loops.map(FileSystem::device_count)
}
