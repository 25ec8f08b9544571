//! What dyno does as the operator of a group that has lost its quorum: the member with most of what was
//! agreed on begins the group anew, and the others join it, one after the other.
//!
//! Only members that are back can be compared, so dyno waits for all that will be healed. One that
//! stays away is given up, with what only it had.

use std::cmp::Reverse;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use super::active::Healing;
use super::context::FaultContext;
use crate::failure::{Failure, canceled};
use crate::setup::cluster::{Cluster, Member};

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What a node that returns has to do.
enum Next {
    /// There is a group to join.
    Join,
    /// It has most, and begins the group as it starts.
    Begin,
    /// Other members are not back yet, or it is the turn of one of them.
    Wait,
}

/// The right to start or to join; no other node of the cluster has it at the same time.
pub(super) struct Turn<'a> {
    /// Whether the node, which does not run, is to begin the group as it starts.
    pub(super) begins: bool,
    _guard: Option<MutexGuard<'a, ()>>,
}

/// Waits until there is a group that accepts commits, which the context's node can join; has a member
/// that runs begin one if there is none.
pub(super) fn wait<'a>(context: &FaultContext<'a>) -> Result<Turn<'a>, Failure> {
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
        let next = next(context, cluster)?;
        if !matches!(next, Next::Wait) {
            return Ok(Turn {
                begins: matches!(next, Next::Begin),
                _guard: Some(guard),
            });
        }
        drop(guard);
        sleep(POLL_INTERVAL);
    }
}

fn next(context: &FaultContext<'_>, cluster: &Cluster) -> Result<Next, Failure> {
    let healing = |member: &Member| context.instance.faults.healing(member.number);
    let members = cluster.members().iter().enumerate();
    let there = members
        .clone()
        .filter(|(_, member)| healing(member) == Healing::Now);
    match Group::of(there.clone().map(|(_, member)| member)) {
        Group::Lasts => return Ok(Next::Join),
        Group::Dies => return Ok(Next::Wait),
        Group::Lost => {}
    }
    if members
        .clone()
        .any(|(_, one)| healing(one) == Healing::Later)
    {
        return Ok(Next::Wait);
    }
    let positions = there.map(|(index, one)| Some((position(one, context)?, Reverse(index))));
    let positions: Option<Vec<_>> = positions.collect();
    let Some((_, Reverse(first))) = positions.and_then(|all| all.into_iter().max()) else {
        return Ok(Next::Wait);
    };
    match cluster.members().get(first).and_then(Member::try_lock) {
        Some(node) if node.is_running() => node.begin_group().map(|()| Next::Join),
        Some(_) if context.index == Some(first) => Ok(Next::Begin),
        _ => Ok(Next::Wait),
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
