//! Where a fault is injected: which member it hits, whose role is looked up then, and how a node there
//! becomes a member of its cluster again.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use engine::replication::Role;
use plan::{FaultTarget, SplitMix64};

use crate::failure::{canceled, unless_canceled};
use crate::hosts::MemberNode;
use crate::observe::probe::view_of;
use crate::setup::cluster::not_started;
use crate::{Cluster, Failure, Instance, Member};

/// How long a node may take to replicate again, and how often it is asked.
const REJOIN_LIMIT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long its cluster may refuse it. A server waits up to 60 s for a busy group in each attempt.
const JOIN_LIMIT: Duration = Duration::from_secs(300);

#[derive(Clone, Copy)]
pub(super) struct FaultContext<'a> {
    pub(super) instance: &'a Instance,
    /// Where it is among the sites of the cluster: the index of the node that is hit, or what follows
    /// the nodes; `None` if dyno did not start the server.
    pub(super) index: Option<usize>,
    /// Whether it was the primary when the fault was injected.
    pub(super) was_primary: bool,
    /// Becomes true when the fault must stop: at the end of the loads, or when the trial is interrupted.
    pub(super) over: &'a AtomicBool,
}

impl<'a> FaultContext<'a> {
    /// The same for another node.
    pub(super) fn of(&self, index: usize, was_primary: bool) -> Self {
        Self {
            index: Some(index),
            was_primary,
            ..*self
        }
    }

    pub(super) fn cluster(&self) -> &'a Cluster {
        &self.instance.cluster
    }

    pub(super) fn index(&self) -> Result<usize, Failure> {
        self.index.ok_or_else(not_started)
    }

    pub(super) fn member(&self) -> Result<&'a Member, Failure> {
        let member = self.cluster().members().get(self.index()?);
        member.ok_or_else(not_started)
    }

    /// The node that is hit, once nothing else happens to it.
    pub(super) fn node(&self) -> Result<MutexGuard<'a, MemberNode>, Failure> {
        self.member()?.lock()
    }

    /// How the node has ended, if it has and nothing else happens to it.
    pub(super) fn ended(&self) -> Option<String> {
        self.member().ok()?.try_lock()?.died(false)
    }

    /// Starts the node, on a copy of the primary's data if its own may have diverged; returns when
    /// it accepted connections.
    pub(super) fn start(&self) -> Result<Instant, Failure> {
        let needs_group = self.node()?.starts_in_group();
        let turn = needs_group.then(|| self.wait_for_group()).transpose()?;
        let mut node = self.node()?;
        if let Some(successor) = self.successor()
            && self.was_primary
        {
            node.copy_from(successor, self.over)?;
        }
        // The turn lasts until the node has started.
        node.start_again(turn.as_ref().is_some_and(|turn| turn.begins), self.over)
    }

    /// Has the restarted node join its cluster. A group may refuse a member at first, because the others are
    /// busy or have not yet noticed that it was gone, and the member may drop out again while it catches
    /// up, so this tries repeatedly.
    pub(super) fn join(&self) -> Result<(), Failure> {
        if let Some(primary) = self.successor() {
            self.node()?.follow(primary)?;
            return self.wait_until_it_replicates();
        }
        let deadline = Instant::now() + JOIN_LIMIT;
        loop {
            match self.try_join() {
                Err(_) if self.over.load(Ordering::Relaxed) => return Err(canceled()),
                Err(_) if Instant::now() < deadline => sleep(POLL_INTERVAL),
                joined => return joined,
            }
        }
    }

    fn try_join(&self) -> Result<(), Failure> {
        let turn = self.wait_for_group()?;
        self.node()?.try_rejoin()?;
        drop(turn);
        self.wait_until_it_replicates()
    }

    /// Has the node, which ran all the time, return to its cluster.
    pub(super) fn return_to_cluster(&self) -> Result<(), Failure> {
        if let Some(primary) = self.successor() {
            let is_copied = self.was_primary && self.node()?.must_copy(primary);
            if is_copied {
                self.node()?.kill();
                self.start()?;
            }
            self.node()?.follow(primary)?;
        }
        self.wait_until_it_replicates()
    }

    /// The number in its cluster of the member that dyno has made the primary instead of this one.
    fn successor(&self) -> Option<u32> {
        let cluster = self.cluster();
        let is_by_dyno = !cluster.elects() && !cluster.has_many_primaries();
        let primary = cluster.primary_index();
        let is_other = is_by_dyno && self.index != Some(primary);
        is_other.then(|| u32::try_from(primary + 1).ok()).flatten()
    }

    /// A primary that was promoted while this node was away waits for its replicas again.
    fn complete_cluster(&self) -> Result<(), Failure> {
        match self.successor() {
            Some(_) => self.cluster().primary().lock()?.complete_cluster(),
            None => Ok(()),
        }
    }

    pub(super) fn wait_until_it_replicates(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + REJOIN_LIMIT;
        loop {
            let role = self.node()?.role();
            let is_back = |role: &Option<_>| *role != Some(Role::Detached);
            if role.as_ref().is_ok_and(is_back) {
                return self.complete_cluster();
            }
            unless_canceled(self.over)?;
            if Instant::now() > deadline {
                return Err(match role {
                    Err(error) => error,
                    Ok(_) => self.node()?.does_not_replicate(REJOIN_LIMIT),
                });
            }
            sleep(POLL_INTERVAL);
        }
    }
}

