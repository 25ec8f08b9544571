//! One point against another in one number, as `measure` compares them.

use measure::column;
use measure::compare::{Comparison, LEAST, Measured, NoComparison, Question, Sense, compare};
use measure::found::Found;
use measure::interval::CONFIDENCE;
use measure::summary::{TrialSummary, counted};

/// What is compared, and which way it is better.
pub(crate) const NUMBERS: [(&str, Sense); 4] = [
    ("tps", Sense::HigherIsBetter),
    ("response_ms.mean", Sense::LowerIsBetter),
    ("response_ms.p95", Sense::LowerIsBetter),
    ("response_ms.p99", Sense::LowerIsBetter),
];

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
    if [base, new]
        .iter()
        .any(|trials| Found::of(trials, column).few_slower)
    {
        return Err(NoComparison::FewSlower);
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
    let counted = counted(trials).into_iter();
    let measured = counted.filter_map(|trial| {
        Some(Measured {
            repeat: trial.repeat,
            value: column::estimate(trial, column)?,
        })
    });
    measured.collect()
}
