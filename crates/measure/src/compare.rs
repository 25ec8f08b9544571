//! What B costs against A: the difference in per cent with its interval, and what it shows.
//!
//! The difference is that of the means, as a share of A's. Its interval is that of a ratio
//! of two means: by pairs when the trials of A and B were interleaved, so that what changed
//! on the host in the meantime is in both (Cochran, *Sampling Techniques*, chapter 6: the
//! ratio estimator; Box, Hunter and Hunter, *Statistics for Experimenters*: "block what you
//! can"), else by Welch ("The generalization of Student's problem when several different
//! population variances are involved", Biometrika 34, 1947) with the degrees of freedom of
//! Satterthwaite (1946). Both are exact when there is no difference.
//!
//! Many comparisons at once find differences by chance; [`correct`] is Holm's correction
//! ("A simple sequentially rejective multiple test procedure", Scandinavian Journal of
//! Statistics 6, 1979).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::interval::{CONFIDENCE, Estimate, student_t};
use crate::repeats::{Repeats, variance};
use crate::student;

/// The least difference that matters unless somebody says another: 2 %.
pub const LEAST: f64 = 0.02;
/// How often (0 to 1) so many repeats as are asked for would show the least difference.
const POWER: f64 = 0.8;
/// Degrees of freedom that the interval of a single run is taken to have, beyond what its
/// half width holds: about those of the seconds of one minute.
const OF_ONE_RUN: f64 = 5.0;
/// More repeats than this are not asked for.
const MOST_REPEATS: u32 = 10_000;

/// Which way a number is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// Like throughput.
    HigherIsBetter,
    /// Like response time.
    LowerIsBetter,
}

/// What is asked of two samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Which way the number is better.
    pub sense: Sense,
    /// Whether A and B took turns, so that trials of the same repeat number ran close to
    /// each other.
    pub interleaved: bool,
    /// The least difference that matters, as a share of A (above 0); [`LEAST`] for most.
    pub least: f64,
}

/// A number of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Which repeat of its point the trial was, from 1.
    pub repeat: u32,
    /// The number, with the interval of the trial's own seconds.
    pub value: Estimate,
}

/// What an interval of a difference rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Method {
    /// Pairs of trials that ran close to each other.
    Pairs {
        /// How many.
        pairs: usize,
    },
    /// All trials of A against all of B.
    Repeats {
        /// How many of A…
        base: usize,
        /// …and of B.
        new: usize,
    },
    /// One side has a single trial, so that its own seconds must do.
    WithinRun,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pairs { pairs } => write!(f, "over {pairs} pairs of repeats"),
            Self::Repeats { base, new } => write!(f, "over {base} and {new} repeats"),
            Self::WithinRun => f.write_str(
                "within single runs: what differs from run to run is not in it, so repeat",
            ),
        }
    }
}

/// What a comparison shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// B is better.
    Faster,
    /// B is worse.
    Slower,
    /// If there is a difference, it is hardly more than the least that matters.
    NoDifferenceShown,
    /// A difference that matters may be there or not.
    TooNoisy {
        /// Repeats of each, those that there are included, with which the least difference
        /// that matters would be shown four times out of five; at most 10,000.
        repeats_needed: u32,
    },
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faster => f.write_str("faster"),
            Self::Slower => f.write_str("slower"),
            Self::NoDifferenceShown => f.write_str("no difference shown"),
            Self::TooNoisy {
                repeats_needed: MOST_REPEATS..,
            } => f.write_str("too noisy to tell (would need 10,000 repeats or more)"),
            Self::TooNoisy { repeats_needed } => write!(
                f,
                "too noisy to tell (would need about {repeats_needed} repeats)"
            ),
        }
    }
}

/// B against A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What was asked.
    pub question: Question,
    /// Mean of A.
    pub base: f64,
    /// Mean of B.
    pub new: f64,
    /// By how many per cent of A's mean B's is more, with its 95 % interval.
    pub change_pct: Estimate,
    /// What the interval rests on.
    pub method: Method,
    /// How likely (0 to 1) chance alone would show as much if there were no difference.
    pub p: f64,
    /// The same among all that were compared at once; see [`correct`].
    pub p_corrected: f64,
    /// Repeats of each with which the least difference would be shown four times of five.
    pub repeats_needed: u32,
    /// What it shows.
    pub decision: Decision,
}

