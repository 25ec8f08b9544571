//! One point against another in one number, as `measure` compares them.

use measure::column;
use measure::compare::{Comparison, LEAST, Measured, NoComparison, Question, Sense, compare};
use measure::interval::{CONFIDENCE, Estimate};
use measure::quantile::is_known;
use measure::summary::TrialSummary;

/// What is compared, and which way it is better.
pub(crate) const NUMBERS: [(&str, Sense); 4] = [
    ("tps", Sense::HigherIsBetter),
    ("response_ms.mean", Sense::LowerIsBetter),
    ("response_ms.p95", Sense::LowerIsBetter),
    ("response_ms.p99", Sense::LowerIsBetter),
];

/// Those of them that hang on a few transactions.
const PERCENTILES: [(&str, f64); 2] = [("response_ms.p95", 0.95), ("response_ms.p99", 0.99)];

/// The trials of one point against those of another; what failed on the way does not
/// count. `interleaved`: whether both are of one study, whose trials took turns.
pub(crate) fn against(
    base: &[&TrialSummary],
    new: &[&TrialSummary],
    (column, sense): (&str, Sense),
    interleaved: bool,
) -> Result<Comparison, NoComparison> {
    let question = Question {
        sense,
        interleaved,
        least: LEAST,
    };
    if let Some((_, percentile)) = PERCENTILES.iter().find(|(known, _)| *known == column) {
        let mut counted = base.iter().chain(new).filter(|trial| trial.counts());
        if counted.any(|trial| !is_known(trial.transactions.count, *percentile)) {
            return Err(NoComparison::FewSlower);
        }
    }
    compare(&measured(base, column), &measured(new, column), &question)
}

/// Whether throughput tells two points apart, however small the difference, when
/// `questions` such questions are asked at once (Bonferroni's correction).
pub(crate) fn told_apart(
    one: &[&TrialSummary],
    other: &[&TrialSummary],
    interleaved: bool,
    questions: usize,
) -> bool {
    let found = against(one, other, NUMBERS[0], interleaved);
    found.is_ok_and(|found| found.p * (questions as f64) < 1.0 - CONFIDENCE)
}

fn measured(trials: &[&TrialSummary], column: &str) -> Vec<Measured> {
    let counted = trials.iter().filter(|trial| trial.counts());
    let measured = counted.filter_map(|trial| {
        Some(Measured {
            repeat: trial.repeat,
            value: with_range(column::value(trial, column)?, trial, column),
        })
    });
    measured.collect()
}

/// A percentile has no half width: its range is not symmetric. Where one is needed it is
/// the longer side.
fn with_range(value: Estimate, trial: &TrialSummary, column: &str) -> Estimate {
    let range = trial.response_ms.and_then(|times| match column {
        "response_ms.p95" => times.p95_range,
        "response_ms.p99" => times.p99_range,
        _ => None,
    });
    let longer = range.map(|range| (value.value - range.low).max(range.high - value.value));
    Estimate {
        half_width: value.half_width.or(longer),
        ..value
    }
}
