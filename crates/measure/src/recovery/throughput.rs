//! How throughput fell and returned.

use super::{Counts, Window};
use crate::change_point;
use crate::fault::Recovery;
use crate::interval::{Estimate, Part, estimate, ratio};

/// The share of the throughput before at which it counts as back.
const BACK: f64 = 0.95;
/// For how long it must be back.
const SUSTAINED_S: f64 = 1.0;
/// It begins to be back where at least half of it is there within this time.
const ONSET_S: f64 = 0.1;
const ONSET: f64 = 0.5;
/// How soon after a fault throughput falls, unless healing is asked for later.
const FALLS_WITHIN_S: f64 = 10.0;
/// A lower share of the throughput before is an effect of the fault, whatever was usual.
const SURELY_LOW: f64 = 0.5;
/// From a shorter time between two faults, no throughput is taken.
const SHORTEST_BEFORE_S: f64 = 3.0;

/// The throughput before a fault.
#[derive(Debug)]
pub(super) struct Throughput {
    /// Since when it was undisturbed; `None` if it has not recovered since the last fault.
    since_s: Option<f64>,
    /// That before the last fault, and its lowest second as a share of it.
    last: Option<(Estimate, f64)>,
}

impl Throughput {
    /// Before the first fault, from the beginning of the measurement.
    pub(super) fn first(since_s: f64) -> Self {
        Self {
            since_s: Some(since_s),
            last: None,
        }
    }

    /// What throughput shows of the recovery from the next fault.
    pub(super) fn recovery(&mut self, counts: &Counts, window: Window) -> Recovery {
        self.update(counts, window.asked_s);
        let outage_s = counts.longest_gap_s(window.asked_s, window.end_s);
        let Some((before, usual_low)) = self.last.filter(|(before, _)| before.value > 0.0) else {
            self.since_s = None;
            return Recovery {
                outage_s,
                ..Recovery::default()
            };
        };
        let after = |at_s: f64| at_s - window.effect_s;
        let dip = Dip::find(counts, window, before.value);
        let back_s = dip.as_ref().and_then(|dip| match dip.share {
            // As before the fault, which stalls of the host may have disturbed as well.
            share if share >= usual_low.max(SURELY_LOW) * BACK => Some(window.effect_s),
            _ => back_s(counts, dip.at_s, window.end_s, before.value * BACK),
        });
        self.since_s = back_s;
        let recovered_s = back_s.unwrap_or(window.end_s);
        let missing =
            before.value * after(recovered_s) - counts.between(window.effect_s, recovered_s);
        Recovery {
            back_s: back_s.map(after),
            steady_s: steady_s(counts, window).map(after),
            outage_s,
            lowest_share: dip.map(|dip| dip.share),
            lost_transactions: Some(missing.max(0.0)),
            before: Some(before),
            during: during(counts, window.effect_s, recovered_s),
            after: back_s.and_then(|at_s| estimate(&counts.seconds(at_s, window.end_s))),
            ..Recovery::default()
        }
    }

    /// Takes the seconds between the last recovery and this fault, if they are enough.
    fn update(&mut self, counts: &Counts, asked_s: f64) {
        let Some(since_s) = self.since_s else { return };
        if self.last.is_some() && asked_s - since_s < SHORTEST_BEFORE_S {
            return;
        }
        let found = estimate(&counts.seconds(since_s, asked_s));
        self.last = found.map(|before| {
            let lowest = Dip::between(counts, since_s, asked_s - SUSTAINED_S, before.value);
            (before, lowest.map_or(1.0, |lowest| lowest.share))
        });
    }
}

/// The lowest second.
struct Dip {
    at_s: f64,
    /// Its share of the throughput before.
    share: f64,
}

impl Dip {
    /// After a fault.
    fn find(counts: &Counts, window: Window, before: f64) -> Option<Self> {
        let latest_s = window.heal_s.max(window.effect_s + FALLS_WITHIN_S);
        let latest_s = latest_s.min(window.end_s - SUSTAINED_S);
        Self::between(counts, window.effect_s, latest_s, before)
    }

    /// The lowest second that begins between two times.
    fn between(counts: &Counts, from_s: f64, to_s: f64, before: f64) -> Option<Self> {
        let dips = counts.within(from_s, to_s).iter().map(|count| Self {
            at_s: count.t_s,
            share: counts.per_s(count.t_s, count.t_s + SUSTAINED_S) / before,
        });
        dips.min_by(|one, other| one.share.total_cmp(&other.share))
    }
}

/// When throughput reached a level that it kept for a second, from a time on.
fn back_s(counts: &Counts, from_s: f64, end_s: f64, level: f64) -> Option<f64> {
    let starts = counts.within(from_s, end_s - SUSTAINED_S).iter();
    let mut starts = starts.map(|count| count.t_s);
    let begun_s = starts.find(|at_s| {
        counts.per_s(*at_s, at_s + SUSTAINED_S) >= level
            && counts.per_s(*at_s, at_s + ONSET_S) >= level * ONSET
    })?;
    let rest = counts.within(begun_s, end_s);
    let still = rest.iter().take_while(|count| count.total == rest[0].total);
    still.last().map(|count| count.t_s)
}

/// When throughput reached the level of the seconds after the last change point.
fn steady_s(counts: &Counts, window: Window) -> Option<f64> {
    let seconds = counts.seconds(window.effect_s, window.end_s);
    let per_s: Vec<f64> = seconds.iter().map(|second| second.total).collect();
    let changes = change_point::in_seconds(&per_s);
    let begin = changes.last().map_or(0, |change| change.at);
    let mut last = per_s.get(begin..)?.to_vec();
    if last.len() < change_point::SECONDS.shortest {
        return None;
    }
    last.sort_by(f64::total_cmp);
    let level = last[last.len() / 2];
    let from_s = window.effect_s + begin as f64;
    let found = back_s(counts, from_s, window.end_s, level * BACK);
    found.filter(|_| level > 0.0)
}

/// Throughput while it recovered, whatever the length of that.
fn during(counts: &Counts, from_s: f64, to_s: f64) -> Option<Estimate> {
    let seconds = counts.seconds(from_s, to_s);
    match seconds.is_empty() {
        true => ratio(&[Part {
            total: counts.between(from_s, to_s),
            weight: to_s - from_s,
        }])
        .map(Estimate::exact),
        false => estimate(&seconds),
    }
}
