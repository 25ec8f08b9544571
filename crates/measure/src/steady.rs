//! When a trial reached steady state, or why it never did.
//!
//! The end of the warm-up is found by MSER-5 (White, "An effective truncation heuristic for bias
//! reduction in simulation output", Simulation 69, 1997; White, Cobb and Spratt, Winter Simulation
//! Conference 2000): of all places to cut off the beginning, in steps of five seconds, the one
//! behind which the mean has the smallest standard error. By chance it cuts steady series as well,
//! so a cut into the measurement counts only when the mean differs by more than its interval and by
//! more than 1 %.
//!
//! The rest is tested for drift: a straight line is compared with the series' own slow movements
//! (Müller and Watson, "Testing models of low-frequency variability", Econometrica 76, 2008),
//! because the textbook test of a slope sees drift wherever seconds depend on each other. Of
//! simulated series without drift, 1 % are reported to drift. Nothing is removed from the numbers of
//! a trial; the finding is reported beside them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::interval::{MIN_POINTS, Part, half_width, ratio, residuals, sum};
use crate::long_run::trend;
use crate::student;

/// Minimum length of a measurement that is assessed, in seconds: below it, too many steady loads
/// look unsteady by chance (docs/statistics.md says how many).
pub const MIN_SECONDS: usize = 20;
/// Seconds in a batch of MSER-5.
const BATCH: usize = 5;
/// A bias by a smaller share of the mean is not reported.
pub(crate) const MATTERS: f64 = 0.01;
/// Probability (0 to 1) that a steady series is reported to drift.
pub(crate) const CHANCE: f64 = 0.01;
/// A drift by a smaller share of the mean is not reported.
pub(crate) const DRIFT: f64 = 0.05;

/// Whether a trial was in steady state. Shown as `steady from 12 s`, or as
/// `never steady: …` with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Steady {
    From {
        /// Seconds from the load's start, including the warm-up, in steps of five.
        s: f64,
    },
    Never {
        #[serde(flatten)]
        reason: UnsteadyReason,
    },
}

/// Why a trial was never steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum UnsteadyReason {
    #[error("it took more than half of the measurement to settle")]
    Settling,
    #[error(
        "throughput {} by {:.0} % over the measurement", rose_or_fell(*.share), .share.abs() * 100.0
    )]
    Drift {
        /// Change from the first tenth to the last one, as a share of the first (-1 or more);
        /// negative if throughput fell.
        share: f64,
    },
    #[error("throughput fluctuates too slowly for the length of the measurement")]
    Wandering,
}

impl Steady {
    /// Assesses the seconds of a warm-up and of the measurement after it, each with its
    /// transactions and its length. `None` if fewer than [`MIN_SECONDS`] were measured or nothing
    /// happened in them.
    pub fn of(warmup: &[Part], measured: &[Part]) -> Option<Self> {
        if measured.len() < MIN_SECONDS {
            return None;
        }
        let all = [warmup, measured].concat();
        let mean = ratio(measured).filter(|mean| *mean > 0.0)?;
        let latest = warmup.len() + measured.len() / 2;
        let cut = cut(&all, latest);
        let rest = &all[cut.max(warmup.len())..];
        let biased = is_biased(mean, rest);
        if biased && cut + BATCH > latest {
            let reason = drift(measured).unwrap_or(UnsteadyReason::Settling);
            return Some(Self::Never { reason });
        }
        let (start, rest) = match biased {
            true => (cut, rest),
            false => (cut.min(warmup.len()), measured),
        };
        Some(match restless(rest) {
            Some(reason) => Self::Never { reason },
            None => Self::From {
                s: sum(&all[..start]).weight,
            },
        })
    }
}

impl fmt::Display for Steady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From { s } => write!(f, "steady from {s:.0} s"),
            Self::Never { reason } => write!(f, "never steady: {reason}"),
        }
    }
}

pub(crate) fn rose_or_fell(share: f64) -> &'static str {
    if share > 0.0 { "rose" } else { "fell" }
}

/// Number of seconds to cut off by MSER-5; at most `latest`.
fn cut(all: &[Part], latest: usize) -> usize {
    let batches: Vec<f64> = all.chunks_exact(BATCH).filter_map(ratio).collect();
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let (mut best, mut least) = (0, f64::INFINITY);
    // From the end, so that each step adds one batch (Welford's update).
    for (place, value) in batches.iter().enumerate().rev() {
        count += 1.0;
        let off = value - mean;
        mean += off / count;
        squares += off * (value - mean);
        let statistic = squares / (count * count);
        if place * BATCH <= latest && statistic <= least {
            (best, least) = (place, statistic);
        }
    }
    best * BATCH
}

