//! Compares two points in one metric.

use measure::column;

use measure::compare::{
    Boundary, Comparison, ERROR_RATE, LEAST, Measured, NoComparison, NoVerdict, Question, Sense,
    compare, compare_turns,
};
use measure::point_estimate::PointEstimate;
use measure::summary::{TrialSummary, counted};

/// The metrics that are compared, and which way they are better.
pub(crate) const NUMBERS: [(&str, Sense); 5] = [
    (THROUGHPUT, Sense::HigherIsBetter),
    (FLUSHED, Sense::HigherIsBetter),
    (MEAN, Sense::LowerIsBetter),
    ("response_ms.p95", Sense::LowerIsBetter),
    ("response_ms.p99", Sense::LowerIsBetter),
];
const THROUGHPUT: &str = "tps";
/// Only comparisons of writes have it.
pub(crate) const FLUSHED: &str = "tps_flushed";
const MEAN: &str = "response_ms.mean";

/// When a metric of a point is tested.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TestOrder {
    Primary,
    /// Only if the primary metric has a verdict.
    Secondary,
    /// Not at all: another metric or the study implies it.
    Never(NoVerdict),
}

/// In a closed loop, the number of users over the throughput is the mean response time, so
/// the two are one test. In an open loop, the throughput is the arrival rate.
pub(crate) fn test_order(column: &str, is_open_loop: bool) -> TestOrder {
    match (column, is_open_loop) {
        (THROUGHPUT, false) | (MEAN, true) => TestOrder::Primary,
        (MEAN, false) => TestOrder::Never(NoVerdict::FollowsThroughput),
        (THROUGHPUT, true) => TestOrder::Never(NoVerdict::ArrivalRate),
        _ => TestOrder::Secondary,
    }
}

/// Whether any of the trials had a fixed arrival rate.
pub(crate) fn is_open_loop<'a>(trials: impl IntoIterator<Item = &'a TrialSummary>) -> bool {
    let mut trials = trials.into_iter();
    trials.any(|trial| trial.setup.planned.load.rate.is_some())
}

/// What is asked. `interleaved`: whether both are of one study, whose trials ran in blocks;
/// `restarted`: whether each trial was a new start of its server.
pub(crate) fn question(sense: Sense, interleaved: bool, restarted: bool) -> Question {
    Question {
        sense,
        interleaved,
        restarted,
        least: LEAST,
        boundary: None,
    }
}

/// The trials of one point against those of another, as the only comparison; what failed on
/// the way does not count.
pub(crate) fn against(
    base: &[&TrialSummary],
    new: &[&TrialSummary],
    (column, sense): (&str, Sense),
    interleaved: bool,
) -> Result<Comparison, NoComparison> {
    let sides = [base, new];
    let few_slower = |trials: &[&TrialSummary]| PointEstimate::of(trials, column).few_slower;
    if sides.iter().any(|trials| few_slower(trials)) {
        return Err(NoComparison::FewSlower);
    }
    let is_restarted = |trial: &&TrialSummary| trial.setup.planned.server.is_restarted();
    let restarted = base.iter().chain(new).all(is_restarted);
    let question = Question {
        boundary: Boundary::of_trials(base.iter().chain(new)),
        ..question(sense, interleaved, restarted)
    };
    // Further trials would be turns of the same processes at other times.
    if let ([base], [new], false) = (base, new, restarted)
        && interleaved
        && base.setup.planned.takes_turns_with(&new.setup.planned)
        && let Ok(found) = compare_turns(base, new, column, &question)
    {
        return Ok(found);
    }
    let [base, new] = sides.map(|trials| measured(trials, column));
    compare(&base, &new, &question)
}

pub(crate) fn throughput(
    base: &[&TrialSummary],
    new: &[&TrialSummary],
) -> Result<Comparison, NoComparison> {
    against(base, new, NUMBERS[0], true)
}

/// Whether the best of so many points differs from another of them, however small the difference:
/// one of all pairs of them, because it was picked for being the best (Bonferroni's correction).
pub(crate) fn is_significant(found: &Comparison, points: usize) -> bool {
    let pairs = (points * points.saturating_sub(1) / 2).max(1);
    found.p.is_some_and(|p| p * (pairs as f64) < ERROR_RATE)
}

pub(crate) fn measured(trials: &[&TrialSummary], column: &str) -> Vec<Measured> {
    let counted = counted(trials).into_iter();
    let measured = counted.filter_map(|trial| {
        Some(Measured {
            repeat: trial.setup.planned.repeat,
            value: column::estimate(trial, column)?,
        })
    });
    measured.collect()
}
