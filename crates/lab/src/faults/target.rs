//! Which node a fault hits: roles are looked up when it is injected.

use std::thread;

use engine::replication::Role;
use plan::{FaultTarget, SplitMix64};

use crate::failure::Failure;
use crate::observe::probe::view_of;
use crate::setup::cluster::{Cluster, Member};
use crate::setup::instance::Instance;
use crate::setup::rig::Rig;

/// The instances that have the target, with their numbers.
pub(super) fn instances(target: FaultTarget, rig: &Rig) -> impl Iterator<Item = (u32, &Instance)> {
    let has = move |(_, instance): &(u32, &Instance)| match target {
        FaultTarget::Server(server) => {
            let mut members = instance.cluster.members().iter();
            members.any(|member| member.number == server)
        }
        _ => true,
    };
    (1..).zip(&rig.instances).filter(has)
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
    let states = match target {
        FaultTarget::Primary | FaultTarget::Replica => states(cluster),
        FaultTarget::Any(_)
        | FaultTarget::Server(_)
        | FaultTarget::Coordinator
        | FaultTarget::All => Vec::new(),
    };
    let has = |index: usize, role: &dyn Fn(Option<Role>) -> bool| {
        states.get(index).is_some_and(|state| role(*state))
    };
    let mut all = 0..members.len();
    let found = match target {
        FaultTarget::Coordinator => Some(members.len()),
        FaultTarget::Server(number) => members.iter().position(|member| member.number == number),
        FaultTarget::Primary => {
            let mut expected_first = std::iter::once(primary).chain(all);
            expected_first.find(|index| has(*index, &|role| role == Some(Role::Primary)))
        }
        // With many primaries, those are replicas that the load does not write to.
        FaultTarget::Replica => all.find(|index| {
            *index != primary
                && !chosen.contains(index)
                && has(*index, &|role| is_replica(cluster, role))
        }),
        FaultTarget::All => None,
        FaultTarget::Any(seed) => {
            let drawn = SplitMix64::new(seed).below(members.len());
            let mut from_drawn = (drawn..members.len()).chain(0..drawn);
            from_drawn.find(|index| members.get(*index).is_some_and(|one| !is_hit(one.number)))
        }
    };
    found.ok_or_else(|| {
        let role = match target {
            FaultTarget::Primary => "the primary",
            FaultTarget::Replica => "a replica",
            FaultTarget::Any(_) => "without a fault",
            FaultTarget::Server(_) => "that server",
            FaultTarget::Coordinator => "the coordinator",
            FaultTarget::All => "all of them",
        };
        Failure::server(format!("no member of the cluster is {role} now"))
    })
}

fn is_replica(cluster: &Cluster, state: Option<Role>) -> bool {
    match state {
        Some(Role::Replica) => true,
        Some(Role::Primary) => cluster.has_many_primaries(),
        Some(Role::Detached) | None => false,
    }
}

/// The roles of all members, who are asked at the same time: each that hangs is waited for.
fn states(cluster: &Cluster) -> Vec<Option<Role>> {
    thread::scope(|scope| {
        let ask = |member| scope.spawn(move || state(cluster, member));
        let asked: Vec<_> = cluster.members().iter().map(ask).collect();
        let answers = asked.into_iter().map(|asked| asked.join().ok().flatten());
        answers.collect()
    })
}

/// A member's role, as it says itself; `None` if it does not answer.
pub(super) fn state(cluster: &Cluster, member: &Member) -> Option<Role> {
    if !cluster.is_replicated() {
        // A single server is its own primary, whether it answers or not.
        return Some(Role::Primary);
    }
    Some(view_of(cluster, member).ok()?.state)
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
