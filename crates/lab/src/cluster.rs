//! Nodes that serve one data set.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::servers::Node;

/// Nodes that serve one data set, the primary first. A single node is a cluster of one.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Locked while something happens to them.
    nodes: Vec<Mutex<Node>>,
}

impl Cluster {
    pub(crate) fn single(node: Node) -> Self {
        Self {
            nodes: vec![Mutex::new(node)],
        }
    }

    pub(crate) fn nodes(&self) -> &[Mutex<Node>] {
        &self.nodes
    }

    pub(crate) fn into_nodes(self) -> impl Iterator<Item = Node> {
        let nodes = self.nodes.into_iter();
        nodes.map(|node| node.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether none of the nodes serves, because of what the study did to them.
    pub(crate) fn is_down(&self) -> bool {
        let is_up = |node| try_lock(node).is_some_and(|node| node.is_up());
        !self.nodes.iter().any(is_up)
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
