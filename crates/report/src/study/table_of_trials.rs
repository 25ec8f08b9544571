//! A row for each trial.

use measure::result::RunResult;
use measure::setup::Outcome;
use measure::summary::{LatencySummary, TrialSummary};

use crate::cell::NO_INTERVAL;
use crate::describe;
use crate::findings;
use crate::grid::{Grid, heads};
use crate::keys;
use crate::number;

pub(super) fn grid(result: &RunResult) -> Grid {
    let axes = keys::axes(result);
    let any = |of: fn(&TrialSummary) -> bool| result.trials.iter().any(of);
    let verdict = any(|trial| trial.verdict.is_some());
    let steady = any(|trial| trial.steady.is_some());
    let early = any(|trial| trial.outcome != Outcome::Completed);
    let repeated = keys::repeated(result);

    let mut titles = vec!["trial"];
    titles.extend(axes.iter().map(|key| keys::short(key, &axes)));
    titles.extend(repeated.then_some("repeat"));
    let keys = titles.len();
    titles.extend([
        "tps", "mean", "p50", "p95", "p99", "max", "errors", "restarts",
    ]);
    titles.extend(steady.then_some("steady"));
    titles.extend(verdict.then_some("verdict"));
    titles.extend(early.then_some("ended"));

    let rows = result.trials.iter().enumerate().map(|(place, trial)| {
        let mut row = vec![number_of(trial, place)];
        row.extend(axes.iter().map(|key| keys::shown(keys::value(trial, key))));
        row.extend(repeated.then(|| trial.setup.planned.repeat.to_string()));
        row.extend(numbers(trial));
        row.extend(steady.then(|| describe::steady_in_short(trial)));
        let bound = trial.verdict.as_ref().map(|verdict| verdict.bound);
        let bound = bound.map_or(number::ABSENT.to_owned(), findings::bound_word);
        row.extend(verdict.then_some(bound));
        row.extend(early.then(|| findings::ended(&trial.outcome).to_owned()));
        row
    });
    Grid {
        caption: caption(result, steady),
        heads: heads(titles),
        keys,
        words: usize::from(verdict) + usize::from(early),
        links: true,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// Explains the columns that there are.
fn caption(result: &RunResult, steady: bool) -> String {
    let halves = || {
        let rates = result.trials.iter().filter_map(|t| t.transactions.per_s);
        rates.map(|per_s| per_s.half_width)
    };
    let with = halves().any(|half| half.is_some()).then_some(
        "±: half width of the mean's 95 % confidence interval, from the seconds within the trial.",
    );
    let parts = [
        Some("One row per trial."),
        with,
        halves().any(|half| half.is_none()).then_some(NO_INTERVAL),
        Some("Response times are in milliseconds, from the intended start of a transaction."),
        steady.then_some("Steady: when steady state began, from the start of the load."),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    parts.join(" ")
}

/// A trial's number in the plan; in results without a plan, its place.
fn number_of(trial: &TrialSummary, place: usize) -> String {
    match trial.setup.planned.number {
        0 => (place + 1).to_string(),
        number => number.to_string(),
    }
}

fn numbers(trial: &TrialSummary) -> Vec<String> {
    let time = |of: fn(LatencySummary) -> f64| number::maybe(trial.response_ms.map(of));
    vec![
        number::estimate(trial.transactions.per_s),
        number::estimate(trial.response_ms.map(|response| response.mean)),
        time(|response| response.p50),
        time(|response| response.p95),
        time(|response| response.p99),
        time(|response| response.max),
        number::count(trial.failures()),
        number::count(trial.restarts()),
    ]
}
