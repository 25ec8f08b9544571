//! Checks that faults can happen in the trials of a study.

use std::time::Duration;

use crate::content::{Base, Content, TypedFault};
use crate::error::{Diagnostic, Diagnostics};
use plan::{FaultTarget, FromValue, Limited, Spanned, Value, format_duration};

pub(crate) fn check(content: &Content, diagnostics: &mut Diagnostics) {
    let search = Limited::KEYS
        .iter()
        .find_map(|(name, _)| content.place(name));
    if let (Some(search), Some(fault)) = (search, content.faults.first()) {
        let message = "a search for the highest rate cannot have faults";
        let diagnostic = Diagnostic::new(message, "remove the faults or the search");
        return diagnostics.add(fault.kind, diagnostic.also(search));
    }
    for base in content.bases() {
        let shortest =
            least::<Duration>(content, &base, "load.time").filter(|time| !time.value.is_zero());
        let servers = servers(content, &base);
        for fault in &content.faults {
            if let Some(time) = &shortest {
                within(fault, time, diagnostics);
            }
            if let Some(servers) = &servers {
                has_target(fault, servers, diagnostics);
            }
        }
    }
}

/// A fault begins, and is healed, during the measurement.
fn within(typed: &TypedFault, time: &Spanned<Duration>, diagnostics: &mut Diagnostics) {
    let fault = &typed.fault;
    let lasts = format!(
        "but the measurement lasts only {}",
        format_duration(time.value)
    );
    if fault.at >= time.value {
        let message = format!("this fault is at {}, {lasts}", format_duration(fault.at));
        let help = "`at` counts from the start of the measurement: use an earlier `at` or a longer `load.time`";
        diagnostics.add(typed.at, Diagnostic::new(message, help).also(time.span));
    } else if let Some(healed) = fault.healed_at().filter(|healed| *healed >= time.value) {
        let message = format!(
            "this fault is healed at {}, {lasts}",
            format_duration(healed)
        );
        let help = "use a shorter `heal`, a longer `load.time`, or heal = \"never\"; the default is 10 s after `at`";
        let place = typed.heal.unwrap_or(typed.kind);
        diagnostics.add(place, Diagnostic::new(message, help).also(time.span));
    }
}

fn has_target(typed: &TypedFault, servers: &Spanned<u32>, diagnostics: &mut Diagnostics) {
    if let FaultTarget::Server(number) = typed.fault.target
        && number > servers.value
    {
        let message = format!(
            "there is no server {number}: the trial has {}",
            servers.value
        );
        let help =
            "servers are numbered from 1: those of the first instance or cluster, then the next";
        diagnostics.add(
            typed.target,
            Diagnostic::new(message, help).also(servers.span),
        );
    }
}

/// The least number of servers in the trials of a base.
fn servers(content: &Content, base: &Base<'_>) -> Option<Spanned<u32>> {
    let instances = least::<u32>(content, base, "topology.instances");
    let members = match content.values_in(base, "topology.cluster").is_empty() {
        true => None,
        false => least::<u32>(content, base, "topology.members"),
    };
    let servers = [instances, members].into_iter().flatten();
    servers.reduce(|one, other| Spanned {
        value: one.value.saturating_mul(other.value),
        span: other.span,
    })
}

/// The least value of a key in the trials of a base, or its default.
pub(crate) fn least<T: FromValue + Ord>(
    content: &Content,
    base: &Base<'_>,
    name: &str,
) -> Option<Spanned<T>> {
    let read = |typed: &Spanned<Value>| {
        let value = T::from_value(&typed.value)?;
        let span = typed.span;
        Some(Spanned { value, span })
    };
    let typed = content.values_in(base, name);
    let least = typed.into_iter().filter_map(read);
    let least = least.min_by(|one, other| one.value.cmp(&other.value));
    least.or_else(|| read(&crate::point::default(name)?))
}
