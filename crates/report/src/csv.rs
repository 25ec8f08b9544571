//! The trials and the tables of a result as CSV.

use std::collections::BTreeSet;

use measure::column::{TEXTS, all_names, value};
use measure::metric::Metric;
use measure::result::RunResult;
use measure::steady::Steady;
use measure::summary::{LatencySummary, TrialSummary};

use crate::cell::{Cell, INTERVALS};
use crate::findings::{ended, reason};
use crate::grid::Columns;
use crate::keys;
use crate::list::{distinct, joined};
use crate::table::{self, Heading, PaperRow, PaperTable};

pub fn results(result: &RunResult) -> String {
    let trials = &result.trials;
    let has_faults = trials.iter().any(|trial| !trial.faults.is_empty());
    let times: [(&str, OfTrial); 2] = [
        ("response_ms", |trial| trial.response_ms),
        ("service_ms", |trial| trial.service_ms),
    ];
    let columns = Columns::<&TrialSummary>::new()
        .with("number", |trial| trial.setup.planned.number)
        .with("label", |trial| &trial.setup.planned.label)
        .each(keys::axes(result), |columns, key| {
            columns.with(key, move |trial| keys::value(trial, key))
        })
        .with("repeat", |trial| trial.setup.planned.repeat)
        .with("started_at", |trial| trial.started_at.as_ref())
        .with("instances", |trial| trial.setup.planned.topology.instances)
        .with("outcome", |trial| ended(&trial.outcome))
        .with("reason", |trial| reason(&trial.outcome))
        .with("measured_s", |trial| trial.measured_s)
        .with("transactions", |trial| trial.transactions.count)
        .each(INTERVALS, |columns, name| {
            columns.estimate(name, move |trial| value(trial, name))
        })
        .each(times, |columns, (prefix, times)| {
            columns.each(STATISTICS, |columns, (name, of)| {
                columns.with(format!("{prefix}.{name}"), move |trial| of(times(trial)?))
            })
        })
        .each(COUNTS, |columns, name| {
            columns.with(name, move |trial| Some(value(trial, name)?.value))
        })
        .with("steady_from_s", |trial| match trial.steady {
            Some(Steady::From { s }) => Some(s),
            _ => None,
        })
        .with("never_steady", |trial| match &trial.steady {
            Some(Steady::Never { reason }) => Some(reason.to_string()),
            _ => None,
        })
        .with("little.users", |trial| Some(trial.little?.users))
        .with("little.accounted", |trial| Some(trial.little?.accounted))
        .with("verdict", |one| {
            Some(one.verdict.as_ref()?.bound.to_string())
        })
        .with("evidence", |trial| Some(&trial.verdict.as_ref()?.evidence))
        .each(columns(result), |columns, name| {
            columns.with(name.clone(), move |trial| Some(value(trial, &name)?.value))
        })
        .when(has_faults, |columns| {
            let [kind, target] = TEXTS;
            columns
                .with(kind, |trial| Some(trial.faults.first()?.kind.to_string()))
                .with(target, |trial| Some(&trial.faults.first()?.target))
        });
    columns.csv(trials)
}

/// The columns that only some results have: those of the study's own tables, metrics that were not
/// always zero, the findings of ledgers, first faults, and any other number of a trial.
fn columns(result: &RunResult) -> Vec<String> {
    let trials = &result.trials;
    let has = |name: &str| trials.iter().any(|trial| value(trial, name).is_some());
    let has_ledger = trials.iter().any(|trial| !trial.ledgers.is_empty());
    let has_faults = trials.iter().any(|trial| !trial.faults.is_empty());
    let own = result.design.tables.iter().flat_map(|table| &table.columns);
    let own = own.filter(|name| has(name)).cloned();
    let metrics = trials.iter().flat_map(|trial| &trial.metrics);
    let moved = metrics.filter(|(_, metric)| [metric.mean, metric.min, metric.max] != [0.0; 3]);
    let moved: BTreeSet<String> = moved.map(|(name, _)| name.clone()).collect();
    let mut others = all_names();
    others.retain(|name| match name.split_once('.') {
        Some(("ledger", _)) => has_ledger,
        Some(("fault" | "recovery", _)) => has_faults,
        _ => Metric::find(name).is_none() && has(name),
    });
    let all = own.chain(moved).chain(others);
    distinct(all.filter(|name| !is_in_every_result(name)))
}

/// Whether a column is among the first ones of every file.
fn is_in_every_result(name: &str) -> bool {
    let is_a_time = name.starts_with("response_ms.") || name.starts_with("service_ms.");
    is_a_time || INTERVALS.contains(&name) || COUNTS.contains(&name)
}

const COUNTS: [&str; 3] = ["errors", "restarts", "reconnects"];

type OfTrial = fn(&TrialSummary) -> Option<LatencySummary>;

type Statistic = (&'static str, fn(LatencySummary) -> Option<f64>);

/// All that is said of one besides its mean; ranges are where percentiles lie with 95 % confidence.
const STATISTICS: [Statistic; 13] = [
    ("stddev", |times| Some(times.stddev)),
    ("min", |times| Some(times.min)),
    ("p50", |times| Some(times.p50)),
    ("p75", |times| Some(times.p75)),
    ("p90", |times| Some(times.p90)),
    ("p95", |times| Some(times.p95)),
    ("p99", |times| Some(times.p99)),
    ("p999", |times| Some(times.p999)),
    ("max", |times| Some(times.max)),
    ("p95.low", |times| Some(times.p95_range?.low)),
    ("p95.high", |times| Some(times.p95_range?.high)),
    ("p99.low", |times| Some(times.p99_range?.low)),
    ("p99.high", |times| Some(times.p99_range?.high)),
];

/// A cell of one of the study's tables: the table, its number, row, variant, and column.
type Place<'a> = (
    &'a PaperTable,
    usize,
    &'a PaperRow,
    &'a str,
    &'a Heading,
    Cell,
);

pub fn tables(result: &RunResult) -> String {
    let tables = table::tables(result);
    let places = (1..).zip(&tables).flat_map(|(number, table)| {
        table.rows.iter().flat_map(move |row| {
            let groups = table.groups.iter().zip(&row.cells);
            groups.flat_map(move |(variant, cells)| {
                let columns = table.columns.iter().zip(cells);
                columns.map(move |(column, cell)| (table, number, row, &**variant, column, *cell))
            })
        })
    });
    let columns = Columns::<Place<'_>>::new()
        .with("table", |(_, number, ..)| number)
        .with("of", |(table, ..)| {
            let fixed = table.fixed.iter();
            joined(fixed.map(|(key, value)| format!("{key}={value}")), ", ")
        })
        .with("key", |(table, ..)| &table.row_key)
        .with("value", |(_, _, row, ..)| &row.value)
        .with("variant", |(.., variant, _, _)| variant)
        .with("column", |(.., heading, _)| &heading.column)
        .with("estimate", |(.., cell)| cell.value())
        .with("half_width", |(.., cell)| cell.half_width())
        .with("low", |(.., cell)| Some(cell.range?.low))
        .with("high", |(.., cell)| Some(cell.range?.high))
        .with("n", |(.., cell)| cell.n);
    columns.csv(places)
}