/// Why there is no comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoComparison {
    /// No trial of one side has the number.
    #[error("one side has no trial with this number")]
    Nothing,
    /// A share of nothing.
    #[error("the mean of the base is not above 0, so there is no difference in per cent")]
    ZeroBase,
    /// A percentile of so few transactions that it is a matter of luck.
    #[error("in some trial fewer than 10 transactions were slower than that: measure for longer")]
    FewSlower,
    /// A single trial without an interval.
    #[error("a single trial without an interval of its own: repeat it, or measure for longer")]
    NoInterval,
}

/// Difference of the means as a share of A's, and how sure it is.
struct Ratio {
    change: f64,
    error: f64,
    degrees: f64,
    method: Method,
    /// Standard deviation of the change that one repeat of each gives.
    spread: f64,
}

/// Compares the trials of B with those of A at the same point.
///
/// # Errors
/// When a side has no number, A's mean is not above 0, or a single trial has no interval.
pub fn compare(
    base: &[Measured],
    new: &[Measured],
    question: &Question,
) -> Result<Comparison, NoComparison> {
    let pairs = pairs(base, new);
    let ratio = match (base.len(), new.len()) {
        (0, _) | (_, 0) => return Err(NoComparison::Nothing),
        _ if question.interleaved && pairs.len() > 1 => by_pairs(&pairs),
        (1, _) | (_, 1) => within_run(base, new)?,
        _ => by_repeats(base, new),
    };
    let (base, new) = match ratio.method {
        Method::Pairs { .. } => (
            mean(pairs.iter().map(|(base, _)| *base)),
            mean(pairs.iter().map(|(_, new)| *new)),
        ),
        _ => (mean(values(base)), mean(values(new))),
    };
    if base <= 0.0 || !ratio.change.is_finite() {
        return Err(NoComparison::ZeroBase);
    }
    let p = student::p_value(ratio.change / ratio.error, ratio.degrees);
    let mut found = Comparison {
        question: *question,
        base,
        new,
        change_pct: Estimate {
            value: 100.0 * ratio.change,
            half_width: Some(100.0 * student_t(ratio.degrees) * ratio.error),
        },
        method: ratio.method,
        p,
        p_corrected: p,
        repeats_needed: repeats_needed(ratio.spread, question.least, ratio.method),
        decision: Decision::NoDifferenceShown,
    };
    found.decision = found.decide();
    Ok(found)
}

/// Corrects for how many were compared at once (Holm): in a family without any
/// difference, at most 5 % of the families show one. Intervals stay those of each alone.
pub fn correct(family: &mut [Comparison]) {
    let mut by_p: Vec<&mut Comparison> = family.iter_mut().collect();
    by_p.sort_by(|one, other| one.p.total_cmp(&other.p));
    let count = by_p.len();
    let mut least: f64 = 0.0;
    for (rank, comparison) in by_p.into_iter().enumerate() {
        least = least.max(comparison.p * (count - rank) as f64).min(1.0);
        comparison.p_corrected = least;
        comparison.decision = comparison.decide();
    }
}

impl Comparison {
    /// What it shows, in words: a difference that is sure but too small to matter is told
    /// from none.
    #[must_use]
    pub fn verdict(&self) -> String {
        let is_sure = self.p_corrected < 1.0 - CONFIDENCE;
        match self.decision {
            Decision::NoDifferenceShown if is_sure => format!(
                "no difference shown that matters (below {} %)",
                100.0 * self.question.least
            ),
            decision => decision.to_string(),
        }
    }

    fn decide(&self) -> Decision {
        let least_pct = 100.0 * self.question.least;
        let change = self.change_pct.value;
        if self.p_corrected < 1.0 - CONFIDENCE && change.abs() >= least_pct {
            let higher = self.question.sense == Sense::HigherIsBetter;
            return match (change > 0.0) == higher {
                true => Decision::Faster,
                false => Decision::Slower,
            };
        }
        let known = self
            .change_pct
            .half_width
            .is_some_and(|half| half <= least_pct);
        match known {
            true => Decision::NoDifferenceShown,
            false => Decision::TooNoisy {
                repeats_needed: self.repeats_needed,
            },
        }
    }
}

fn values(trials: &[Measured]) -> impl Iterator<Item = f64> {
    trials.iter().map(|trial| trial.value.value)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    sum / count
}

