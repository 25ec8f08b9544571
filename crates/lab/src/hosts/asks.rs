//! What dyno asks its program on another host.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use engine::replication::ClusterLayout;
use ipnet::Ipv4Net;
use machine::site::far::reboot::Boot;
use plan::{EngineSpec, Node, Topology};
use serde::{Deserialize, Serialize};

use super::calls::Call;
use crate::servers::{Membership, NodeSpec, Password};
use crate::template::About;

/// It cannot be printed, as it may have passwords in it.
#[derive(Serialize, Deserialize)]
pub(crate) enum Ask {
    /// Finds the server's program.
    Find(EngineSpec),
    /// Checks that a study's sites and volumes can be created, and that a fault can restart the host if one may.
    /// Says where dyno runs.
    Check {
        topology: Box<Topology>,
        reboots: Option<Boot>,
    },
    /// Keeps a template, and makes one of the data that was received if there is none; returns
    /// whether there is one.
    Hold {
        spec: EngineSpec,
        about: Box<About>,
        received: Option<u64>,
    },
    /// Makes room for a data directory that is copied to the host.
    Receive(u64),
    /// Copies data for a server.
    Fill {
        id: u64,
        number: u32,
        spec: EngineSpec,
        node: Box<Node>,
        from: Source,
    },
    /// Writes the data to disk, and drops it from the page cache if that is to be cold.
    Settle {
        id: u64,
        cold: bool,
    },
    /// Free ports at an address.
    Ports {
        count: usize,
        at: Ipv4Addr,
    },
    Start {
        id: u64,
        server: Box<ServerStart>,
    },
    Call {
        id: u64,
        call: Call,
    },
    /// The IDs of the server's process and of its cluster manager's.
    Processes(u64),
    Freeze {
        id: u64,
        frozen: bool,
    },
    /// What the server's log and configuration say.
    Kept(u64),
    /// The texts of files.
    Read(Vec<PathBuf>),
    List(PathBuf),
    Resolve(PathBuf),
    /// The space in the file system of a path.
    Space(PathBuf),
    /// Cuts the host off for at most this time.
    FallSilent(Duration),
    BeHeard,
    /// The name of the program's run directory.
    Run,
    /// Restarts the host, unless that would end dyno, which says where it runs.
    Reboot(Boot),
    /// Takes over a server whose processes ended when the host restarted.
    TakeOver {
        id: u64,
        server: Box<ServerStart>,
        former: Box<Started>,
    },
    /// Kills the server, and removes its data.
    End(u64),
    Forget(u64),
}

/// What a server's data is copied from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Source {
    Template(Box<About>),
    /// Data that was received under this number.
    Received(u64),
}

/// What a server is started with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerStart {
    pub(super) number: u32,
    pub(super) spec: EngineSpec,
    pub(super) node: Node,
    /// Whether requests to devices may be limited later.
    pub(super) limits_io: bool,
    /// The address to listen on.
    pub(super) address: Ipv4Net,
    pub(super) config: Vec<(String, String)>,
    pub(super) port: Option<u16>,
    pub(super) connections: u32,
    pub(super) membership: Option<SentMembership>,
}

impl ServerStart {
    /// `spec` has the site as this host sees it.
    pub(crate) fn new(spec: &NodeSpec, engine: &EngineSpec, node: Node, limits_io: bool) -> Self {
        Self {
            number: spec.number,
            spec: engine.clone(),
            node,
            limits_io,
            address: spec.site.address(),
            config: spec.config.clone(),
            port: spec.port.or_else(|| spec.site.port()),
            connections: spec.connections,
            membership: spec.membership.as_ref().map(Membership::to_send),
        }
    }
}

/// A `Membership`, which names its kind of cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SentMembership {
    pub(crate) kind: String,
    pub(crate) layout: ClusterLayout,
    pub(crate) number: u32,
    pub(crate) password: Password,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) build: String,
    pub(super) program: String,
    /// What earlier runs have left on the host and the program could not remove.
    pub(super) left: Vec<String>,
}

/// Where a data directory is received.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Received {
    /// It does not exist yet.
    pub(super) data: PathBuf,
    /// As `UID:GID`; empty for the user that dyno runs as.
    pub(super) owner: String,
}

/// What is known of a server that has started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Started {
    pub(crate) port: u16,
    pub(crate) password: Password,
    pub(crate) public_key: Option<Vec<u8>>,
    pub(crate) notes: Vec<String>,
    pub(super) dir: PathBuf,
    pub(super) directories: Vec<PathBuf>,
    pub(super) groups: Vec<PathBuf>,
}
