//! Nodes that serve one data set.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::servers::Node;

/// How long members may take to replicate once all of them run.
const FORM_LIMIT: Duration = Duration::from_secs(60);
/// How long all users may take to notice that a node accepts connections again. They try at least
/// every 5 s.
const RECONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Nodes that serve one data set. A single node is a cluster of one. A node is locked while
/// something happens to it.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Come first, and so end first.
    replicas: Vec<Mutex<Node>>,
    primary: Mutex<Node>,
}

impl Cluster {
    /// The cluster of nodes that have joined it, once all of them replicate.
    ///
    /// # Errors
    /// The first node that does not replicate within 60 s or ends, with its log's last lines; the
    /// user's wish to stop.
    pub(crate) fn of(
        primary: Node,
        replicas: impl IntoIterator<Item = Node>,
        interrupted: &AtomicBool,
    ) -> Result<Self, LabError> {
        let formed = replicas.into_iter().map(|mut replica| {
            replica.wait_until_it_replicates(FORM_LIMIT, interrupted)?;
            Ok(Mutex::new(replica))
        });
        let replicas = formed.collect::<Result<_, LabError>>()?;
        primary.complete_cluster()?;
        Ok(Self {
            replicas,
            primary: Mutex::new(primary),
        })
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

    /// Whether what the study did to the node that loads connect to explains that a load has been
    /// without a connection since `lost_at`: it is down, or it restarted so recently that users may
    /// not be back yet.
    pub(crate) fn explains_loss(&self, lost_at: Instant) -> bool {
        let up_since = try_lock(&self.primary).and_then(|node| node.up_since());
        !up_since.is_some_and(|up| up <= lost_at || up.elapsed() > RECONNECT_LIMIT)
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
    use super::*;

    #[test]
    fn a_restart_explains_a_loss_before_it_and_a_kill_any() {
        let keep = tempfile::tempdir().unwrap();
        let (node, never) = (crate::testing::node(keep.path()), AtomicBool::new(false));
        let cluster = Cluster::of(node, [], &never).unwrap();
        let lost_at = Instant::now();
        assert!(!cluster.explains_loss(lost_at), "it was up all the time");
        cluster.primary().restart(&never).unwrap();
        assert!(cluster.explains_loss(lost_at));
        assert!(!cluster.explains_loss(Instant::now()));
        cluster.primary().kill();
        assert!(cluster.explains_loss(Instant::now()));
    }
}
