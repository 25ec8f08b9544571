//! Whether enough members are left for a commit to be accepted.

use plan::FaultKind;

use super::disturbance::Hit;
use crate::cluster::Cluster;

/// Says that too few members of a cluster are left; `None` if there are enough.
pub(super) fn lost(cluster: &Cluster, hits: &[Hit]) -> Option<String> {
    let replication = cluster.replication()?;
    let is_group = replication.elects() || replication.has_many_primaries();
    let count = |is: &dyn Fn(FaultKind) -> bool| {
        let hit = |number| {
            hits.iter()
                .any(|hit| hit.node == Some(number) && is(hit.kind))
        };
        let members = cluster.members().iter();
        members.filter(|member| hit(member.number)).count()
    };
    // A member that is shut down leaves its group, which then is smaller.
    let left = match is_group {
        true => count(&|kind| kind == FaultKind::Stop),
        false => 0,
    };
    let size = cluster.members().len().saturating_sub(left);
    let away = count(&|kind| is_away(kind)).saturating_sub(left);
    let needed = replication
        .quorum()
        .of(u32::try_from(size).unwrap_or(u32::MAX));
    let connected = size.saturating_sub(away);
    (u32::try_from(connected).unwrap_or(u32::MAX) < needed).then(|| {
        format!(
            "quorum lost: {connected} of {size} members are connected, and a commit needs {needed}"
        )
    })
}

/// Whether the other members do not reach one that is hit by such a fault.
fn is_away(kind: FaultKind) -> bool {
    match kind {
        FaultKind::Kill
        | FaultKind::Stop
        | FaultKind::Restart
        | FaultKind::Pause
        | FaultKind::Partition
        | FaultKind::FailHost
        | FaultKind::CutPower
        | FaultKind::Drop => true,
        FaultKind::SlowLink
        | FaultKind::CutClients
        | FaultKind::FillDisk
        | FaultKind::FailDevice
        | FaultKind::SlowDevice
        | FaultKind::ReplaceDevice
        | FaultKind::Scrub
        | FaultKind::Switchover
        | FaultKind::Command => false,
    }
}
