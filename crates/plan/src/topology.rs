//! What a trial runs on: its instances, and the site and volume of each node.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::duration::{optional_text, text};
use crate::{Devices, Fault, Site, Spanned, Volume};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// Instances at once, at least 1, each with its own data and load; exactly 1 for a server
    /// that is already running.
    pub instances: u32,
    /// How the nodes of each instance replicate; `None`: an instance is a single node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
    /// Which servers of each instance virtual users connect to.
    #[serde(default)]
    pub follow: Follow,
    /// What each node runs on; the default unless dyno starts the servers as processes.
    #[serde(flatten)]
    pub node: Node,
    /// Faults during the measurement, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Default for Topology {
    fn default() -> Self {
        Self {
            instances: 1,
            cluster: None,
            follow: Follow::default(),
            node: Node::default(),
            faults: Vec::new(),
        }
    }
}

impl Topology {
    /// Nodes of each instance, at least 1.
    pub fn members(&self) -> u32 {
        self.cluster.as_ref().map_or(1, |cluster| cluster.members)
    }

    /// How the members of each cluster reach each other. Those on other hosts have addresses of
    /// their own.
    pub fn network(&self) -> Network {
        let is_here = |_: &&Cluster| self.node.site.hosts.is_none();
        let cluster = self.cluster.as_ref().filter(is_here);
        cluster.map_or_else(Network::default, |cluster| cluster.network.value)
    }

    /// The place in the list of other hosts, of the one that a node runs on. Nodes are numbered from
    /// 0: the members of the first instance, then those of the next one.
    pub fn host_of(&self, index: u32) -> usize {
        let (hosts, members) = (self.node.site.hosts.as_ref(), self.members());
        hosts.map_or(0, |hosts| {
            hosts.place(index / members, index % members, members)
        })
    }

    /// A node, numbered from 0, as it is on its host.
    pub fn node_of(&self, index: u32) -> Node {
        let hosts = self.node.site.hosts.as_ref();
        let host = hosts.and_then(|hosts| hosts.list.get(self.host_of(index)));
        let mut node = self.node.clone();
        let Some(host) = host else { return node };
        if let Some(cpus) = host.cpus {
            node.site.limits.cpus = Some(Spanned::new(cpus, host.address.span));
        }
        if let (Some(device), Some(made)) = (&host.device, &mut node.volume.file_system) {
            made.devices = Devices::Named(Spanned::new(device.clone(), host.address.span));
        }
        node
    }

    /// Whether the requests of servers to devices may be limited, from the beginning or by a fault.
    pub fn limits_io(&self) -> bool {
        let mut volumes = self.node.volumes();
        let mut faults = self.faults.iter();
        volumes.any(|volume| !volume.limits.is_none())
            || faults.any(|fault| fault.kind().has("limits"))
    }

    /// The instances of the nodes on each host, one for each node; without other hosts, all are on one.
    pub fn instances_by_host(&self) -> Vec<Vec<u32>> {
        let hosts = self.node.site.hosts.as_ref();
        let mut on_host = vec![Vec::new(); hosts.map_or(1, |hosts| hosts.list.len())];
        for index in 0..self.nodes() {
            let host = on_host.get_mut(self.host_of(index));
            host.into_iter()
                .for_each(|nodes| nodes.push(index / self.members()));
        }
        on_host
    }

    /// Nodes of all instances, at least 1.
    pub fn nodes(&self) -> u32 {
        self.instances.saturating_mul(self.members())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The engine's name for its kind of replication.
    pub kind: Spanned<String>,
    /// Number of members including the primary, at least 1.
    pub members: u32,
    /// Time from the loss of the primary until dyno promotes a replica, for clusters that do not elect
    /// a primary; `None`: never.
    #[serde(default, with = "optional_text")]
    pub failover: Option<Duration>,
    /// Time after which a cluster manager replaces a primary that does not answer, at least 5 s.
    #[serde(default = "default_ttl", with = "text")]
    pub ttl: Duration,
    #[serde(default)]
    pub network: Spanned<Network>,
    #[serde(default)]
    pub durability: Durability,
    #[serde(default)]
    pub profile: ClusterProfile,
    /// What detects the loss of the primary, and its timeouts.
    #[serde(default)]
    pub detector: String,
    /// Maximum time until detection; `None`: never.
    #[serde(default, with = "optional_text")]
    pub detected_within: Option<Duration>,
    /// Where a commit is when it is acknowledged.
    #[serde(default)]
    pub acknowledged: String,
}

choice! {
    /// How durable commits of a cluster are.
    #[derive(Default)]
    Durability {
        #[default]
        Default = "default",
        Equal = "equal",
    }
}

choice! {
    /// Settings of a cluster's servers.
    #[derive(Default)]
    ClusterProfile {
        #[default]
        Default = "default",
        Tuned = "tuned",
    }
}

choice! {
    /// Which members of a cluster virtual users connect to.
    #[derive(Default)]
    Follow {
        #[default]
        Primary = "primary",
        Any = "any",
        Hosts = "hosts",
        Fixed = "fixed",
    }
}

choice! {
    /// The network between members of a cluster.
    #[derive(Default)]
    Network {
        #[default]
        Loopback = "loopback",
        Namespaces = "namespaces",
    }
}

fn default_ttl() -> Duration {
    Duration::from_secs(30)
}

/// One server process: where it runs, and where its data is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub site: Site,
    pub volume: Volume,
    /// Where its transaction log is stored; `None`: with its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_volume: Option<Volume>,
}

impl Node {
    pub fn volumes(&self) -> impl Iterator<Item = &Volume> {
        std::iter::once(&self.volume).chain(&self.log_volume)
    }
}
