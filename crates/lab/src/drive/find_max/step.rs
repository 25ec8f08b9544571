//! Judges the trial of a step.

use measure::column;
use measure::find_max::{FoundMax, SearchStep, StepCaveat, StepVerdict};
use measure::steady::Steady;
use measure::summary::TrialSummary;
use measure::until::Ended;
use measure::warning::Warning;

use super::search::{Search, StepOutcome};

/// The fraction by which completed transactions may fall short of the target rate, besides random
/// variation.
const SHORTFALL: f64 = 0.02;
/// The random variation of Poisson arrivals, in standard deviations.
const DEVIATIONS: f64 = 4.0;

pub(super) fn judge(
    summary: &TrialSummary,
    search: &FoundMax,
    rate: f64,
    long: bool,
) -> SearchStep {
    let number = |column| column::value(summary, column).map(|estimate| estimate.value);
    let value = number(&search.column);
    let verdict = match value {
        _ if is_overloaded(summary, rate) => StepVerdict::Overloaded,
        None => StepVerdict::Nothing,
        Some(value) if value >= search.limit_ms => StepVerdict::TooSlow,
        Some(_) if matches!(summary.steady, Some(Steady::Never { .. })) => StepVerdict::Unsteady,
        Some(_) => StepVerdict::Held,
    };
    SearchStep {
        trial: summary.setup.planned.number,
        rate_per_s: rate,
        achieved_per_s: number("tps"),
        mean_ms: number("response_ms.mean"),
        value_ms: value,
        long,
        verdict,
        caveats: match verdict {
            // These verdicts do not depend on the limited column.
            StepVerdict::Overloaded | StepVerdict::Nothing => Vec::new(),
            _ => StepCaveat::all_of(summary, &search.column),
        },
    }
}

/// Whether arrivals exceeded completed transactions by more than random variation explains.
fn is_overloaded(summary: &TrialSummary, rate: f64) -> bool {
    let reports_it = |warning: &Warning| matches!(warning, Warning::Overloaded { .. });
    let arrived = rate * summary.measured_s;
    let expected = arrived * (1.0 - SHORTFALL) - DEVIATIONS * arrived.sqrt();
    matches!(summary.ended, Some(Ended::Overloaded { .. }))
        || summary.warnings.iter().any(reports_it)
        || (summary.transactions.count as f64) < expected
}

pub(super) fn outcome(step: &SearchStep) -> StepOutcome {
    match (step.verdict, step.value_ms) {
        (StepVerdict::Held | StepVerdict::TooSlow, Some(value)) => StepOutcome::Value(value),
        (StepVerdict::Unsteady, Some(value)) => StepOutcome::Unsteady(value),
        _ => StepOutcome::Failed,
    }
}

/// A progress line: `766.8/s: response_ms.p99 18.3 of 20 ms, held; the highest rate is between …`
pub(super) fn progress_line(step: &SearchStep, found: &FoundMax, search: &Search) -> String {
    let rate = step.rate_per_s;
    let value = step
        .value_ms
        .map_or("none".to_owned(), |ms| format!("{ms:.1}"));
    let (column, limit) = (&found.column, found.limit_ms);
    let between = match (search.held(), search.failed()) {
        (Some(held), Some(failed)) => format!("between {held} and {failed}/s"),
        (Some(held), None) => format!("above {held}/s"),
        (None, Some(failed)) => format!("below {failed}/s"),
        (None, None) => "not known yet".to_owned(),
    };
    let verdict = step.verdict;
    format!("  {rate}/s: {column} {value} of {limit} ms, {verdict}; the highest rate is {between}")
}
