//! Which member becomes the primary where members elect none: dyno is the administrator.

use std::cmp::Reverse;

use crate::cluster::{Cluster, Member};
use crate::error::LabError;

/// Makes the member that has most of what the primary wrote its successor. Members for which
/// `is_away` holds, by their numbers, are not asked.
///
/// # Errors
/// When no member can be asked; a member that cannot be promoted, or cannot follow the new primary.
pub(super) fn fail_over(cluster: &Cluster, is_away: impl Fn(u32) -> bool) -> Result<(), LabError> {
    let lost = cluster.primary_index();
    let members = cluster.members().iter().enumerate();
    let rest = members.filter(|(index, member)| *index != lost && !is_away(member.number));
    let received = rest.filter_map(|(index, member)| {
        let received = member.lock().received().ok()?;
        Some((received, Reverse(index)))
    });
    let Some((_, Reverse(successor))) = received.max() else {
        let message = "no replica is left that could become the primary";
        return Err(LabError::Impossible(message.to_owned()));
    };
    promote(cluster, successor, |number| {
        is_away(number) || cluster.members()[lost].number == number
    })
}

/// Makes a member the primary; the others follow it, except those for which `is_away` holds.
///
/// # Errors
/// When it cannot be promoted; the first member that cannot follow it, though the rest do.
pub(super) fn promote(
    cluster: &Cluster,
    successor: usize,
    is_away: impl Fn(u32) -> bool,
) -> Result<(), LabError> {
    let members = cluster.members();
    members[successor].lock().promote()?;
    cluster.set_primary(successor);
    let number = u32::try_from(successor + 1).unwrap_or(u32::MAX);
    let others = members.iter().enumerate();
    let others = others.filter(|(index, member)| *index != successor && !is_away(member.number));
    let followed: Vec<_> = others
        .map(|(_, member): (usize, &Member)| member.lock().follow(number))
        .collect();
    followed.into_iter().collect()
}
