//! One trial.

use measure::metric::{Metric, MetricSummary, bracketed, split};
use measure::setup::Outcome;
use measure::summary::{LatencySummary, Rate, TrialSummary};

use crate::column;
use crate::describe::{self, Facts};
use crate::grid::{Grid, heads};
use crate::number;
use crate::sheet::{Block, tables};

/// What every format says of a trial.
pub(crate) fn blocks(trial: &TrialSummary) -> Vec<Block> {
    let mut blocks = vec![Block::facts(facts(trial))];
    blocks.extend(tables([
        times(trial),
        instances(trial),
        statements(trial),
        errors(trial),
    ]));
    let details = [
        ("Metrics", metrics(trial)),
        ("Metrics of each server", metrics_by_server(trial)),
    ];
    for (summary, grid) in details {
        blocks.extend(tables([grid]).map(|table| Block::folded(summary, table)));
    }
    blocks
}

fn times(trial: &TrialSummary) -> Grid {
    let row = |name: &str, times: Option<LatencySummary>| {
        times.map(|times| [vec![name.to_owned()], all_times(times)].concat())
    };
    let rows = [
        row("Response", trial.response_ms),
        row("Service", trial.service_ms),
    ];
    Grid {
        caption: "Transaction times in milliseconds. In parentheses: 95 % confidence interval."
            .to_owned(),
        heads: heads([
            "", "mean", "σ", "min", "p50", "p75", "p90", "p95", "p99", "p99.9", "max",
        ]),
        keys: 1,
        rows: rows.into_iter().flatten().collect(),
        ..Grid::default()
    }
}

fn all_times(times: LatencySummary) -> Vec<String> {
    let mut cells = vec![number::estimate(Some(times.mean))];
    let below = [times.stddev, times.min, times.p50, times.p75, times.p90];
    cells.extend(below.map(number::value));
    cells.push(number::within(times.p95, times.p95_range));
    cells.push(number::within(times.p99, times.p99_range));
    cells.extend([times.p999, times.max].map(number::value));
    cells
}

/// Each server's part, where there are several.
fn instances(trial: &TrialSummary) -> Grid {
    let all = trial.instances.as_slice();
    let early = all.iter().any(|one| one.outcome != Outcome::Completed);
    let rows = all.iter().filter(|_| all.len() > 1).map(|instance| {
        let time = |of: fn(LatencySummary) -> f64| number::maybe(instance.response_ms.map(of));
        let mut row = vec![
            instance.number.to_string(),
            number::count(instance.transactions.count),
            number::estimate(instance.transactions.per_s),
            number::estimate(instance.response_ms.map(|times| times.mean)),
            time(|times| times.p95),
            time(|times| times.p99),
            time(|times| times.max),
            number::count(instance.errors.saturating_sub(instance.restarts)),
            number::count(instance.restarts),
        ];
        row.extend(early.then(|| instance.outcome.to_string()));
        row.push(instance.server.clone());
        row
    });
    let mut titles = vec![
        "server",
        "transactions",
        "tps",
        "mean",
        "p95",
        "p99",
        "max",
        "errors",
        "restarts",
    ];
    titles.extend(early.then_some("ended"));
    titles.push("address");
    Grid {
        caption: "Each server under its own load, all at the same time. Response times in \
                  milliseconds."
            .to_owned(),
        heads: heads(titles),
        keys: 1,
        words: 1 + usize::from(early),
        rows: rows.collect(),
        ..Grid::default()
    }
}