/// Trials of the same repeat number; one that is missing on a side has no partner.
fn pairs(base: &[Measured], new: &[Measured]) -> Vec<(f64, f64)> {
    let by_repeat = |trials: &[Measured]| -> BTreeMap<u32, f64> {
        let pairs = trials.iter().map(|trial| (trial.repeat, trial.value.value));
        pairs.collect()
    };
    let new = by_repeat(new);
    let pair = |(repeat, base)| Some((base, *new.get(&repeat)?));
    by_repeat(base).into_iter().filter_map(pair).collect()
}

fn by_pairs(pairs: &[(f64, f64)]) -> Ratio {
    let count = pairs.len() as f64;
    let base = mean(pairs.iter().map(|(base, _)| *base));
    let ratio = mean(pairs.iter().map(|(_, new)| *new)) / base;
    let off: Vec<f64> = pairs.iter().map(|(base, new)| new - ratio * base).collect();
    let spread = variance(&off, 0.0).sqrt() / base;
    Ratio {
        change: ratio - 1.0,
        error: spread / count.sqrt(),
        degrees: count - 1.0,
        method: Method::Pairs { pairs: pairs.len() },
        spread,
    }
}

fn by_repeats(base: &[Measured], new: &[Measured]) -> Ratio {
    let side = |trials: &[Measured]| {
        let values: Vec<f64> = values(trials).collect();
        let mean = mean(values.iter().copied());
        (mean, variance(&values, mean), values.len() as f64)
    };
    let ((base_mean, base_variance, base_count), (new_mean, new_variance, new_count)) =
        (side(base), side(new));
    let ratio = new_mean / base_mean;
    let (of_base, of_new) = (
        ratio * ratio * base_variance / base_count,
        new_variance / new_count,
    );
    let degrees = (of_base + of_new).powi(2)
        / (of_base.powi(2) / (base_count - 1.0) + of_new.powi(2) / (new_count - 1.0));
    Ratio {
        change: ratio - 1.0,
        error: (of_base + of_new).sqrt() / base_mean,
        // Without any variance, whatever differs is shown.
        degrees: if degrees.is_nan() { 1.0 } else { degrees },
        method: Method::Repeats {
            base: base.len(),
            new: new.len(),
        },
        spread: (ratio * ratio * base_variance + new_variance).sqrt() / base_mean,
    }
}

/// From the intervals of single runs; a side with several trials has that over repeats.
/// Half widths hold their own degrees of freedom at 95 %. What is asked of many numbers at
/// once goes further out, where the tail is that of the side that knows least.
fn within_run(base: &[Measured], new: &[Measured]) -> Result<Ratio, NoComparison> {
    let degrees = [base, new].map(|trials| match trials.len() {
        1 => OF_ONE_RUN,
        several => several as f64 - 1.0,
    });
    let degrees = degrees[0].min(degrees[1]);
    let side = |trials: &[Measured]| {
        let runs: Vec<Estimate> = trials.iter().map(|trial| trial.value).collect();
        let found = Repeats::of(&runs).ok_or(NoComparison::Nothing)?;
        let half = found.mean.half_width.ok_or(NoComparison::NoInterval)?;
        Ok((found.mean.value, half))
    };
    let ((base, base_half), (new, new_half)) = (side(base)?, side(new)?);
    let ratio = new / base;
    let half = (new_half.powi(2) + (ratio * base_half).powi(2)).sqrt() / base;
    Ok(Ratio {
        change: ratio - 1.0,
        error: half / student_t(degrees),
        degrees,
        method: Method::WithinRun,
        spread: half / student_t(f64::INFINITY),
    })
}

/// The fewest repeats whose test shows the least difference with a chance of [`POWER`].
fn repeats_needed(spread: f64, least: f64, method: Method) -> u32 {
    let enough = |repeats: u32| {
        let sides = match method {
            Method::Pairs { .. } => 1.0,
            Method::Repeats { .. } | Method::WithinRun => 2.0,
        };
        let degrees = sides * f64::from(repeats - 1);
        let reach = student_t(degrees) + student::quantile(POWER, degrees);
        reach * spread / f64::from(repeats).sqrt() <= least
    };
    // It is enough from some number on, so halving finds it.
    let (mut few, mut many) = (1, MOST_REPEATS);
    while many - few > 1 {
        let middle = few.midpoint(many);
        match enough(middle) {
            true => many = middle,
            false => few = middle,
        }
    }
    many
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
