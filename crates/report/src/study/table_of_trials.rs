//! A row for each trial.

use measure::result::RunResult;
use measure::setup::Outcome;
use measure::summary::{LatencySummary, TrialSummary};

use crate::cell::NO_INTERVAL;
use crate::columns::Columns;
use crate::describe;
use crate::findings;
use crate::grid::Grid;
use crate::keys;

pub(super) fn grid(result: &RunResult) -> Grid {
    let axes = keys::axes(result);
    let any = |of: fn(&TrialSummary) -> bool| result.trials.iter().any(of);
    let verdict = any(|trial| trial.verdict.is_some());
    let steady = any(|trial| trial.steady.is_some());
    let early = any(|trial| trial.outcome != Outcome::Completed);
    let repeated = keys::repeated(result);

    type Row<'a> = (usize, &'a TrialSummary);
    let time = |(_, trial): Row<'_>, of: fn(LatencySummary) -> f64| trial.response_ms.map(of);
    let columns = Columns::<Row<'_>>::new()
        .key("trial", |(place, trial)| number_of(trial, place))
        .each(&axes, |columns, key| {
            columns.key(keys::short(key, &axes), |(_, trial)| {
                keys::value(trial, key)
            })
        })
        .when(repeated, |columns| {
            columns.key("repeat", |(_, trial)| trial.setup.planned.repeat)
        })
        .with("tps", |(_, trial)| trial.transactions.per_s)
        .with("mean", |(_, trial)| Some(trial.response_ms?.mean))
        .with("p50", move |row| time(row, |response| response.p50))
        .with("p95", move |row| time(row, |response| response.p95))
        .with("p99", move |row| time(row, |response| response.p99))
        .with("max", move |row| time(row, |response| response.max))
        .with("errors", |(_, trial)| trial.failures())
        .with("restarts", |(_, trial)| trial.restarts())
        .when(steady, |columns| {
            columns.with("steady", |(_, trial)| describe::steady_in_short(trial))
        })
        .when(verdict, |columns| {
            columns.words("verdict", |(_, trial)| {
                Some(findings::bound_word(trial.verdict.as_ref()?.bound))
            })
        })
        .when(early, |columns| {
            columns.words("ended", |(_, trial)| findings::ended(&trial.outcome))
        });
    Grid {
        links: true,
        ..columns.grid(caption(result, steady), result.trials.iter().enumerate())
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
