//! When members accepted writes, as probes show it.

use std::collections::BTreeMap;

use super::probe::Probe;
use super::{Observation, Window};

/// How long a killed server may continue, because some of its processes notice it late.
const DYING_S: f64 = 0.2;

/// From the first to the last of consecutive writes that a member accepted.
#[derive(Debug, Clone, Copy)]
struct Span {
    begin_s: f64,
    end_s: f64,
}

/// When any member accepted the first write that was sent after the effect. Writes to the affected
/// member count only if it was not about to end. If work was refused before the effect, as in a
/// planned shutdown, the first write after that. `None` if no write was ever accepted.
pub(super) fn first(probes: &[Probe], hit: Option<u32>, window: Window) -> Option<Observation> {
    let spans = all(probes);
    let is_planned = window.origin_s < window.effect_s;
    let refused = gaps(&spans, window).next();
    let refused = refused.filter(|gap| is_planned && gap.begin_s < window.effect_s);
    let out = probes.iter().filter(|probe| Some(probe.server) == hit);
    let out = out.filter(|probe| !probe.is_in_service());
    let out_s: Vec<f64> = out.map(|probe| probe.asked_s).collect();
    let is_last_gasp = |server: u32, answered_s: f64| {
        let dying_s = answered_s..answered_s + DYING_S;
        Some(server) == hit && out_s.iter().any(|at_s| dying_s.contains(at_s))
    };
    let writes = probes
        .iter()
        .filter_map(|probe| Some((probe.server, probe.write?)));
    let accepted = writes.filter(|(server, write)| {
        let is_later = write.sent_s >= window.effect_s;
        write.is_accepted && is_later && !is_last_gasp(*server, write.answered_s)
    });
    let times = accepted.map(|(_, write)| write.answered_s);
    let times = times.chain(refused.map(|gap| gap.end_s));
    let first = times
        .filter(|answered_s| *answered_s < window.end_s)
        .min_by(f64::total_cmp);
    match first {
        Some(first_s) => Some(Observation::Exactly(first_s)),
        None => has_accepted(&spans, window).then_some(Observation::Longer(window.end_s)),
    }
}

/// The lengths of the periods in which no member accepted a write; `None` if no write was ever
/// accepted before.
pub(super) fn unavailable_s(probes: &[Probe], window: Window) -> Option<Vec<f64>> {
    let spans = all(probes);
    if !has_accepted(&spans, window) {
        return None;
    }
    // Nothing is known after the last probe.
    let known_s = probes.iter().map(Probe::end_s).fold(0.0, f64::max);
    let window = Window {
        end_s: window.end_s.min(known_s),
        ..window
    };
    let lengths_s = gaps(&spans, window).map(|gap| gap.end_s - gap.begin_s);
    Some(lengths_s.collect())
}

/// Total time in which at least two members accepted writes; `None` with fewer than two members.
pub(super) fn two_primaries_s(probes: &[Probe], window: Window) -> Option<f64> {
    let members = by_member(probes);
    if members.len() < 2 {
        return None;
    }
    // Changes of the number of members that accept writes; at equal times, ends come before begins.
    let mut steps: Vec<(f64, i32)> = Vec::new();
    for span in members.into_values().flatten() {
        let begin_s = span.begin_s.max(window.asked_s);
        let end_s = span.end_s.min(window.end_s);
        if begin_s < end_s {
            steps.extend([(begin_s, 1), (end_s, -1)]);
        }
    }
    steps.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let (mut total_s, mut accepting) = (0.0, 0);
    for pair in steps.windows(2) {
        accepting += pair[0].1;
        if accepting > 1 {
            total_s += pair[1].0 - pair[0].0;
        }
    }
    Some(total_s)
}

/// Whether a write was accepted before a fault.
fn has_accepted(spans: &[Span], window: Window) -> bool {
    spans.iter().any(|span| span.begin_s <= window.asked_s)
}

/// The times in a window that no span covers.
fn gaps(spans: &[Span], window: Window) -> impl Iterator<Item = Span> {
    let later = spans.iter().filter(move |span| span.end_s > window.asked_s);
    // An empty span after the last one.
    let end = Span {
        begin_s: window.end_s,
        end_s: window.end_s,
    };
    let later = later.copied().chain([end]);
    let gap = move |covered_s: &mut f64, span: Span| {
        let gap = Span {
            begin_s: *covered_s,
            end_s: span.begin_s.min(window.end_s),
        };
        *covered_s = covered_s.max(span.end_s);
        Some(gap)
    };
    let gaps = later.scan(window.asked_s, gap);
    gaps.filter(|gap| gap.begin_s < gap.end_s)
}

/// The spans of all members, in order of time.
fn all(probes: &[Probe]) -> Vec<Span> {
    let mut spans: Vec<Span> = by_member(probes).into_values().flatten().collect();
    spans.sort_by(|one, other| one.begin_s.total_cmp(&other.begin_s));
    spans
}

fn by_member(probes: &[Probe]) -> BTreeMap<u32, Vec<Span>> {
    let mut members: BTreeMap<u32, Vec<&Probe>> = BTreeMap::new();
    for probe in probes {
        members.entry(probe.server).or_default().push(probe);
    }
    let spans = members.into_iter().map(|(server, probes)| {
        let runs =
            probes.chunk_by(|one, next| accepted_s(one).is_some() && accepted_s(next).is_some());
        let spans = runs.filter_map(|run| {
            Some(Span {
                begin_s: accepted_s(run.first()?)?,
                end_s: accepted_s(run.last()?)?,
            })
        });
        (server, spans.collect())
    });
    spans.collect()
}

/// When a member accepted a probe's write.
fn accepted_s(probe: &Probe) -> Option<f64> {
    let write = probe.write.filter(|write| write.is_accepted)?;
    Some(write.answered_s)
}