/// Whether the mean of the whole measurement differs from that of its steady rest. If the rest has
/// no interval, a difference may be noise.
fn is_biased(mean: f64, rest: &[Part]) -> bool {
    let Some(steady) = ratio(rest) else {
        return true;
    };
    half_width(rest).is_some_and(|known| (mean - steady).abs() > known.max(MATTERS * steady))
}

fn restless(rest: &[Part]) -> Option<UnsteadyReason> {
    drift(rest).or_else(|| {
        let wanders = rest.len() >= MIN_POINTS && half_width(rest).is_none();
        wanders.then_some(UnsteadyReason::Wandering)
    })
}

fn drift(rest: &[Part]) -> Option<UnsteadyReason> {
    let mean = ratio(rest)?;
    let found = trend(&residuals(rest, mean))?;
    // Scaled to transactions per part, because parts are weighted by their length.
    let line = found.rise / (mean * sum(rest).weight / rest.len() as f64);
    let shown = student::p_value(found.t, found.degrees) < CHANCE;
    // The line through a series that falls in steps may end below 0, so the means of its ends are
    // reported.
    let tenth = rest.len().div_ceil(10);
    let share = ratio(&rest[rest.len() - tenth..])? / ratio(&rest[..tenth])? - 1.0;
    let told = shown && line.abs() > DRIFT && share.is_finite() && share * line > 0.0;
    told.then_some(UnsteadyReason::Drift { share })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(values: impl Iterator<Item = f64>) -> Vec<Part> {
        values.map(|total| Part { total, weight: 1.0 }).collect()
    }

    /// 100 with a ripple that no test detects.
    fn level(i: usize) -> f64 {
        100.0 + ((31 * i * i + 7 * i) % 11) as f64 / 5.0
    }

    /// numpy: `argmin` over d of `z[d:].var() / (m - d)` with z the means of five; the series falls
    /// from 1,000 to its level within some 25 s.
    #[test]
    fn the_cut_is_that_of_another_program() {
        let warm = |i: usize| level(i) + 900.0 * (-(i as f64) / 5.0).exp();
        assert_eq!(cut(&seconds((0..100).map(warm)), 50), 40);
        assert_eq!(cut(&seconds((0..100).map(warm)), 10), 10);
    }

    #[test]
    fn a_warm_up_that_reaches_into_the_measurement_is_dated() {
        let warm = |i: usize| level(i) * (1.0 - 0.6 * (-(i as f64) / 8.0).exp());
        let all = seconds((0..120).map(warm));
        let Some(Steady::From { s }) = Steady::of(&all[..5], &all[5..]) else {
            panic!("{:?}", Steady::of(&all[..5], &all[5..]));
        };
        assert!((20.0..=45.0).contains(&s), "{s}");
        // A longer warm-up contains the whole settling time.
        let Some(Steady::From { s }) = Steady::of(&all[..60], &all[60..]) else {
            panic!();
        };
        assert!(s <= 60.0, "{s}");
    }

    #[test]
    fn one_that_takes_half_of_it_never_ends() {
        let warm = |i: usize| level(i) * (1.0 - 0.9 * (-(i as f64) / 60.0).exp());
        let found = Steady::of(&[], &seconds((0..60).map(warm))).unwrap();
        assert!(matches!(found, Steady::Never { .. }), "{found}");
    }

    #[test]
    fn drift_is_told_with_its_size() {
        let fall = |i: usize| level(i) - 0.2 * i as f64;
        let found = Steady::of(&[], &seconds((0..100).map(fall))).unwrap();
        assert_eq!(
            found.to_string(),
            "never steady: throughput fell by 18 % over the measurement"
        );
        let json = serde_json::to_value(found).unwrap();
        assert_eq!(
            (&json["state"], &json["reason"]),
            (&"never".into(), &"drift".into())
        );
        assert_eq!(serde_json::from_value::<Steady>(json).unwrap(), found);
    }

    #[test]
    fn too_little_says_nothing() {
        let short = seconds((0..19).map(level));
        assert_eq!(Steady::of(&short, &short), None);
        assert_eq!(Steady::of(&[], &seconds((0..30).map(|_| 0.0))), None);
        let found = Steady::of(&[], &seconds((0..30).map(|_| 100.0)));
        assert_eq!(found.unwrap().to_string(), "steady from 0 s");
    }
}
