//! The trials and the tables of a result as CSV.

use std::collections::BTreeSet;

use measure::column::{TEXTS, all_names, value};
use measure::metric::Metric;
use measure::result::RunResult;
use measure::steady::Steady;
use measure::summary::{LatencySummary, TrialSummary};

use crate::cell::INTERVALS;
use crate::csv_writer::Csv;
use crate::findings::ended;
use crate::keys;
use crate::list::distinct;
use crate::table;

/// A line for each trial.
pub fn results(result: &RunResult) -> String {
    let axes = keys::axes(result);
    let trials = &result.trials;
    let columns = columns(result);

    let mut csv = Csv::default();
    csv.names("number label");
    axes.iter().for_each(|name| csv.text(name));
    csv.names("repeat started_at instances outcome reason measured_s transactions");
    for name in INTERVALS {
        csv.text(name);
        csv.text(&format!("{name}.half_width"));
    }
    for prefix in ["response_ms", "service_ms"] {
        for (name, _) in STATISTICS {
            csv.text(&format!("{prefix}.{name}"));
        }
        for name in RANGES {
            csv.text(&format!("{prefix}.{name}"));
        }
    }
    csv.names("errors restarts reconnects steady_from_s never_steady");
    csv.names("little.users little.accounted verdict evidence");
    columns.iter().for_each(|name| csv.text(name));
    let has_faults = trials.iter().any(|trial| !trial.faults.is_empty());
    let texts = if has_faults { &TEXTS[..] } else { &[] };
    texts.iter().for_each(|name| csv.text(name));
    csv.end_line();

    for trial in trials {
        line(&mut csv, trial, &axes, &columns);
        if has_faults {
            let first = trial.faults.first();
            csv.text(&first.map_or(String::new(), |fault| fault.kind.to_string()));
            csv.text(first.map_or("", |fault| &fault.target));
        }
        csv.end_line();
    }
    csv.text
}

/// The columns that not every result has: those of the study's own tables first.
fn columns(result: &RunResult) -> Vec<String> {
    let trials = &result.trials;
    let has = |name: &str| trials.iter().any(|trial| value(trial, name).is_some());
    let own = result.design.tables.iter().flat_map(|table| &table.columns);
    let own = own.filter(|name| has(name)).cloned();
    let all = own.chain(metrics(trials)).chain(found(trials));
    distinct(all.filter(|name| !is_in_every_result(name)))
}

/// The metrics that were not 0 throughout.
fn metrics(trials: &[TrialSummary]) -> BTreeSet<String> {
    let metrics = trials.iter().flat_map(|trial| &trial.metrics);
    let moved = metrics.filter(|(_, metric)| [metric.mean, metric.min, metric.max] != [0.0; 3]);
    moved.map(|(name, _)| name.clone()).collect()
}

/// What ledgers found, first faults, and any other number that some trial has.
fn found(trials: &[TrialSummary]) -> Vec<String> {
    let has_ledger = trials.iter().any(|trial| !trial.ledgers.is_empty());
    let has_faults = trials.iter().any(|trial| !trial.faults.is_empty());
    let has = |name: &str| trials.iter().any(|trial| value(trial, name).is_some());
    let mut names = all_names();
    names.retain(|name| match name.split_once('.') {
        Some(("ledger", _)) => has_ledger,
        Some(("fault" | "recovery", _)) => has_faults,
        _ => Metric::find(name).is_none() && has(name),
    });
    names
}

