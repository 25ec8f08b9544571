//! Waits until there is a group that a node can join, and bootstraps it again if it has lost its quorum.

use std::cmp::Reverse;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use super::active::Healing;
use super::context::FaultContext;
use crate::failure::unless_canceled;
use crate::{Failure, Member};

/// How often to check whether there is a group to join.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The right to start or to join a group; no other node of the cluster has it at the same time.
pub(super) struct Turn<'a> {
    /// Whether the node, which does not run, is to begin the group as it starts.
    pub(super) begins: bool,
    _guard: Option<MutexGuard<'a, ()>>,
}

impl<'a> FaultContext<'a> {
    /// Waits until there is a group that accepts commits, which the node can join. If a group has
    /// lost its quorum, the member with most of what was agreed on begins it anew, and the others
    /// join it, one after the other.
    pub(super) fn wait_for_group(&self) -> Result<Turn<'a>, Failure> {
        let cluster = self.cluster();
        let kind = cluster.replication;
        if kind.is_none_or(|kind| kind.traits().bootstrap.is_none()) {
            return Ok(Turn {
                begins: false,
                _guard: None,
            });
        }
        loop {
            let guard = cluster.lock_roles();
            unless_canceled(self.over)?;
            if let Some(begins) = self.begins()? {
                return Ok(Turn {
                    begins,
                    _guard: Some(guard),
                });
            }
            drop(guard);
            sleep(POLL_INTERVAL);
        }
    }

    /// Whether the node begins a group or joins one; `None` while other members are not back yet or
    /// it is the turn of one of them. Only members that are back can be compared, so dyno waits for
    /// all that will be healed. One that stays away is given up, with what only it had.
    fn begins(&self) -> Result<Option<bool>, Failure> {
        let members = self.cluster().members();
        let healing = |member: &Member| self.instance.faults.healing(member.number);
        let there = members.iter().enumerate();
        let there = there.filter(|&(_, member)| healing(member) == Healing::Now);
        let there: Vec<_> = there.collect();
        match Group::of(there.iter().map(|(_, member)| *member)) {
            Group::Lasts => return Ok(Some(false)),
            Group::Unclear => return Ok(None),
            Group::Lost => {}
        }
        let mut all = members.iter();
        if all.any(|member| healing(member) == Healing::Later) {
            return Ok(None);
        }
        let positions = there.into_iter();
        let positions =
            positions.map(|(index, one)| Some((position(one, self.over)?, Reverse(index))));
        let positions: Option<Vec<_>> = positions.collect();
        let Some((_, Reverse(first))) = positions.and_then(|all| all.into_iter().max()) else {
            return Ok(None);
        };
        match members[first].try_lock() {
            Some(mut node) => match node.is_running() {
                true => node.begin_group(self.over).map(|()| Some(false)),
                false => Ok((self.index == Some(first)).then_some(true)),
            },
            None => Ok(None),
        }
    }
}

/// What is left of a group.
enum Group {
    /// A majority of its members.
    Lasts,
    /// Less, which those that are left have not noticed yet, or nobody can be asked just now.
    Unclear,
    /// Nothing that accepts commits.
    Lost,
}

impl Group {
    /// The group of the members that can be asked. One to which something happens just now is taken
    /// for a part of it. A group is lost only if all members answer that they are in none.
    fn of<'a>(members: impl Iterator<Item = &'a Member>) -> Self {
        let (mut present, mut size, mut all_answer) = (0, None, true);
        for member in members {
            match member.try_lock().map(|mut node| node.group_size()) {
                Some(Ok(None)) => {}
                Some(Ok(seen)) => {
                    present += 1;
                    size = size.max(seen);
                }
                Some(Err(_)) => all_answer = false,
                None => {
                    present += 1;
                    all_answer = false;
                }
            }
        }
        match size {
            Some(size) if 2 * present > size => Self::Lasts,
            None if all_answer => Self::Lost,
            _ => Self::Unclear,
        }
    }
}

/// How much a member has of what the group agreed on; `None` if it cannot be asked yet.
fn position(member: &Member, over: &AtomicBool) -> Option<u64> {
    let mut node = member.try_lock()?;
    node.position(over).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_tests::found;

    /// Like one to which something happens, a member that dyno did not start cannot be asked.
    #[test]
    fn a_group_is_not_lost_because_nobody_can_be_asked() {
        let dir = tempfile::tempdir().unwrap();
        let cluster = found(&dir, 3);
        let group = Group::of(cluster.members().iter());
        assert!(matches!(group, Group::Unclear));
        assert!(matches!(Group::of([].into_iter()), Group::Lost));
    }
}
