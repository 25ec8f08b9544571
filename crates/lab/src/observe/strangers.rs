//! Who else takes part in private clusters, or tried to.

use measure::warning::Warning;

use crate::setup::rig::Rig;

/// Warns about foreign servers and logins that the running servers see or have refused.
pub(crate) fn find(rig: &Rig) -> Option<Warning> {
    let nodes = rig.members().filter_map(|member| member.lock().ok());
    let seen: Vec<String> = nodes
        .flat_map(|node| {
            let (number, seen) = (node.number(), node.strangers());
            let words = move |what| format!("server {number}: {what}");
            seen.into_iter().map(words)
        })
        .collect();
    (!seen.is_empty()).then_some(Warning::Strangers { seen })
}