/// Whether the target may be a member of the instance.
pub(super) fn has(instance: &Instance, target: FaultTarget) -> bool {
    let mut members = instance.cluster.members().iter();
    match target {
        FaultTarget::Server(server) => members.any(|member| member.number == server),
        _ => true,
    }
}

/// The place of the target among the [`Cluster::sites`]: the index of the member that it is now, or
/// what follows them. A replica is one that has not been chosen before.
pub(super) fn find(
    target: FaultTarget,
    cluster: &Cluster,
    is_hit: impl Fn(u32) -> bool,
    chosen: &[usize],
) -> Result<usize, Failure> {
    let members = cluster.members();
    let primary = cluster.primary_index();
    let mut all = 0..members.len();
    let (found, who) = match target {
        FaultTarget::Coordinator => (Some(members.len()), "the coordinator"),
        FaultTarget::Server(number) => {
            let found = members.iter().position(|member| member.number == number);
            (found, "that server")
        }
        FaultTarget::Primary => {
            let roles = roles(cluster);
            let mut expected_first = std::iter::once(primary).chain(all);
            let found = expected_first.find(|index| roles[*index] == Some(Role::Primary));
            (found, "the primary")
        }
        FaultTarget::Replica => {
            let roles = roles(cluster);
            let is_free = |index: &usize| *index != primary && !chosen.contains(index);
            let found = all.find(|index| is_free(index) && is_replica(cluster, roles[*index]));
            (found, "a replica")
        }
        FaultTarget::All => (None, "all of them"),
        FaultTarget::Any(seed) => {
            let drawn = SplitMix64::new(seed).below(members.len());
            let mut from_drawn = (drawn..members.len()).chain(0..drawn);
            let found = from_drawn.find(|index| !is_hit(members[*index].number));
            (found, "without a fault")
        }
    };
    found.ok_or_else(|| Failure::server(format!("no member of the cluster is {who} now")))
}

/// With many primaries, those that the load does not write to are replicas.
fn is_replica(cluster: &Cluster, role: Option<Role>) -> bool {
    role == Some(Role::Replica) || (role == Some(Role::Primary) && cluster.has_many_primaries())
}

/// The roles of all members, who are asked at the same time: each that hangs is waited for.
fn roles(cluster: &Cluster) -> Vec<Option<Role>> {
    thread::scope(|scope| {
        let ask = |member| scope.spawn(move || role_of(cluster, member));
        let asked: Vec<_> = cluster.members().iter().map(ask).collect();
        let answers = asked.into_iter().map(|asked| asked.join().ok().flatten());
        answers.collect()
    })
}

/// A member's role, as it says itself; `None` if it does not answer.
pub(super) fn role_of(cluster: &Cluster, member: &Member) -> Option<Role> {
    if !cluster.is_replicated() {
        // A single server is its own primary, whether it answers or not.
        return Some(Role::Primary);
    }
    Some(view_of(cluster, member).ok()?.state)
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
