//! What dyno does as the administrator of a cluster: it promotes a replica where members elect none,
//! switches over for maintenance, and begins a group that has lost its quorum anew.

use std::cmp::Reverse;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::replication::Role;
use measure::fault::{FaultRecord, Promotion};

use super::active::Healing;
use super::context::{FaultContext, role_of};
use super::injection::Injection;
use crate::failure::canceled;
use crate::observe::probe::MemberProbe;
use crate::{Cluster, Failure, Member};

impl Injection<'_> {
    /// Whether the primary is gone, and its cluster elects no other.
    pub(super) fn loses_primary(&self, hit: &[usize]) -> bool {
        let cluster = &self.instance.cluster;
        let was_primary = hit.contains(&cluster.primary_index());
        was_primary && !cluster.elects() && self.rules().loses_primary
    }

    /// When dyno promotes a replica in place of a primary that was lost then; `None`: never.
    pub(super) fn fails_over_at(&self, effect: Instant) -> Option<Duration> {
        let topology = &self.schedule.trial.planned.topology;
        let delay = topology.cluster.as_ref()?.failover?;
        self.schedule.measured(effect + delay)
    }

    /// Makes a replica the primary, and reports how far that is; the others follow it.
    pub(super) fn fail_over(
        &self,
        context: &FaultContext<'_>,
        record: &mut FaultRecord,
    ) -> Result<(), Failure> {
        let cluster = context.cluster();
        let _roles = cluster.lock_roles();
        let lost = cluster.primary().number;
        let is_away = |node| node == lost || self.instance.faults.hits(node);
        let mut promotion = Promotion {
            node: None,
            asked_s: self.schedule.seconds(Instant::now()),
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
            Ok(()) => promotion.done_s = Some(self.schedule.seconds(Instant::now())),
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

/// The index of the member that has most of what the primary wrote. Members for which `is_away`
/// holds, by their numbers, are not asked.
fn successor(cluster: &Cluster, is_away: impl Fn(u32) -> bool) -> Result<usize, Failure> {
    let lost = cluster.primary_index();
    let members = cluster.members().iter().enumerate();
    let rest = members.filter(|(index, member)| *index != lost && !is_away(member.number));
    let received = rest.filter_map(|(index, member)| {
        let received = member.lock().ok()?.received().ok()?;
        Some((received, Reverse(index)))
    });
    let Some((_, Reverse(successor))) = received.max() else {
        let message = "no replica is left that could become the primary";
        return Err(Failure::server(message));
    };
    Ok(successor)
}

pub(super) fn promote(cluster: &Cluster, successor: usize) -> Result<(), Failure> {
    cluster.members()[successor].lock()?.promote()?;
    cluster.set_primary(successor);
    Ok(())
}

/// Has the others follow the primary, except those for which `is_away` holds.
pub(super) fn follow(cluster: &Cluster, is_away: impl Fn(u32) -> bool) -> Result<(), Failure> {
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

/// How long the new primary may take to receive what the old one wrote, and how often it is asked.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How often to check whether there is a group to join.
const GROUP_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct SwitchedOver {
    pub(super) refuses_at: Instant,
    /// The index of the old primary if it was shut down.
    pub(super) shut_down: Option<usize>,
}

/// The context's node takes over.
pub(super) fn switch_over(context: &FaultContext<'_>) -> Result<SwitchedOver, Failure> {
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
        return Ok(SwitchedOver {
            refuses_at: Instant::now(),
            shut_down: None,
        });
    }
    // A member that does not replicate, such as one whose data has diverged, stays as it is.
    let does_not_replicate = |member: &&Member| role_of(cluster, member) == Some(Role::Detached);
    let left_behind = cluster.members().iter().filter(does_not_replicate);
    let left_behind: Vec<u32> = left_behind.map(|member| member.number).collect();
    if left_behind.contains(&to.number) {
        let message = format!("server {} does not replicate from the primary", to.number);
        return Err(Failure::server(message));
    }
    let (refuses_at, is_down) = demote(old, to, context)?;
    let is_away = |number| {
        (is_down && number == old.number)
            || left_behind.contains(&number)
            || context.instance.faults.hits(number)
    };
    promote(cluster, index)?;
    follow(cluster, is_away)?;
    // The next switchover needs replicas.
    let others = cluster.members().iter().enumerate();
    let others = others.filter(|(other, one)| *other != index && !is_away(one.number));
    let replicate = others.map(|(index, _)| context.of(index, false).wait_until_it_replicates());
    match replicate.collect::<Result<(), _>>() {
        Err(error) if !error.is_interrupted() => Err(error),
        _ => Ok(SwitchedOver {
            refuses_at,
            shut_down: is_down.then_some(from),
        }),
    }
}

/// Has the old primary refuse writes, and waits until the new one has all of them; returns when
/// it refused, and whether it was shut down for that.
fn demote(
    old: &Member,
    new: &Member,
    context: &FaultContext<'_>,
) -> Result<(Instant, bool), Failure> {
    let mut node = old.lock()?;
    if !node.demote()? {
        // It sends everything to its replicas before it ends.
        return Ok((node.shut_down(context.over)?, true));
    }
    let refuses_at = Instant::now();
    let written = node.received()?;
    let deadline = refuses_at + CATCH_UP_LIMIT;
    while new.lock()?.received()? < written {
        if context.over.load(Ordering::Relaxed) {
            return Err(canceled());
        }
        if Instant::now() > deadline {
            return Err(new.lock()?.does_not_replicate(CATCH_UP_LIMIT));
        }
        sleep(POLL_INTERVAL);
    }
    Ok((refuses_at, false))
}

/// The right to start or to join a group; no other node of the cluster has it at the same time.
pub(super) struct Turn<'a> {
    /// Whether the node, which does not run, is to begin the group as it starts.
    pub(super) begins: bool,
    _guard: Option<MutexGuard<'a, ()>>,
}

/// Waits until there is a group that accepts commits, which the context's node can join. If a group
/// has lost its quorum, the member with most of what was agreed on begins it anew, and the others
/// join it, one after the other.
pub(super) fn wait_for_group<'a>(context: &FaultContext<'a>) -> Result<Turn<'a>, Failure> {
    let cluster = context.cluster();
    let kind = cluster.replication();
    if kind.is_none_or(|kind| kind.traits().bootstrap.is_none()) {
        return Ok(Turn {
            begins: false,
            _guard: None,
        });
    }
    loop {
        let guard = cluster.lock_roles();
        if context.over.load(Ordering::Relaxed) {
            return Err(canceled());
        }
        if let Some(begins) = begins(context, cluster)? {
            return Ok(Turn {
                begins,
                _guard: Some(guard),
            });
        }
        drop(guard);
        sleep(GROUP_INTERVAL);
    }
}

