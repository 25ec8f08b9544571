//! Nodes that serve one data set.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crate::error::LabError;
use crate::servers::Node;

/// How long members may take to replicate once all of them run.
const FORM_LIMIT: Duration = Duration::from_secs(60);

/// Nodes that serve one data set. A single node is a cluster of one. A node is locked while
/// something happens to it.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Come first, and so end first.
    replicas: Vec<Mutex<Node>>,
    primary: Mutex<Node>,
}

impl Cluster {
    /// The cluster of nodes that have joined it, the primary first, once all of them replicate;
    /// `None` for no nodes.
    ///
    /// # Errors
    /// The first node that does not replicate within 60 s or ends, with its log's last lines; the
    /// user's wish to stop.
    pub(crate) fn of(nodes: Vec<Node>, interrupted: &AtomicBool) -> Result<Option<Self>, LabError> {
        let mut nodes = nodes.into_iter();
        let Some(primary) = nodes.next() else {
            return Ok(None);
        };
        let mut replicas = Vec::new();
        for mut replica in nodes {
            replica.wait_until_it_replicates(FORM_LIMIT, interrupted)?;
            replicas.push(Mutex::new(replica));
        }
        primary.complete_cluster()?;
        Ok(Some(Self {
            replicas,
            primary: Mutex::new(primary),
        }))
    }

    /// The node that takes writes.
    pub(crate) fn primary(&self) -> MutexGuard<'_, Node> {
        lock(&self.primary)
    }

    /// The primary first.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Mutex<Node>> {
        std::iter::once(&self.primary).chain(&self.replicas)
    }

    pub(crate) fn replicas(&self) -> &[Mutex<Node>] {
        &self.replicas
    }

    pub(crate) fn into_nodes(self) -> impl Iterator<Item = Node> {
        let nodes = std::iter::once(self.primary).chain(self.replicas);
        nodes.map(|node| node.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the node that loads connect to does not serve, because of what the study did to it.
    pub(crate) fn is_down(&self) -> bool {
        !try_lock(&self.primary).is_some_and(|node| node.is_up())
    }
}

/// Locks a node, waiting for what happens to it.
pub(crate) fn lock(node: &Mutex<Node>) -> MutexGuard<'_, Node> {
    node.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a node; `None` while something happens to it.
pub(crate) fn try_lock(node: &Mutex<Node>) -> Option<MutexGuard<'_, Node>> {
    match node.try_lock() {
        Ok(node) => Some(node),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
