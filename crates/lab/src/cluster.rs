//! Nodes that serve one data set.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::servers::Node;

/// Nodes that serve one data set. A single node is a cluster of one. A node is locked while
/// something happens to it.
#[derive(Debug)]
pub(crate) struct Cluster {
    primary: Mutex<Node>,
}

impl Cluster {
    pub(crate) fn single(node: Node) -> Self {
        Self {
            primary: Mutex::new(node),
        }
    }

    /// The node that takes writes.
    pub(crate) fn primary(&self) -> MutexGuard<'_, Node> {
        lock(&self.primary)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Mutex<Node>> {
        std::iter::once(&self.primary)
    }

    pub(crate) fn into_nodes(self) -> impl Iterator<Item = Node> {
        let primary = self.primary.into_inner();
        std::iter::once(primary.unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether none of the nodes serves, because of what the study did to them.
    pub(crate) fn is_down(&self) -> bool {
        let is_up = |node| try_lock(node).is_some_and(|node| node.is_up());
        !self.nodes().any(is_up)
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
