//! What dyno does as the operator of a group that has lost its quorum: the member with most of what was
//! agreed on begins the group anew, and the others join it.
//!
//! Only members that can be asked can be compared, so dyno waits for all that will be healed. One that
//! stays away is given up, with what only it had.

use std::cmp::Reverse;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use super::Scene;
use super::disturbance::Healing;
use crate::cluster::{Cluster, Member};
use crate::error::LabError;

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

/// Waits until there is a group that accepts commits, which the scene's node can join; has a member
/// that runs begin one if there is none. Returns a guard if the node itself, which does not run, is to
/// begin the group: nobody else does while it is held.
///
/// # Errors
/// When a member cannot begin a group; the end of the load.
pub(super) fn wait<'a>(scene: &Scene<'a>) -> Result<Option<MutexGuard<'a, ()>>, LabError> {
    let cluster = scene.cluster()?;
    let kind = cluster.replication();
    if kind.is_none_or(|kind| kind.bootstrap().is_none()) {
        return Ok(None);
    }
    loop {
        let guard = cluster.regroup();
        match next(scene, cluster)? {
            Next::Join => return Ok(None),
            Next::Begin => return Ok(Some(guard)),
            Next::Wait => drop(guard),
        }
        if scene.over.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        sleep(POLL_INTERVAL);
    }
}

fn next(scene: &Scene<'_>, cluster: &Cluster) -> Result<Next, LabError> {
    let healing = |member: &Member| scene.instance.disturbance.healing(member.number);
    let members = cluster.members().iter().enumerate();
    let there = members
        .clone()
        .filter(|(_, member)| healing(member) == Healing::Now);
    if there.clone().any(|(_, member)| has_quorum(member)) {
        return Ok(Next::Join);
    }
    if members
        .clone()
        .any(|(_, member)| healing(member) == Healing::Later)
    {
        return Ok(Next::Wait);
    }
    let positions = there.map(|(index, member)| Some((position(member, scene)?, Reverse(index))));
    let Some(Some((_, Reverse(first)))) = positions
        .collect::<Option<Vec<_>>>()
        .map(|all| all.into_iter().max())
    else {
        return Ok(Next::Wait);
    };
    let first_node = cluster.members().get(first).and_then(Member::try_lock);
    match first_node {
        Some(node) if node.is_running() => node.begin_group().map(|()| Next::Join),
        Some(_) if scene.index == Some(first) => Ok(Next::Begin),
        _ => Ok(Next::Wait),
    }
}

fn has_quorum(member: &Member) -> bool {
    let node = member.try_lock();
    node.is_some_and(|node| node.has_quorum().unwrap_or(false))
}

/// How much a member has of what the group agreed on; `None` if it cannot be asked yet.
fn position(member: &Member, scene: &Scene<'_>) -> Option<u64> {
    let mut node = member.try_lock()?;
    node.position(scene.over).ok().flatten()
}
