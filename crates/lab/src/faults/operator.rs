//! What dyno does as the administrator of a cluster: it promotes a replica, has the others follow it,
//! and switches over for maintenance.

use std::cmp::Reverse;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::replication::Role;
use measure::fault::{FaultRecord, Promotion};

use super::context::{FaultContext, role_of};
use super::injection::Injection;
use crate::failure::unless_canceled;
use crate::hosts::MemberNode;
use crate::observe::probe::MemberProbe;
use crate::{Cluster, Failure, Member};

/// How long the new primary may take to receive what the old one wrote, and how often it is asked.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Injection<'_> {
    /// How long after the effect dyno promotes a replica in place of the primary; `None`: never, or
    /// the primary is not lost, or its cluster elects another one.
    pub(super) fn failover(&self, hit: &[usize]) -> Option<Duration> {
        let cluster = &self.instance.cluster;
        let was_primary = hit.contains(&cluster.primary_index());
        let is_lost = was_primary && !cluster.elects() && self.rules().loses_primary;
        let topology = &self.schedule.trial.planned.topology;
        topology.cluster.as_ref()?.failover.filter(|_| is_lost)
    }

    /// Promotes a replica in place of the lost primary, reports each step, and has the others
    /// follow the new primary.
    pub(super) fn fail_over(&self, hit: &[usize], record: &mut FaultRecord) -> Result<(), Failure> {
        let cluster = &self.instance.cluster;
        let _roles = cluster.lock_roles();
        // Another member may have become the primary in the meantime, and that one is not lost.
        if !hit.contains(&cluster.primary_index()) {
            return Ok(());
        }
        let lost = cluster.primary().number;
        let is_away = |node| node == lost || self.instance.faults.hits(node);
        let mut promotion = Promotion {
            node: None,
            asked_s: self.schedule.clock.now_s(),
            done_s: None,
            error: None,
        };
        let promoted = successor(cluster, is_away).and_then(|successor| {
            promotion.node = Some(cluster.members()[successor].number);
            record.promotion = Some(promotion.clone());
            self.report(record, Ok(()), false);
            promote(cluster, successor)
        });
        match &promoted {
            Ok(()) => promotion.done_s = Some(self.schedule.clock.now_s()),
            Err(error) => promotion.error = Some(error.to_string()),
        }
        record.promotion = Some(promotion);
        if promoted.is_err() {
            return Ok(());
        }
        self.report(record, Ok(()), false);
        follow(cluster, is_away)
    }
}

/// The index of the member that has received most of what the primary wrote. Does not ask members
/// whose number satisfies `is_away`.
fn successor(cluster: &Cluster, is_away: impl Fn(u32) -> bool) -> Result<usize, Failure> {
    let lost = cluster.primary_index();
    let members = cluster.members().iter().enumerate();
    let rest = members.filter(|(index, member)| *index != lost && !is_away(member.number));
    let received = rest.filter_map(|(index, member)| {
        let received = member.lock().ok()?.received().ok()?;
        Some((received, Reverse(index)))
    });
    let most = received.max().map(|(_, Reverse(index))| index);
    most.ok_or_else(|| Failure::server("no replica is left that could become the primary"))
}

/// Makes a replica the primary.
fn promote(cluster: &Cluster, successor: usize) -> Result<(), Failure> {
    cluster.members()[successor].lock()?.promote()?;
    cluster.set_primary(successor);
    Ok(())
}

/// Has the others follow the primary, except those for which `is_away` holds.
fn follow(cluster: &Cluster, is_away: impl Fn(u32) -> bool) -> Result<(), Failure> {
    let primary = cluster.primary_index();
    let number = u32::try_from(primary + 1).unwrap_or(u32::MAX);
    let others = cluster.members().iter().enumerate();
    let others = others.filter(|(index, member)| *index != primary && !is_away(member.number));
    let followed: Vec<_> = others
        .map(|(_, member): (usize, &Member)| member.lock()?.follow(number))
        .collect();
    followed.into_iter().collect()
}

