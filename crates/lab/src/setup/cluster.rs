//! The members that serve one data set. A single server is a cluster of one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use client::route::Route;
use engine::replication::{Replication, Role, View};
use host::Files;
use measure::instance::ServerProcess;
use plan::Follow;
use workload::session::SessionError;

use crate::hosts::MemberNode;
use crate::observe::monitors::MonitoredServer;
use crate::servers::Services;
use crate::setup::server_process::{self, FoundProcess};
use crate::site::{Site, ThisHost};
use crate::template::DATABASE;
use crate::{Database, Failure, Rows, locked};

/// How long members may take to start replicating once all of them run.
const FORM_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Cluster {
    /// In the order of their numbers; never empty.
    members: Vec<Member>,
    /// The index of the member that accepts writes, as far as dyno knows.
    primary: AtomicUsize,
    /// `None` for a single server, and for servers that dyno did not start.
    pub(crate) replication: Option<&'static dyn Replication>,
    /// Whether several of the servers that dyno did not start were primaries when they were first
    /// asked.
    has_many_primaries: AtomicBool,
    /// Locked while dyno, as the cluster's administrator, decides which member is the primary.
    roles: Mutex<()>,
    /// Services that the members share; ends after the members.
    pub(crate) services: Option<Services>,
}

#[derive(Debug)]
pub(crate) struct Member {
    /// Its number among all servers of the trial.
    pub(crate) number: u32,
    pub(crate) database: Database,
    server: Server,
}

#[derive(Debug)]
enum Server {
    Started {
        site: Arc<dyn Site>,
        /// Locked while a fault or a change of roles acts on it.
        node: Box<Mutex<MemberNode>>,
    },
    /// dyno did not start it: its process, or why that was not found; `None` before the search.
    Found(Option<Result<FoundProcess, String>>),
}

impl Cluster {
    /// Forms a cluster of nodes that have joined it; returns once all of them replicate. The first
    /// node is the primary.
    pub(crate) fn of(
        nodes: Vec<impl Into<MemberNode>>,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        let nodes: Vec<MemberNode> = nodes.into_iter().map(Into::into).collect();
        let first = nodes.first();
        let first = first.ok_or_else(|| Failure::internal("a cluster without members"))?;
        let replication = first.replication();
        let formed = nodes.into_iter().enumerate().map(|(index, mut node)| {
            if index > 0 {
                node.wait_until_it_replicates(FORM_LIMIT, interrupted)?;
            }
            Ok(Member {
                number: node.number(),
                database: node.open(DATABASE)?,
                server: Server::Started {
                    site: node.site(),
                    node: Box::new(Mutex::new(node)),
                },
            })
        });
        let cluster = Self::new(formed.collect::<Result<_, Failure>>()?, replication);
        cluster.primary().lock()?.complete_cluster()?;
        Ok(cluster)
    }

    /// The servers of a database that dyno did not start. A single one has the number `number`.
    pub(crate) fn found(database: &Database, number: u32) -> Self {
        let member = |number, database| Member {
            number,
            database,
            server: Server::Found(None),
        };
        let members: Vec<_> = (1..)
            .zip(database.server().map_or_else(Vec::new, |one| one.members()))
            .map(|(number, database)| member(number, database))
            .collect();
        match members.is_empty() {
            true => Self::new(vec![member(number, Database::clone(database))], None),
            false => Self::new(members, None),
        }
    }

    #[cfg(test)]
    pub(crate) fn joined(clusters: impl Iterator<Item = Self>) -> Self {
        let members = clusters.flat_map(|cluster| cluster.members);
        Self::new(members.collect(), None)
    }

    fn new(members: Vec<Member>, replication: Option<&'static dyn Replication>) -> Self {
        Self {
            members,
            primary: AtomicUsize::new(0),
            replication,
            has_many_primaries: AtomicBool::new(false),
            roles: Mutex::default(),
            services: None,
        }
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The sites of the members, in the order of their numbers, then those of the shared services.
    pub(crate) fn sites(&self) -> Vec<&Arc<dyn Site>> {
        let members = self.members.iter().filter_map(Member::site);
        let services = self.services.iter().map(|services| &services.site);
        members.chain(services).collect()
    }

    pub(crate) fn is_started(&self) -> bool {
        self.members.iter().any(|member| member.site().is_some())
    }

    /// Whether it has roles, which may move from one member to another.
    pub(crate) fn is_replicated(&self) -> bool {
        self.replication.is_some() || self.members.len() > 1
    }

    /// Whether the members elect a primary themselves. dyno never promotes servers that it did not
    /// start, so they count as electing.
    pub(crate) fn elects(&self) -> bool {
        self.replication.is_none_or(<dyn Replication>::elects)
    }

    /// Whether every member accepts writes.
    pub(crate) fn has_many_primaries(&self) -> bool {
        let found = || self.has_many_primaries.load(Ordering::Relaxed);
        self.replication
            .map_or_else(found, <dyn Replication>::has_many_primaries)
    }

    pub(crate) fn set_many_primaries(&self, has_many: bool) {
        self.has_many_primaries.store(has_many, Ordering::Relaxed);
    }

    pub(crate) fn primary_index(&self) -> usize {
        self.primary.load(Ordering::Relaxed)
    }

    /// Records that another member accepts writes now.
    pub(crate) fn set_primary(&self, index: usize) {
        self.primary.store(index, Ordering::Relaxed);
    }

    pub(crate) fn primary(&self) -> &Member {
        &self.members[self.primary_index()]
    }

    /// Held while promoting a member, or while one bootstraps the group. If two members were
    /// promoted at the same time, one would lose what the other commits.
    pub(crate) fn lock_roles(&self) -> MutexGuard<'_, ()> {
        locked(&self.roles)
    }