fn statements(trial: &TrialSummary) -> Grid {
    let rows = trial.by_statement.iter().map(|statement| {
        let time = |of: fn(LatencySummary) -> f64| number::maybe(statement.latency_ms.map(of));
        vec![
            statement.name.clone(),
            statement.class.to_string(),
            number::count(statement.count),
            number::maybe(statement.per_s),
            time(|times| times.mean.value),
            time(|times| times.p50),
            time(|times| times.p95),
            time(|times| times.p99),
            time(|times| times.max),
        ]
    });
    Grid {
        caption: "Statements. Times in milliseconds, from sending to the complete reply."
            .to_owned(),
        heads: heads([
            "statement",
            "class",
            "count",
            "per second",
            "mean",
            "p50",
            "p95",
            "p99",
            "max",
        ]),
        keys: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

fn errors(trial: &TrialSummary) -> Grid {
    let rows = trial.errors.iter().map(|error| {
        let code = match error.code {
            0 => "network".to_owned(),
            code => code.to_string(),
        };
        vec![
            code,
            number::count(error.count),
            error.action.clone(),
            error.example.clone(),
        ]
    });
    Grid {
        caption: "Errors, with the first server message of each. A restarted transaction, as \
                  after a deadlock, did not fail."
            .to_owned(),
        heads: heads(["code", "count", "action", "message"]),
        keys: 1,
        words: 2,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// The metrics of the host and of all servers together; a figure has those of each core, another
/// table those of each server.
fn metrics(trial: &TrialSummary) -> Grid {
    let shown = trial.metrics.iter().filter(|(name, _)| {
        let (plain, of) = split(name);
        let one_of_several = of.is_some() && trial.metrics.contains_key(plain.as_ref());
        !one_of_several || (plain.starts_with("disk.") && of_several(trial, &plain))
    });
    let mut shown: Vec<(&String, &MetricSummary)> = shown.collect();
    shown.sort_by_key(|(name, _)| (Metric::find(name).map(|metric| metric.group), *name));
    let rows = shown.into_iter().map(|(name, metric)| {
        let (unit, scale) = column::shown_in(measure::column::unit(name));
        let cell = |value: f64| number::value(value / scale);
        vec![
            name.clone(),
            unit.to_owned(),
            cell(metric.mean),
            cell(metric.min),
            cell(metric.max),
        ]
    });
    Grid {
        caption: "Metrics during the measurement: the mean, and the minimum and maximum of its \
                  seconds."
            .to_owned(),
        heads: heads(["metric", "unit", "mean", "min", "max"]),
        keys: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// Whether there are several things that have this metric.
fn of_several(trial: &TrialSummary, plain: &str) -> bool {
    let names = trial.metrics.keys().map(|name| split(name));
    names
        .filter(|(of, what)| of == plain && what.is_some())
        .count()
        > 1
}

/// The means of each server's metrics, side by side.
fn metrics_by_server(trial: &TrialSummary) -> Grid {
    let servers = trial.instances.iter().map(|instance| instance.number);
    let servers: Vec<String> = servers.map(|number| number.to_string()).collect();
    let plain = trial
        .metrics
        .keys()
        .filter(|name| name.starts_with("server."));
    let rows = plain.filter_map(|name| {
        let (unit, scale) = column::shown_in(measure::column::unit(name));
        let mean = |name: &str| trial.metrics.get(name).map(|metric| metric.mean / scale);
        let each = servers.iter().map(|server| mean(&bracketed(name, server)));
        let each: Vec<Option<f64>> = each.collect();
        let mut row = vec![name.clone(), unit.to_owned(), number::maybe(mean(name))];
        row.extend(each.iter().copied().map(number::maybe));
        each.iter().any(Option::is_some).then_some(row)
    });
    let mut titles = vec!["metric".to_owned(), "unit".to_owned(), "all".to_owned()];
    titles.extend(servers.iter().map(|server| format!("server {server}")));
    Grid {
        caption: "Mean of each server's metrics during the measurement.".to_owned(),
        heads: heads(titles),
        keys: 1,
        rows: if servers.len() > 1 {
            rows.collect()
        } else {
            Vec::new()
        },
        ..Grid::default()
    }
}

fn facts(trial: &TrialSummary) -> Facts {
    let mut facts = Facts::new();
    if trial.outcome != Outcome::Completed {
        facts.push(("Ended early", trial.outcome.to_string()));
    }
    facts.extend(
        trial
            .verdict
            .as_ref()
            .map(|verdict| ("Verdict", verdict.to_string())),
    );
    facts.extend([
        ("Measured", number::seconds(trial.measured_s)),
        ("Transactions", rate(trial.transactions)),
        (
            "Statements",
            format!(
                "{}: {} reads, {} writes, {} others",
                rate(trial.statements),
                number::count(trial.reads),
                number::count(trial.writes),
                number::count(trial.others)
            ),
        ),
        (
            "Errors",
            format!(
                "{}, and {} restarts",
                number::count(trial.failures()),
                number::count(trial.restarts())
            ),
        ),
        ("Generator", describe::generator(trial)),
    ]);
    facts.extend(trial.started_at.clone().map(|time| ("Started", time)));
    facts.extend(describe::unseen(trial).map(|unseen| ("Server", unseen)));
    facts.extend(describe::steady(trial).map(|steady| ("Steady", steady)));
    facts.extend(describe::little(trial).map(|little| ("Little's law", little)));
    if let Some(share) = trial.lookups.missed_share.filter(|share| *share > 0.0) {
        facts.push(("Lookups without a row", number::percent(share)));
    }
    facts.extend(trial.ended.map(|ended| ("Ended", ended.to_string())));
    if trial.reconnects > 0 {
        facts.push(("Reconnects", number::count(trial.reconnects)));
    }
    facts.extend(describe::unfinished(trial).map(|unfinished| ("Unfinished", unfinished)));
    facts
}

/// `100,235 (1,671 ± 8/s, ± 0.5 %)`.
fn rate(rate: Rate) -> String {
    let relative = rate.per_s.and_then(|per_s| per_s.relative());
    let relative = relative.map_or(String::new(), |share| {
        format!(", ± {}", number::percent(share))
    });
    format!(
        "{} ({}/s{relative})",
        number::count(rate.count),
        number::estimate(rate.per_s)
    )
}
