//! One trial on a terminal.

use std::fmt::Write;

use measure::quantile::Range;
use measure::setup::{Outcome, Setup};
use measure::summary::{LatencySummary, TrialSummary};

use crate::describe;
use crate::number;
use crate::section;

use super::table::{grid, table};
use super::wrap::{plain, wrap};

/// The summary of one trial.
#[must_use]
pub fn trial(summary: &TrialSummary) -> String {
    let mut text = lost(summary);
    text.push_str(&head(summary));
    text.push('\n');
    text.push_str(&rates(summary));
    text.push_str(&times(summary));
    text.push_str(&instances(summary));
    text.push_str(&statements(summary));
    text.push_str(&errors(summary));
    let _ = writeln!(
        text,
        "\n{}",
        wrap("Generator: ", &describe::generator(summary))
    );
    for (name, words) in [
        ("Server: ", describe::unseen(summary)),
        ("Steady: ", describe::steady(summary)),
        ("Little's law: ", describe::little(summary)),
    ] {
        if let Some(words) = words {
            let _ = writeln!(text, "{}", wrap(name, &words));
        }
    }
    if let Some(unfinished) = describe::unfinished(summary) {
        let _ = writeln!(text, "{}", wrap("Unfinished: ", &unfinished));
    }
    if let Some(verdict) = &summary.verdict {
        let _ = writeln!(text, "{}", wrap("Verdict: ", &verdict.to_string()));
    }
    if let Some(ended) = &summary.ended {
        let _ = writeln!(text, "{}", wrap("Ended: ", &ended.to_string()));
    }
    if matches!(
        summary.outcome,
        Outcome::Interrupted | Outcome::Stopped { .. }
    ) {
        let _ = writeln!(text, "{}", wrap("Ended: ", &summary.outcome.to_string()));
    }
    if !summary.warnings.is_empty() {
        text.push('\n');
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "{}", wrap("Warning: ", &warning.to_string()));
    }
    text
}

/// What no number below may be read without.
fn lost(summary: &TrialSummary) -> String {
    match &summary.outcome {
        outcome @ (Outcome::ServerLost { .. } | Outcome::Failed { .. }) => {
            format!("{}\n\n", wrap("", &outcome.to_string()))
        }
        Outcome::Completed | Outcome::Interrupted | Outcome::Stopped { .. } => String::new(),
    }
}

fn head(summary: &TrialSummary) -> String {
    let setup = &summary.setup;
    let mut text = format!("{} on {}", plain(&setup.workload), plain(&setup.engine));
    if !summary.label.is_empty() {
        let _ = write!(text, "  [{}]", plain(&summary.label));
    }
    text.push('\n');
    let lines = [
        format!(
            "{}, encryption: {}",
            setup.server,
            describe::encryption(setup)
        ),
        format!(
            "{}{}; {}; {}; keys {}; seed {}",
            servers(setup.instances),
            counted(setup.threads.into(), "virtual user"),
            counted(setup.workers.into(), "worker"),
            format_args!(
                "{} of {}",
                counted(setup.tables.into(), "table"),
                counted(setup.rows, "row")
            ),
            describe::keys(setup),
            setup.seed
        ),
        format!(
            "{} statements; {}{}; warm-up {}; measured {}",
            setup.protocol,
            setup.arrivals,
            thinking(setup),
            number::seconds(setup.warmup_s),
            number::seconds(summary.measured_s)
        ),
    ];
    let options = (!setup.options.is_empty()).then(|| format!("options: {}", setup.options));
    for line in lines.into_iter().chain(options) {
        let _ = writeln!(text, "{}", wrap("  ", &line));
    }
    text
}

fn thinking(setup: &Setup) -> String {
    match setup.think_s > 0.0 {
        true => format!(", think time {}", measure::work::think_time(setup)),
        false => String::new(),
    }
}