    /// The route of a load before anything has happened to the members. A single server is used
    /// whatever happens to it.
    pub(crate) fn route(&self, follow: Follow) -> Route {
        let (count, primary) = (self.members.len(), self.primary_index());
        match follow {
            _ if !self.is_replicated() => Route::fixed(),
            Follow::Primary => Route::new(count, |index| index == primary, true),
            Follow::Any => Route::new(count, |_| true, false),
            Follow::Hosts => Route::list(count, primary),
            Follow::Fixed => Route::new(count, |index| index == 0, false),
        }
    }

    /// A member's view of the cluster; `ask` executes a query on the member. A single server is its
    /// own primary.
    pub(crate) fn view(
        &self,
        member: &Member,
        ask: impl FnOnce(&str) -> Result<Rows, SessionError>,
    ) -> Result<View, SessionError> {
        if let Some(replication) = self.replication {
            let questions = replication.traits().questions;
            return Ok((questions.view)(&ask(questions.view_query)?));
        }
        let server = member.database.server();
        let state = match server.and_then(|server| server.role_query()) {
            Some((query, role)) => role(&ask(query)?),
            None => Role::Primary,
        };
        Ok(View {
            state,
            others: String::new(),
        })
    }

    /// Searches for the processes of servers that dyno did not start.
    pub(crate) fn find_processes(&mut self, files: &dyn Files) {
        for member in &mut self.members {
            if let Server::Found(process) = &mut member.server {
                *process = Some(server_process::find(files, &*member.database));
            }
        }
    }

    /// The nodes, in the order of their numbers, and the services that they share.
    pub(crate) fn into_parts(self) -> (Vec<MemberNode>, Option<Services>) {
        let nodes = self.members.into_iter().filter_map(Member::into_node);
        (nodes.collect(), self.services)
    }
}

impl Member {
    /// `None` if dyno did not start the server.
    pub(crate) fn site(&self) -> Option<&Arc<dyn Site>> {
        match &self.server {
            Server::Started { site, .. } => Some(site),
            Server::Found(_) => None,
        }
    }

    /// The node that dyno started, once nothing else acts on it.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, MemberNode>, Failure> {
        match &self.server {
            Server::Started { node, .. } => Ok(locked(node)),
            Server::Found(_) => Err(not_started()),
        }
    }

    /// `None` while something else acts on the node, and if dyno did not start the server.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, MemberNode>> {
        let Server::Started { node, .. } = &self.server else {
            return None;
        };
        match node.try_lock() {
            Ok(node) => Some(node),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// For the result; `None` if nobody searched for it, or if it has ended.
    pub(crate) fn process(&self) -> Option<ServerProcess> {
        let pid = match &self.server {
            Server::Started { .. } => Ok(self.lock().ok()?.pid()?),
            Server::Found(found) => found.as_ref()?.as_ref().map(|found| found.pid),
        };
        Some(match pid {
            Ok(pid) => ServerProcess::Found { pid },
            Err(reason) => ServerProcess::NotFound {
                reason: reason.clone(),
            },
        })
    }

    /// What the monitors need to sample this member.
    pub(crate) fn monitored(&self) -> MonitoredServer {
        let (site, process, directories) = match &self.server {
            Server::Started { site, node } => {
                let node = locked(node);
                let directories = node.directories();
                (Arc::clone(site), node.process(), directories)
            }
            Server::Found(found) => {
                let found = found.as_ref().and_then(|found| found.as_ref().ok());
                let data = found.and_then(|found| found.data_dir.as_deref());
                let data = data.or_else(|| self.database.file());
                let here: Arc<dyn Site> = Arc::new(ThisHost::default());
                let process = found.map(|found| found.pid).into();
                let directories = data.map(ToOwned::to_owned).into_iter().collect();
                (here, process, directories)
            }
        };
        MonitoredServer {
            number: self.number,
            site,
            process,
            directories,
            database: Some(self.database.clone()),
            is_own: self.site().is_some(),
        }
    }

    fn into_node(self) -> Option<MemberNode> {
        match self.server {
            Server::Started { node, .. } => {
                Some(node.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            Server::Found(_) => None,
        }
    }
}

pub(crate) fn not_started() -> Failure {
    let message = "dyno breaks only servers that it has started; for others, the study names a \
                   command";
    Failure::server(message)
}
