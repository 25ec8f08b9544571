//! A node on another host, and a node wherever it is.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::replication::Replication;
use engine::{Database, Server};

use super::answer::Answer;
use super::asks::{Ask, ServerStart, Started};
use super::calls::Call;
use super::place::FarData;
use super::{Away, Host, site::FarSite};
use crate::failure::Failure;
use crate::process::NEVER;
use crate::servers::{DataDir, Node, NodeSpec, ProcessId};
use crate::site::Site;

/// A node of a cluster.
#[derive(Debug)]
pub(crate) enum MemberNode {
    Here(Box<Node>),
    There(Box<FarNode>),
}

impl From<Node> for MemberNode {
    fn from(node: Node) -> Self {
        Self::Here(Box::new(node))
    }
}

impl MemberNode {
    pub(crate) fn site(&self) -> Arc<dyn Site> {
        match self {
            Self::Here(node) => Arc::clone(node.site()),
            Self::There(far) => Arc::clone(&far.site) as _,
        }
    }

    pub(crate) fn number(&self) -> u32 {
        match self {
            Self::Here(node) => node.number(),
            Self::There(far) => far.server.number,
        }
    }

    /// Whether the connection to its host is lost.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Here(_) => false,
            Self::There(far) => far.data.host.link().is_lost(),
        }
    }

    pub(crate) fn replication(&self) -> Option<&'static dyn Replication> {
        match self {
            Self::Here(node) => node.replication(),
            Self::There(far) => far.replication,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Here(node) => node.address(),
            Self::There(far) => far.address(),
        }
    }

    /// See [`Node::open`].
    pub(crate) fn open(&self, database: &str) -> Result<Arc<dyn Database>, Failure> {
        match self {
            Self::Here(node) => node.open(database),
            Self::There(far) => {
                let key = far.started.public_key.as_deref();
                let password = far.started.password.text();
                far.engine.connect(far.address(), database, password, key)
            }
        }
    }

    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        match self {
            Self::Here(node) => node.directories(),
            Self::There(far) => far.started.directories.clone(),
        }
    }

    pub(crate) fn process(&self) -> ProcessId {
        match self {
            Self::Here(node) => node.process().clone(),
            Self::There(far) => far.process.clone(),
        }
    }

    pub(crate) fn notes(&self) -> &[String] {
        match self {
            Self::Here(node) => node.notes(),
            Self::There(far) => &far.started.notes,
        }
    }

    /// Cuts its host off for at most this time; returns when that took effect.
    pub(crate) fn fall_silent(&self, limit: Duration) -> Result<Instant, Failure> {
        self.ask_host(&Ask::FallSilent(limit))
    }

    /// Returns when its host was heard again.
    pub(crate) fn be_heard(&self) -> Result<Instant, Failure> {
        self.ask_host(&Ask::BeHeard)
    }

    /// Restarts its host, or cuts the power of its guest; returns when that took effect.
    pub(crate) fn reboot(&self) -> Result<(Away, Instant), Failure> {
        Away::begin(self.host()?)
    }

    fn ask_host(&self, ask: &Ask) -> Result<Instant, Failure> {
        self.host()?.call(ask, &NEVER)
    }

    fn host(&self) -> Result<&Arc<Host>, Failure> {
        match self {
            Self::Here(_) => Err(Failure::server(
                "this fault needs another host: use site.hosts",
            )),
            Self::There(far) => Ok(&far.data.host),
        }
    }

    /// Has its host, which has restarted, take it over. It is down.
    pub(crate) fn taken_over(&mut self) -> Result<(), Failure> {
        match self {
            Self::Here(_) => Ok(()),
            Self::There(far) => far.taken_over(),
        }
    }

    /// Stops the server and keeps its data, which only this host does.
    pub(crate) fn stop_and_keep_data(self, interrupted: &AtomicBool) -> Result<DataDir, Failure> {
        match self {
            Self::Here(node) => node.stop_and_keep_data(interrupted),
            Self::There(_) => Err(Failure::internal("data on another host is not reused")),
        }
    }

    pub(crate) fn end(self) -> Result<(), Failure> {
        match self {
            Self::Here(node) => node.end(),
            Self::There(far) => far.end(),
        }
    }
}

