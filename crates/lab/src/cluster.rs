//! Nodes that serve one data set.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::servers::Node;

/// How long all users may take to notice that a node accepts connections again. They try at least
/// every 5 s.
const RECONNECT_LIMIT: Duration = Duration::from_secs(10);

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

    /// Whether what the study did to the nodes explains that a load has been without a connection
    /// since `lost_at`: none is up, or they restarted so recently that users may not be back yet.
    pub(crate) fn explains_loss(&self, lost_at: Instant) -> bool {
        let has_recovered = |node| {
            let up_since = try_lock(node).and_then(|node| node.up_since());
            up_since.is_some_and(|up| up <= lost_at || up.elapsed() > RECONNECT_LIMIT)
        };
        !self.nodes().any(has_recovered)
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_restart_explains_a_loss_before_it_and_a_kill_any() {
        let keep = tempfile::tempdir().unwrap();
        let cluster = Cluster::single(crate::testing::node(keep.path()));
        let lost_at = Instant::now();
        assert!(!cluster.explains_loss(lost_at), "it was up all the time");
        cluster.primary().restart(&AtomicBool::new(false)).unwrap();
        assert!(cluster.explains_loss(lost_at));
        assert!(!cluster.explains_loss(Instant::now()));
        cluster.primary().kill();
        assert!(cluster.explains_loss(Instant::now()));
    }
}
