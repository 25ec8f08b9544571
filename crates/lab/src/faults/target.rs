//! Which node a fault hits: roles are looked up when it strikes.

use engine::replication::MemberState;
use plan::{FaultTarget, SplitMix64};

use crate::cluster::{Cluster, Member};
use crate::error::LabError;
use crate::instance::Instance;
use crate::member_probe::MemberProbe;
use crate::rig::Rig;

/// The instances that have the target, with their numbers.
pub(super) fn instances(target: FaultTarget, rig: &Rig) -> impl Iterator<Item = (u32, &Instance)> {
    let has = move |(number, instance): &(u32, &Instance)| match (target, &instance.cluster) {
        (FaultTarget::Server(server), Some(cluster)) => cluster
            .members()
            .iter()
            .any(|member| member.number == server),
        (FaultTarget::Server(server), None) => server == *number,
        _ => true,
    };
    (1..).zip(&rig.instances).filter(has)
}

/// The member that is the target now.
///
/// # Errors
/// When no member has the role.
pub(super) fn find(
    target: FaultTarget,
    cluster: &Cluster,
    is_hit: impl Fn(u32) -> bool,
) -> Result<&Member, LabError> {
    let members = cluster.members();
    let found = match target {
        FaultTarget::Server(number) => members.iter().find(|member| member.number == number),
        FaultTarget::Primary => {
            let expected = cluster.primary().into_iter();
            let mut candidates = expected.chain(members);
            candidates.find(|member| state(cluster, member) == Some(MemberState::Primary))
        }
        FaultTarget::Replica => {
            // With many primaries, those are replicas that the load does not write to.
            let others = members.iter().zip(0..);
            let others = others.filter(|(_, index)| *index != cluster.primary_index());
            let mut others = others.map(|(member, _)| member);
            others.find(|member| is_replica(cluster, state(cluster, member)))
        }
        FaultTarget::Any(seed) => {
            let drawn = SplitMix64::new(seed).below(members.len());
            let mut from_drawn = members.iter().cycle().skip(drawn).take(members.len());
            from_drawn.find(|member| !is_hit(member.number))
        }
    };
    found.ok_or_else(|| {
        let role = match target {
            FaultTarget::Primary => "the primary",
            FaultTarget::Replica => "a replica",
            FaultTarget::Any(_) => "without a fault",
            FaultTarget::Server(_) => "that server",
        };
        LabError::Impossible(format!("no member of the cluster is {role} now"))
    })
}

fn is_replica(cluster: &Cluster, state: Option<MemberState>) -> bool {
    let many = cluster
        .replication()
        .is_some_and(|kind| kind.has_many_primaries());
    match state {
        Some(MemberState::Replica) => true,
        Some(MemberState::Primary) => many,
        Some(MemberState::Detached) | None => false,
    }
}

/// A member's role, as it says itself; `None` if it does not answer.
fn state(cluster: &Cluster, member: &Member) -> Option<MemberState> {
    let database = member.database.clone();
    // A single server is its own primary, whether it answers or not.
    let mut probe = MemberProbe::new(database, cluster.replication(), member.number);
    Some(probe.view().ok()?.state)
}
