//! Which member becomes the primary where members elect none: dyno is the administrator.

use std::cmp::Reverse;

use crate::cluster::{Cluster, Member};
use crate::failure::Failure;

/// The index of the member that has most of what the primary wrote. Members for which `is_away`
/// holds, by their numbers, are not asked.
pub(super) fn successor(
    cluster: &Cluster,
    is_away: impl Fn(u32) -> bool,
) -> Result<usize, Failure> {
    let lost = cluster.primary_index();
    let members = cluster.members().iter().enumerate();
    let rest = members.filter(|(index, member)| *index != lost && !is_away(member.number));
    let received = rest.filter_map(|(index, member)| {
        let received = member.lock().received().ok()?;
        Some((received, Reverse(index)))
    });
    let Some((_, Reverse(successor))) = received.max() else {
        let message = "no replica is left that could become the primary";
        return Err(Failure::server(message));
    };
    Ok(successor)
}

/// Makes a member the primary.
pub(super) fn promote(cluster: &Cluster, successor: usize) -> Result<(), Failure> {
    cluster.members()[successor].lock().promote()?;
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
        .map(|(_, member): (usize, &Member)| member.lock().follow(number))
        .collect();
    followed.into_iter().collect()
}