/// A node on another host. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct FarNode {
    data: FarData,
    engine: &'static dyn Server,
    replication: Option<&'static dyn Replication>,
    site: Arc<FarSite>,
    server: ServerStart,
    started: Started,
    process: ProcessId,
    /// Its directory in the result.
    keep: PathBuf,
}

/// The processes of a node on another host, where dyno's program knows them.
#[derive(Debug)]
pub(crate) struct FarProcesses {
    host: Arc<Host>,
    id: u64,
}

impl FarProcesses {
    /// The server's process ID there, and the cluster manager's.
    pub(crate) fn ids(&self) -> [Option<u32>; 2] {
        let ids = self.host.ask(&Ask::Processes(self.id), &NEVER);
        ids.unwrap_or_default()
    }

    /// Stops or resumes all of them with a signal; returns whether they obeyed.
    pub(crate) fn freeze(&self, frozen: bool) -> bool {
        let (id, host) = (self.id, &self.host);
        host.ask(&Ask::Freeze { id, frozen }, &NEVER)
            .unwrap_or(false)
    }
}

impl FarNode {
    /// Starts a server with data on another host, as `servers::start` does here. `spec.site` is this
    /// host's view of it.
    pub(crate) fn start(
        data: FarData,
        server: ServerStart,
        spec: NodeSpec,
        site: Arc<FarSite>,
        engine: &'static dyn Server,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        fs::create_dir_all(&spec.keep).map_err(Failure::at("create", &spec.keep))?;
        let ask = Ask::Start {
            id: data.id,
            server: Box::new(server.clone()),
        };
        let started: Result<Started, Failure> = data.host.prepare(&ask, interrupted);
        // Also if the server did not start.
        fetch(&spec.keep, &data);
        let started = started?;
        site.has_groups(started.groups.clone());
        let processes = FarProcesses {
            host: Arc::clone(&data.host),
            id: data.id,
        };
        Ok(Self {
            engine,
            replication: spec.membership.map(|member| member.replication()),
            site,
            server,
            started,
            process: ProcessId::elsewhere(processes),
            keep: spec.keep,
            data,
        })
    }

    fn address(&self) -> SocketAddr {
        let site: &dyn Site = &*self.site;
        site.reached_at(self.started.port)
    }

    pub(super) fn call<T: Answer>(&self, call: Call, interrupted: &AtomicBool) -> T {
        let is_long = matches!(
            call,
            Call::kill { .. } | Call::start_again { .. } | Call::shut_down { .. }
        );
        let id = self.data.id;
        let answer = self.data.host.call(&Ask::Call { id, call }, interrupted);
        if is_long {
            fetch(&self.keep, &self.data);
        }
        answer
    }

    fn taken_over(&mut self) -> Result<(), Failure> {
        let ask = Ask::TakeOver {
            id: self.data.id,
            server: Box::new(self.server.clone()),
            former: Box::new(self.started.clone()),
        };
        self.started = self.data.host.prepare(&ask, &NEVER)?;
        self.site.has_groups(self.started.groups.clone());
        Ok(())
    }

    fn end(self) -> Result<(), Failure> {
        if self.data.host.is_guest() {
            // What its server said last is only there.
            fetch(&self.keep, &self.data);
            return self.site.end();
        }
        self.data.host.ask(&Ask::End(self.data.id), &NEVER)
    }
}

impl Drop for FarNode {
    fn drop(&mut self) {
        // What the server said last; its data goes with `data`.
        fetch(&self.keep, &self.data);
    }
}

/// Copies the server's log and configuration into its directory in the result. A host that has lost
/// its connection says nothing more.
fn fetch(keep: &Path, data: &FarData) {
    let files: Result<Vec<(String, String)>, Failure> = data.host.ask(&Ask::Kept(data.id), &NEVER);
    // The host must not choose what is written here.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    for (name, text) in files.into_iter().flatten() {
        if !name.starts_with('.') && name.chars().all(is_plain) {
            // What is missing there is not what the trial is about.
            let _ = fs::write(keep.join(name), text);
        }
    }
}
