//! How throughput fell and returned.

use super::{Counts, Observation, Observed, Window, response};
use crate::change_point;
use crate::fault::Recovery;
use crate::interval::{Estimate, estimate};

/// Throughput is back at this share of its previous value.
const BACK: f64 = 0.95;
/// Throughput begins to be back with a second in which it reaches that…
const SECOND_S: f64 = 1.0;
/// …provided that the first moments of that second reach at least half of it.
const ONSET_S: f64 = 0.1;
const ONSET: f64 = 0.5;
/// How long the mean must stay there, in seconds; half of that if healing follows.
const SUSTAINED_S: f64 = 10.0;
/// Throughput fell if its mean over one of these times did: a single second is often low.
const SCALES_S: [f64; 3] = [SECOND_S, 5.0, SUSTAINED_S];
/// Throughput falls within this time after a fault, unless healing is requested later.
const FALLS_WITHIN_S: f64 = 10.0;
/// A lower share of the previous throughput is an effect of the fault, whatever was usual.
const SURELY_LOW: f64 = 0.5;
/// Minimum time between two faults for a previous throughput.
const SHORTEST_BEFORE_S: f64 = 3.0;

#[derive(Debug)]
pub(super) struct Throughput {
    /// Since when throughput has been undisturbed; `None` if it has not recovered from the last
    /// fault.
    since_s: Option<f64>,
    last: Option<Before>,
}

/// An undisturbed time.
#[derive(Debug, Clone, Copy)]
struct Before {
    from_s: f64,
    to_s: f64,
    mean: Estimate,
    /// The lowest mean over each of [`SCALES_S`], as a share of the overall mean.
    usual_lows: [f64; 3],
    /// The usual deviation of a second from the mean, as a share of the mean.
    spread: f64,
}

impl Throughput {
    /// Before the first fault: undisturbed from the beginning of the measurement.
    pub(super) fn first(since_s: f64) -> Self {
        Self {
            since_s: Some(since_s),
            last: None,
        }
    }

    /// Adds what throughput and response times show of the recovery from the next fault.
    pub(super) fn recovery(
        &mut self,
        observed: &Observed,
        window: Window,
        probed: Recovery,
    ) -> Recovery {
        let counts = &observed.counts;
        self.update(counts, window.asked_s);
        let outage_s = counts.longest_gap_s(window.asked_s, window.end_s);
        let Some(before) = self.last.filter(|before| before.mean.value > 0.0) else {
            self.since_s = None;
            return Recovery { outage_s, ..probed };
        };
        let after = |at_s: f64| at_s - window.origin_s;
        let back_s = before.back_s(observed, window);
        let healed_back_s = back_s.and_then(|at_s| before.back_after_heal_s(counts, window, at_s));
        self.since_s = back_s;
        let recovered_s = back_s.unwrap_or(window.end_s);
        let missing =
            before.mean.value * after(recovered_s) - counts.between(window.origin_s, recovered_s);
        let mut censored = probed.censored;
        if back_s.is_none() {
            censored.push("recovery.back_s".to_owned());
        }
        if healed_back_s == Some(None) {
            censored.push("recovery.back_after_heal_s".to_owned());
        }
        let seconds = &observed.seconds;
        // Transactions that waited for the recovery complete just after it.
        let settled_s = recovered_s.max(window.effect_s) + SECOND_S;
        Recovery {
            back_s: back_s.map(after),
            back_after_heal_s: healed_back_s.flatten(),
            steady_s: steady_s(counts, window).map(after),
            outage_s,
            lowest_share: before.lowest(counts, window),
            lost_transactions: Some(missing.max(0.0)),
            before: Some(before.mean),
            during: during(counts, window.origin_s, recovered_s),
            after: back_s.and_then(|at_s| estimate(&counts.seconds(at_s, window.end_s))),
            p99_before_ms: response::p99_within_ms(seconds, before.from_s, before.to_s),
            p99_during_ms: response::p99_around_ms(
                seconds,
                window.asked_s,
                settled_s.min(window.end_s),
            ),
            p99_after_ms: response::p99_within_ms(seconds, settled_s, window.end_s),
            censored,
            ..probed
        }
    }

    /// Uses the seconds between the last recovery and this fault, if there are enough.
    fn update(&mut self, counts: &Counts, asked_s: f64) {
        let Some(since_s) = self.since_s else { return };
        if self.last.is_some() && asked_s - since_s < SHORTEST_BEFORE_S {
            return;
        }
        self.last = Before::of(counts, since_s, asked_s);
    }
}

impl Before {
    fn of(counts: &Counts, from_s: f64, to_s: f64) -> Option<Self> {
        let seconds = counts.seconds(from_s, to_s);
        let mean = estimate(&seconds)?;
        let lowest = |scale_s: f64| {
            let starts = counts.within(from_s, to_s - scale_s).iter();
            let shares = starts.map(|count| counts.per_s(count.t_s, count.t_s + scale_s));
            shares.reduce(f64::min).map_or(1.0, |low| low / mean.value)
        };
        // Medians, so that a stall does not make all seconds uncertain.
        let usual = median(seconds.iter().map(|second| second.total));
        let apart = seconds.iter().map(|second| (second.total - usual).abs());
        let spread = median(apart) / mean.value;
        Some(Self {
            from_s,
            to_s,
            mean,
            usual_lows: SCALES_S.map(lowest),
            spread,
        })
    }

    /// The lowest second after a fault, as a share of the previous throughput.
    fn lowest(&self, counts: &Counts, window: Window) -> Option<f64> {
        let starts = counts.within(window.origin_s, falls_until_s(window) - SECOND_S);
        let starts = starts.iter().map(|count| count.t_s);
        let shares = starts.map(|at_s| self.share(counts, at_s, SECOND_S));
        shares.reduce(f64::min)
    }