/// Whether a member accepts no writes, as far as a client can tell.
pub(super) fn is_lost(context: &FaultContext<'_>) -> bool {
    let accepts = |member: &Member| {
        let mut probe = MemberProbe::new(context.cluster(), member);
        // The first one may only miss its limit.
        (0..3).any(|_| probe.accepts_writes())
    };
    !context.member().is_ok_and(accepts)
}

/// The context's node takes over. Returns when the old primary refused writes, and its index if it
/// was shut down.
pub(super) fn switch_over(context: &FaultContext<'_>) -> Result<(Instant, Option<usize>), Failure> {
    let (cluster, to) = (context.cluster(), context.member()?);
    let (index, from, old) = (context.index()?, cluster.primary_index(), cluster.primary());
    if index == from {
        let message = format!("server {} is the primary already", to.number);
        return Err(Failure::server(message));
    }
    if cluster.has_many_primaries() || cluster.elects() {
        if !cluster.has_many_primaries() {
            old.lock()?.switch_over(index)?;
        }
        cluster.set_primary(index);
        return Ok((Instant::now(), None));
    }
    // A member that does not replicate, such as one whose data has diverged, stays as it is.
    let does_not_replicate = |member: &&Member| role_of(cluster, member) == Some(Role::Detached);
    let left_behind = cluster.members().iter().filter(does_not_replicate);
    let left_behind: Vec<u32> = left_behind.map(|member| member.number).collect();
    if left_behind.contains(&to.number) {
        let message = format!("server {} does not replicate from the primary", to.number);
        return Err(Failure::server(message));
    }
    let (refuses_at, is_down) = replace(old, to, context)?;
    let is_away = |number| {
        (is_down && number == old.number)
            || left_behind.contains(&number)
            || context.instance.faults.hits(number)
    };
    follow(cluster, is_away)?;
    // The next switchover needs replicas.
    let others = cluster.members().iter().enumerate();
    let others = others.filter(|(other, one)| *other != index && !is_away(one.number));
    let replicate = others.map(|(index, _)| context.of(index, false).wait_until_it_replicates());
    match replicate.collect::<Result<(), _>>() {
        Err(error) if !error.is_interrupted() => Err(error),
        _ => Ok((refuses_at, is_down.then_some(from))),
    }
}

/// Makes `new`, the context's member, the primary in place of `old`; returns when `old` began to
/// refuse writes, and whether it was shut down for this.
fn replace(
    old: &Member,
    new: &Member,
    context: &FaultContext<'_>,
) -> Result<(Instant, bool), Failure> {
    let (cluster, index) = (context.cluster(), context.index()?);
    let mut node = old.lock()?;
    if !node.demote()? {
        // It sends everything to its replicas before it ends.
        let refuses_at = node.shut_down(context.over)?;
        promote(cluster, index)?;
        return Ok((refuses_at, true));
    }
    let refuses_at = Instant::now();
    if let Err(failure) = catch_up(&mut node, new, context.over) {
        // The old one remains the primary.
        let _ = node.reinstate();
        return Err(failure);
    }
    // If this fails, the new primary may accept writes already, so the old one must not.
    promote(cluster, index)?;
    Ok((refuses_at, false))
}

/// Waits until the new primary has everything that the old one wrote.
fn catch_up(old: &mut MemberNode, new: &Member, over: &AtomicBool) -> Result<(), Failure> {
    let deadline = Instant::now() + CATCH_UP_LIMIT;
    let written = old.received()?;
    while new.lock()?.received()? < written {
        unless_canceled(over)?;
        if Instant::now() > deadline {
            return Err(new.lock()?.does_not_replicate(CATCH_UP_LIMIT));
        }
        sleep(POLL_INTERVAL);
    }
    Ok(())
}
