//! What the transactions, servers, and statements of a trial did.

use measure::instance::InstanceSummary;
use measure::setup::Outcome;
use measure::summary::{ErrorSummary, LatencySummary, StatementSummary, TrialSummary};

use crate::columns::Columns;
use crate::grid::Grid;
use crate::number;

/// The distribution of transaction times.
pub(super) fn times(trial: &TrialSummary) -> Grid {
    let rows = [
        ("Response", trial.response_ms),
        ("Service", trial.service_ms),
    ];
    let rows = rows
        .into_iter()
        .filter_map(|(name, times)| Some((name, times?)));
    let columns = Columns::<(&str, LatencySummary)>::new()
        .key("", |(name, _)| name)
        .with("mean", |(_, times)| times.mean)
        .with("σ", |(_, times)| times.stddev)
        .with("min", |(_, times)| times.min)
        .with("p50", |(_, times)| times.p50)
        .with("p75", |(_, times)| times.p75)
        .with("p90", |(_, times)| times.p90)
        .with("p95", |(_, times)| {
            number::within(times.p95, times.p95_range)
        })
        .with("p99", |(_, times)| {
            number::within(times.p99, times.p99_range)
        })
        .with("p99.9", |(_, times)| times.p999)
        .with("max", |(_, times)| times.max);
    columns.grid(
        "Transaction times in milliseconds. In parentheses: 95 % confidence interval.",
        rows,
    )
}

/// Each server's part, where there are several.
pub(super) fn servers(trial: &TrialSummary) -> Grid {
    let all = trial.instances.as_slice();
    let early = all.iter().any(|one| one.outcome != Outcome::Completed);
    let columns = Columns::<&InstanceSummary>::new()
        .key("server", |one| one.number)
        .with("transactions", |one| one.transactions.count)
        .with("tps", |one| one.transactions.per_s)
        .with("mean", |one| Some(one.response_ms?.mean))
        .with("p95", |one| Some(one.response_ms?.p95))
        .with("p99", |one| Some(one.response_ms?.p99))
        .with("max", |one| Some(one.response_ms?.max))
        .with("errors", |one| one.errors.saturating_sub(one.restarts))
        .with("restarts", |one| one.restarts)
        .when(early, |columns| {
            columns.words("ended", |one| one.outcome.to_string())
        })
        .words("address", |one| &one.server);
    columns.grid(
        "Each server under its own load, all at the same time. Response times in \
         milliseconds.",
        all.iter().filter(|_| all.len() > 1),
    )
}

/// The statements of the workload.
pub(super) fn statements(trial: &TrialSummary) -> Grid {
    let columns = Columns::<&StatementSummary>::new()
        .key("statement", |one| &one.name)
        .with("class", |one| one.class.to_string())
        .with("count", |one| one.count)
        .with("per second", |one| one.per_s)
        .with("mean", |one| Some(one.latency_ms?.mean.value))
        .with("p50", |one| Some(one.latency_ms?.p50))
        .with("p95", |one| Some(one.latency_ms?.p95))
        .with("p99", |one| Some(one.latency_ms?.p99))
        .with("max", |one| Some(one.latency_ms?.max));
    columns.grid(
        "Statements. Times in milliseconds, from sending to the complete reply.",
        &trial.by_statement,
    )
}

/// Errors and restarts.
pub(super) fn errors(trial: &TrialSummary) -> Grid {
    let columns = Columns::<&ErrorSummary>::new()
        .key("code", |error| &error.code)
        .with("count", |error| error.count)
        .words("action", |error| &error.action)
        .words("message", |error| &error.example);
    columns.grid(
        "Errors, with the first server message of each. A restarted transaction, as \
         after a deadlock, did not fail.",
        &trial.errors,
    )
}
