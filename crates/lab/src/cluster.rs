//! Nodes that serve one data set.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use engine::replication::Replication;

use crate::Database;
use crate::failure::Failure;
use crate::group::Group;
use crate::monitors::MonitoredServer;
use crate::servers::{Node, Services};
use crate::site::Site;
use crate::template::DATABASE;

/// How long members may take to start replicating once all of them run.
const FORM_LIMIT: Duration = Duration::from_secs(60);

/// Nodes that serve one data set. A single node is a cluster of one.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// In the order of their numbers; never empty.
    members: Vec<Member>,
    /// The index of the member that accepts writes, as far as dyno knows.
    primary: AtomicUsize,
    /// `None`: a single node.
    replication: Option<&'static dyn Replication>,
    /// Locked while dyno, as the cluster's administrator, decides which member is the primary.
    roles: Mutex<()>,
    /// Services that the members share; ends after the members.
    services: Option<Services>,
}

/// A node of a cluster, and what can be used of it while its node is locked.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its number among all servers of the trial.
    pub(crate) number: u32,
    /// The database, with the load's account.
    pub(crate) database: Database,
    pub(crate) site: Arc<dyn Site>,
    /// Locked while a fault or a change of roles acts on it.
    node: Mutex<Node>,
}

impl Cluster {
    /// Forms a cluster of nodes that have joined it; returns once all of them replicate. The first
    /// node is the primary.
    pub(crate) fn of(nodes: Vec<Node>, interrupted: &AtomicBool) -> Result<Self, Failure> {
        let replication = nodes.first().and_then(Node::replication);
        let formed = nodes.into_iter().enumerate().map(|(index, mut node)| {
            if index > 0 {
                node.wait_until_it_replicates(FORM_LIMIT, interrupted)?;
            }
            Ok(Member {
                number: node.number(),
                database: node.open(DATABASE)?,
                site: Arc::clone(node.site()),
                node: Mutex::new(node),
            })
        });
        let cluster = Self {
            members: formed.collect::<Result<_, Failure>>()?,
            primary: AtomicUsize::new(0),
            replication,
            roles: Mutex::default(),
            services: None,
        };
        if let Some(first) = cluster.members.first() {
            first.lock().complete_cluster()?;
        }
        Ok(cluster)
    }

    /// Adds the services that the members share.
    pub(crate) fn with_services(self, services: Option<Services>) -> Self {
        Self { services, ..self }
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The sites of the members, in the order of their numbers, then those of the shared services.
    pub(crate) fn sites(&self) -> Vec<&Arc<dyn Site>> {
        let members = self.members.iter().map(|member| &member.site);
        let services = self.services.iter().map(Services::site);
        members.chain(services).collect()
    }

    pub(crate) fn services(&self) -> Option<&Services> {
        self.services.as_ref()
    }

    pub(crate) fn replication(&self) -> Option<&'static dyn Replication> {
        self.replication
    }

    pub(crate) fn primary_index(&self) -> usize {
        self.primary.load(Ordering::Relaxed)
    }

    /// Records that another member accepts writes now.
    pub(crate) fn set_primary(&self, index: usize) {
        self.primary.store(index, Ordering::Relaxed);
    }

    pub(crate) fn primary(&self) -> Option<&Member> {
        self.members.get(self.primary_index())
    }

    /// Held while promoting a member, or while one bootstraps the group. If two members were
    /// promoted at the same time, one would lose what the other commits.
    pub(crate) fn lock_roles(&self) -> MutexGuard<'_, ()> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The members as a group whose primary virtual users follow; `None` for a single node.
    pub(crate) fn as_group(&self) -> Option<Group<'_>> {
        let members = self.members.iter();
        Some(Group {
            members: members
                .map(|member| (member.number, &member.database))
                .collect(),
            primary: &self.primary,
            replication: Some(self.replication?),
            has_many_primaries: None,
        })
    }

    /// The nodes, in the order of their numbers, and the services that they share.
    pub(crate) fn into_parts(self) -> (Vec<Node>, Option<Services>) {
        let nodes = self.members.into_iter().map(Member::into_node);
        (nodes.collect(), self.services)
    }
}

impl Member {
    /// Waits until nothing else acts on the node.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Node> {
        self.node.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while something else acts on the node.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Node>> {
        match self.node.try_lock() {
            Ok(node) => Some(node),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// What the monitors need to sample this member.
    pub(crate) fn monitored(&self) -> MonitoredServer {
        let node = self.lock();
        MonitoredServer {
            number: self.number,
            site: Arc::clone(&self.site),
            process: node.process().clone(),
            directories: node.directories(),
            database: Some(self.database.clone()),
        }
    }

    fn into_node(self) -> Node {
        self.node
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