fn rates(summary: &TrialSummary) -> String {
    let row = |name: &str, rate: measure::summary::Rate| {
        let relative = rate.per_s.and_then(|per_s| per_s.relative());
        vec![
            name.to_owned(),
            number::count(rate.count),
            number::estimate(rate.per_s),
            relative.map_or(String::new(), |share| {
                format!("({})", number::percent(share))
            }),
        ]
    };
    let header = ["", "count", "per second", ""].map(str::to_owned).to_vec();
    let rows = vec![
        row("Transactions", summary.transactions),
        row("Statements", summary.statements),
    ];
    let classes = format!(
        "  {} reads, {} writes, {} others\n",
        number::count(summary.reads),
        number::count(summary.writes),
        number::count(summary.others)
    );
    table(header, rows, 2) + &classes
}

const TIMES: [&str; 9] = [
    "", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "max",
];

fn times(summary: &TrialSummary) -> String {
    let row = |name: &str, times: Option<LatencySummary>| {
        let time = |of: fn(LatencySummary) -> f64| number::maybe(times.map(of));
        vec![
            name.to_owned(),
            number::estimate(times.map(|times| times.mean)),
            time(|times| times.p50),
            time(|times| times.p75),
            time(|times| times.p90),
            time(|times| times.p95),
            time(|times| times.p99),
            time(|times| times.p999),
            time(|times| times.max),
        ]
    };
    let mut rows = vec![row("Response ms", summary.response_ms)];
    if summary.service_ms.is_some() {
        rows.push(row("Service ms", summary.service_ms));
    }
    let table = table(TIMES.map(str::to_owned).to_vec(), rows, 2);
    format!("\n{table}{}", ranges(summary))
}

/// Where the percentiles lie, where that is known.
fn ranges(summary: &TrialSummary) -> String {
    let Some(times) = summary.response_ms else {
        return String::new();
    };
    let known = [("p95", times.p95_range), ("p99", times.p99_range)];
    let known = known.into_iter().filter_map(|(name, range)| {
        let Range { low, high } = range?;
        let (low, high) = (number::value(low), number::value(high));
        Some(format!("{name} {low} to {high}"))
    });
    let known: Vec<String> = known.collect();
    match known.is_empty() {
        true => String::new(),
        false => format!("  With 95 % confidence {}\n", known.join(", ")),
    }
}

/// Each server's part, where there are several.
fn instances(summary: &TrialSummary) -> String {
    let instances = section::instances(summary);
    if instances.rows.is_empty() {
        return String::new();
    }
    format!("\n{}", grid(&instances, 2))
}

fn statements(summary: &TrialSummary) -> String {
    if summary.by_statement.is_empty() {
        return String::new();
    }
    let header = [
        "Statement",
        "",
        "count",
        "per second",
        "mean ms",
        "p95",
        "p99",
        "max",
    ];
    let rows = summary.by_statement.iter().map(|statement| {
        let times = statement.latency_ms;
        let time = |of: fn(LatencySummary) -> f64| number::maybe(times.map(of));
        vec![
            plain(&statement.name),
            statement.class.to_string(),
            number::count(statement.count),
            number::maybe(statement.per_s),
            time(|times| times.mean.value),
            time(|times| times.p95),
            time(|times| times.p99),
            time(|times| times.max),
        ]
    });
    format!(
        "\n{}",
        table(header.map(str::to_owned).to_vec(), rows.collect(), 2)
    )
}

fn errors(summary: &TrialSummary) -> String {
    let mut text = String::new();
    for error in &summary.errors {
        let code = match error.code {
            0 => "network".to_owned(),
            code => code.to_string(),
        };
        let name = match error.is_restart() {
            true => "Restarts: ",
            false => "Errors: ",
        };
        let line = format!(
            "{} x {code}, {}: {}",
            number::count(error.count),
            error.action,
            error.example
        );
        let _ = write!(text, "\n{}", wrap(name, &line));
    }
    if summary.reconnects > 0 {
        let _ = write!(text, "\nReconnects: {}", number::count(summary.reconnects));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// What all that follows is of.
fn servers(count: u32) -> String {
    match count {
        1 => String::new(),
        several => format!("{} at once, each with ", counted(several.into(), "server")),
    }
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", number::count(count))
}
