//! Who else takes part in private clusters, or tried to.

use measure::warning::Warning;

use crate::rig::Rig;

/// Warns about foreign servers and logins that the running servers see or have refused.
pub(crate) fn find(rig: &Rig) -> Option<Warning> {
    let clusters = rig.instances.iter().filter_map(|one| one.cluster.as_ref());
    let members = clusters.flat_map(|cluster| cluster.members());
    let seen: Vec<String> = members
        .flat_map(|member| {
            let seen = member.lock().strangers().into_iter();
            seen.map(|what| format!("server {}: {what}", member.number))
        })
        .collect();
    (!seen.is_empty()).then_some(Warning::Strangers { seen })
}