/// Whether a column is among the first ones of every file.
fn is_in_every_result(name: &str) -> bool {
    let is_of = |times: &str| {
        name.strip_prefix(times)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    INTERVALS.contains(&name)
        || COUNTS.contains(&name)
        || ["response_ms", "service_ms"].into_iter().any(is_of)
}

/// Counts of every trial.
const COUNTS: [&str; 3] = ["errors", "restarts", "reconnects"];

/// Where percentiles lie with 95 % confidence.
const RANGES: [&str; 4] = ["p95.low", "p95.high", "p99.low", "p99.high"];

/// One thing that is said of a distribution.
type Statistic = (&'static str, fn(LatencySummary) -> f64);

/// All that is said of one besides its mean.
const STATISTICS: [Statistic; 9] = [
    ("stddev", |times| times.stddev),
    ("min", |times| times.min),
    ("p50", |times| times.p50),
    ("p75", |times| times.p75),
    ("p90", |times| times.p90),
    ("p95", |times| times.p95),
    ("p99", |times| times.p99),
    ("p999", |times| times.p999),
    ("max", |times| times.max),
];

fn line(csv: &mut Csv, trial: &TrialSummary, axes: &[&str], columns: &[String]) {
    csv.count(trial.setup.planned.number);
    csv.text(&trial.setup.planned.label);
    for key in axes {
        csv.value(keys::value(trial, key));
    }
    csv.count(trial.setup.planned.repeat);
    csv.text(trial.started_at.as_deref().unwrap_or_default());
    csv.count(trial.setup.planned.topology.instances);
    csv.text(ended(&trial.outcome));
    csv.text(&reason(trial));
    csv.number(Some(trial.measured_s));
    csv.count(trial.transactions.count);
    for name in INTERVALS {
        csv.estimate(value(trial, name));
    }
    for times in [trial.response_ms, trial.service_ms] {
        for (_, of) in STATISTICS {
            csv.number(times.map(of));
        }
        let ranges = times.map(|times| [times.p95_range, times.p99_range]);
        for range in ranges.unwrap_or_default() {
            csv.number(range.map(|range| range.low));
            csv.number(range.map(|range| range.high));
        }
    }
    for name in COUNTS {
        csv.number(value(trial, name).map(|count| count.value));
    }
    let (from_s, never) = match trial.steady {
        Some(Steady::From { s }) => (Some(s), String::new()),
        Some(Steady::Never { reason }) => (None, reason.to_string()),
        None => (None, String::new()),
    };
    csv.number(from_s);
    csv.text(&never);
    csv.number(trial.little.map(|little| little.users));
    csv.number(trial.little.map(|little| little.accounted));
    let verdict = trial.verdict.as_ref();
    csv.text(&verdict.map_or(String::new(), |verdict| verdict.bound.to_string()));
    csv.text(verdict.map_or("", |verdict| &verdict.evidence));
    for name in columns {
        csv.number(value(trial, name).map(|number| number.value));
    }
}

fn reason(trial: &TrialSummary) -> String {
    use measure::setup::Outcome;
    match &trial.outcome {
        Outcome::Completed | Outcome::Interrupted => String::new(),
        Outcome::Stopped { error } | Outcome::ServerLost { error, .. } => error.clone(),
        Outcome::Failed { reason } => reason.clone(),
    }
}

/// The study's tables, a line for each cell.
pub fn tables(result: &RunResult) -> String {
    let mut csv = Csv::default();
    csv.names("table of key value variant column estimate half_width low high n");
    csv.end_line();
    for (number, table) in table::tables(result).iter().enumerate() {
        let fixed = table.fixed.iter();
        let fixed: Vec<String> = fixed.map(|(key, value)| format!("{key}={value}")).collect();
        for row in &table.rows {
            for (group, cells) in table.groups.iter().zip(&row.cells) {
                for (column, cell) in table.columns.iter().zip(cells) {
                    csv.count(number + 1);
                    csv.text(&fixed.join(", "));
                    csv.text(&table.row_key);
                    csv.text(&row.value);
                    csv.text(group);
                    csv.text(&column.column);
                    csv.estimate(cell.estimate);
                    csv.number(cell.range.map(|range| range.low));
                    csv.number(cell.range.map(|range| range.high));
                    csv.count(cell.n);
                    csv.end_line();
                }
            }
        }
    }
    csv.text
}