    fn share(&self, counts: &Counts, at_s: f64, length_s: f64) -> f64 {
        counts.per_s(at_s, at_s + length_s) / self.mean.value
    }

    /// When throughput first fell between two times.
    fn fell_s(&self, counts: &Counts, from_s: f64, to_s: f64, end_s: f64) -> Option<f64> {
        let scales = SCALES_S.iter().zip(self.usual_lows);
        let falls = scales.filter_map(|(&scale_s, usual)| {
            let low = usual.clamp(SURELY_LOW, 1.0) * BACK;
            let mut starts = counts.within(from_s, to_s.min(end_s - scale_s)).iter();
            starts
                .find(|count| self.share(counts, count.t_s, scale_s) < low)
                .map(|count| count.t_s)
        });
        falls.min_by(f64::total_cmp)
    }

    /// When throughput was back; the origin if it never fell.
    fn back_s(&self, observed: &Observed, window: Window) -> Option<f64> {
        let counts = &observed.counts;
        if window.end_s - window.origin_s < SECOND_S {
            return None;
        }
        let fell_s = self.fell_s(counts, window.origin_s, falls_until_s(window), window.end_s);
        let back_s = match fell_s {
            Some(fell_s) => self.returned_s(counts, fell_s, window.heal_s, window.end_s)?,
            None => window.origin_s,
        };
        let span_s = (self.from_s, self.to_s);
        let from_s = window.origin_s;
        match response::backlog_gone(&observed.seconds, span_s, from_s, window.end_s) {
            None => Some(back_s),
            Some(Observation::Exactly(gone_s)) => Some(back_s.max(gone_s)),
            Some(Observation::Longer(_)) => None,
        }
    }

    /// When throughput that was back before healing was back again after it, in seconds from the
    /// request to heal: 0 if it did not fall. The outer `None` if that does not apply.
    fn back_after_heal_s(
        &self,
        counts: &Counts,
        window: Window,
        back_s: f64,
    ) -> Option<Option<f64>> {
        let heal_s = window.heal_s.filter(|heal_s| back_s < *heal_s)?;
        let falls_until_s = window.healed_s.unwrap_or(window.end_s) + FALLS_WITHIN_S;
        let Some(fell_s) = self.fell_s(counts, heal_s, falls_until_s, window.end_s) else {
            return Some(Some(0.0));
        };
        let back_s = self.returned_s(counts, fell_s, None, window.end_s);
        Some(back_s.map(|at_s| at_s - heal_s))
    }

    /// When throughput that fell returned and stayed. The cost of healing is kept apart if half of
    /// [`SUSTAINED_S`] is left until then.
    fn returned_s(
        &self,
        counts: &Counts,
        fell_s: f64,
        heal_s: Option<f64>,
        end_s: f64,
    ) -> Option<f64> {
        let level = self.mean.value * BACK;
        let second = self.mean.value * (BACK - self.spread).max(SURELY_LOW);
        let stays = |at_s: f64| {
            let until_s = at_s + SUSTAINED_S;
            let is_apart = |heal_s: &f64| (at_s + SUSTAINED_S / 2.0..until_s).contains(heal_s);
            let until_s = heal_s.filter(is_apart).unwrap_or(until_s);
            until_s <= end_s && counts.per_s(at_s, until_s) >= level
        };
        onset_s(counts, fell_s, end_s, second, stays)
    }
}

/// The upper median; 0 without values.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Until when throughput may fall because of a fault.
fn falls_until_s(window: Window) -> f64 {
    let heal_s = window.heal_s.unwrap_or(window.end_s);
    heal_s
        .max(window.effect_s + FALLS_WITHIN_S)
        .min(window.end_s)
}

/// When throughput reached a level for a second, at or after `from_s`, and `stays` confirms that it
/// stayed.
fn onset_s(
    counts: &Counts,
    from_s: f64,
    end_s: f64,
    level: f64,
    stays: impl Fn(f64) -> bool,
) -> Option<f64> {
    let starts = counts.within(from_s, end_s - SECOND_S).iter();
    let mut starts = starts.map(|count| count.t_s);
    let begun_s = starts.find(|&at_s| {
        counts.per_s(at_s, at_s + SECOND_S) >= level
            && counts.per_s(at_s, at_s + ONSET_S) >= level * ONSET
            && stays(at_s)
    })?;
    let rest = counts.within(begun_s, end_s);
    let still = rest.iter().take_while(|count| count.total == rest[0].total);
    still.last().map(|count| count.t_s)
}

/// When throughput reached the level of the seconds after the last change point.
fn steady_s(counts: &Counts, window: Window) -> Option<f64> {
    let seconds = counts.seconds(window.origin_s, window.end_s);
    let per_s: Vec<f64> = seconds.iter().map(|second| second.total).collect();
    let changes = change_point::in_seconds(&per_s);
    let begin = changes.last().map_or(0, |change| change.at);
    let last = per_s.get(begin..)?;
    if last.len() < change_point::SECONDS {
        return None;
    }
    let level = median(last.iter().copied());
    let from_s = window.origin_s + begin as f64;
    let found = onset_s(counts, from_s, window.end_s, level * BACK, |_| true);
    found.filter(|_| level > 0.0)
}

/// Throughput during the recovery, however short that was.
fn during(counts: &Counts, from_s: f64, to_s: f64) -> Option<Estimate> {
    let seconds = counts.seconds(from_s, to_s);
    if !seconds.is_empty() {
        return estimate(&seconds);
    }
    let per_s = counts.per_s(from_s, to_s);
    per_s.is_finite().then(|| Estimate::exact(per_s))
}
