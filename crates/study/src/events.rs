//! Checks that events can happen in the trials of a study.

use std::time::Duration;

use crate::content::Content;
use crate::error::{Diagnostic, Diagnostics};
use crate::faults::least;
use plan::{Limited, Spanned, format_duration};

pub(crate) fn check(content: &Content, diagnostics: &mut Diagnostics) {
    let search = Limited::KEYS
        .iter()
        .find_map(|(name, _)| content.place(name));
    if let (Some(search), Some(event)) = (search, content.events.first()) {
        let message = "a search for the highest rate cannot have events";
        let diagnostic = Diagnostic::new(message, "remove the events or the search");
        return diagnostics.add(event.at.span, diagnostic.also(search));
    }
    for base in content.bases() {
        let shortest =
            least::<Duration>(content, &base, "load.time").filter(|time| !time.value.is_zero());
        let instances = least::<u32>(content, &base, "topology.instances");
        let members = match content.values_in(&base, "topology.cluster").is_empty() {
            true => None,
            false => least::<u32>(content, &base, "topology.members"),
        };
        let servers = [instances, members].into_iter().flatten();
        let servers = servers.reduce(|one, other| Spanned {
            value: one.value.saturating_mul(other.value),
            span: other.span,
        });
        for event in &content.events {
            if let Some(time) = shortest
                .as_ref()
                .filter(|time| event.at.value >= time.value)
            {
                let diagnostic = Diagnostic::new(
                    format!(
                        "this event is at {}, but the measurement lasts only {}",
                        format_duration(event.at.value),
                        format_duration(time.value)
                    ),
                    "`at` counts from the start of the measurement: use an earlier `at` or a longer `load.time`",
                );
                diagnostics.add(event.at.span, diagnostic.also(time.span));
            }
            if let Some(servers) = servers.as_ref().filter(|n| event.node.value > n.value) {
                let diagnostic = Diagnostic::new(
                    format!(
                        "there is no server {}: the trial has {}",
                        event.node.value, servers.value
                    ),
                    "servers are numbered from 1: those of the first instance or cluster, then the next",
                );
                diagnostics.add(event.node.span, diagnostic.also(servers.span));
            }
        }
    }
}