/// Whether the context's node begins a group or joins one; `None` while other members are not back
/// yet or it is the turn of one of them. Only members that are back can be compared, so dyno waits
/// for all that will be healed. One that stays away is given up, with what only it had.
fn begins(context: &FaultContext<'_>, cluster: &Cluster) -> Result<Option<bool>, Failure> {
    let healing = |member: &Member| context.instance.faults.healing(member.number);
    let mut there = Vec::new();
    for (index, member) in cluster.members().iter().enumerate() {
        if healing(member) == Healing::Now {
            there.push((index, member));
        }
    }
    match Group::of(there.iter().map(|(_, member)| *member)) {
        Group::Lasts => return Ok(Some(false)),
        Group::Dies => return Ok(None),
        Group::Lost => {}
    }
    let mut members = cluster.members().iter();
    if members.any(|member| healing(member) == Healing::Later) {
        return Ok(None);
    }
    let positions = there.into_iter();
    let positions = positions.map(|(index, one)| Some((position(one, context)?, Reverse(index))));
    let positions: Option<Vec<_>> = positions.collect();
    let Some((_, Reverse(first))) = positions.and_then(|all| all.into_iter().max()) else {
        return Ok(None);
    };
    match cluster.members()[first].try_lock() {
        Some(node) if node.is_running() => node.begin_group().map(|()| Some(false)),
        Some(_) if context.index == Some(first) => Ok(Some(true)),
        _ => Ok(None),
    }
}

/// What is left of a group.
enum Group {
    /// A majority of its members.
    Lasts,
    /// Less, which those that are left have not noticed yet.
    Dies,
    /// Nothing that accepts commits.
    Lost,
}

impl Group {
    /// The group of the members that can be asked. One to which something happens just now is taken
    /// for a part of it.
    fn of<'a>(members: impl Iterator<Item = &'a Member>) -> Self {
        let (mut present, mut size) = (0, None);
        for member in members {
            match member.try_lock() {
                None => present += 1,
                Some(node) => {
                    let seen = node.group_size().ok().flatten();
                    present += u32::from(seen.is_some());
                    size = size.max(seen);
                }
            }
        }
        match size {
            Some(size) if 2 * present > size => Self::Lasts,
            Some(_) => Self::Dies,
            None => Self::Lost,
        }
    }
}

/// How much a member has of what the group agreed on; `None` if it cannot be asked yet.
fn position(member: &Member, context: &FaultContext<'_>) -> Option<u64> {
    let mut node = member.try_lock()?;
    node.position(context.over).ok().flatten()
}
