//! Results for spreadsheets and programs, as RFC 4180 has it: no number is rounded,
//! and what was not measured is empty.
//!
//! A text that a spreadsheet would take for a formula starts with an apostrophe.

use std::collections::BTreeSet;

use measure::interval::Estimate;
use measure::result::RunResult;
use measure::steady::Steady;
use measure::summary::{LatencySummary, TrialSummary};
use plan::Value;

use crate::cell::Cell;
use crate::findings::ended;
use crate::keys;
use crate::table;
use crate::text::{steers, visible};

/// A line for each trial.
#[must_use]
pub fn results(result: &RunResult) -> String {
    let axes = keys::axes(result);
    let trials = &result.trials;
    let metrics = trials.iter().flat_map(|trial| trial.metrics.keys());
    let metrics: BTreeSet<&str> = metrics.map(String::as_str).collect();

    let mut csv = Csv::default();
    csv.names("number label");
    axes.iter().for_each(|name| csv.text(name));
    csv.names("repeat started_at instances outcome reason measured_s transactions");
    for name in ESTIMATES {
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
    metrics.iter().for_each(|name| csv.text(name));
    csv.end_line();

    for trial in trials {
        line(&mut csv, trial, &axes, &metrics);
    }
    csv.text
}

/// Means with an interval.
const ESTIMATES: [&str; 4] = [
    "tps",
    "statements_per_s",
    "response_ms.mean",
    "service_ms.mean",
];

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

fn line(csv: &mut Csv, trial: &TrialSummary, axes: &[&str], metrics: &BTreeSet<&str>) {
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
    for name in ESTIMATES {
        csv.estimate(measure::column::value(trial, name));
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
    for name in ["errors", "restarts", "reconnects"] {
        csv.number(measure::column::value(trial, name).map(|count| count.value));
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
    for name in metrics {
        csv.number(trial.metrics.get(*name).map(|metric| metric.mean));
    }
    csv.end_line();
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
#[must_use]
pub fn tables(result: &RunResult) -> String {
    let mut csv = Csv::default();
    csv.names("table of key value variant column mean half_width n");
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
                    csv.count(cell.n);
                    csv.end_line();
                }
            }
        }
    }
    csv.text
}

/// A table as it is written.
#[derive(Default)]
pub(crate) struct Csv {
    pub(crate) text: String,
    begun: bool,
}

impl Csv {
    fn field(&mut self, field: &str) {
        if self.begun {
            self.text.push(',');
        }
        self.begun = true;
        if field.contains([',', '"', '\r', '\n']) {
            self.text.push('"');
            self.text.push_str(&field.replace('"', "\"\""));
            self.text.push('"');
        } else {
            self.text.push_str(field);
        }
    }

    /// A number as a text, such as the value of a key, stays one. What steers a terminal is
    /// made visible; ends of lines stay, in quotes.
    pub(crate) fn text(&mut self, text: &str) {
        let steered = text.contains(|c| steers(c) && c != '\r' && c != '\n' && c != '\t');
        let text = match steered {
            true => &visible(text),
            false => text,
        };
        let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
        let number = text.parse().is_ok_and(f64::is_finite);
        match formula && !number {
            true => self.field(&format!("'{text}")),
            false => self.field(text),
        }
    }

    /// A value of an axis.
    pub(crate) fn value(&mut self, value: Option<&Value>) {
        self.text(&value.map_or(String::new(), Value::to_string));
    }

    pub(crate) fn number(&mut self, number: Option<f64>) {
        let number = number.filter(|number| number.is_finite());
        self.field(&number.map_or(String::new(), |number| number.to_string()));
    }

    /// A value and half of its interval.
    pub(crate) fn estimate(&mut self, estimate: Option<Estimate>) {
        self.number(estimate.map(|estimate| estimate.value));
        self.number(estimate.and_then(|estimate| estimate.half_width));
    }

    /// The names of what [`Csv::point`] writes.
    pub(crate) const POINT: &'static str = "tps tps.half_width \
        response_ms.mean response_ms.mean.half_width response_ms.p99 response_ms.p99.half_width \
        response_ms.p99.low response_ms.p99.high";

    /// The names of columns, separated by spaces.
    pub(crate) fn names(&mut self, names: &str) {
        names.split_whitespace().for_each(|name| self.text(name));
    }

    /// A whole number.
    pub(crate) fn count(&mut self, count: impl TryInto<u64>) {
        let count = count.try_into().ok();
        self.field(&count.map_or(String::new(), |count| count.to_string()));
    }

    /// Throughput and response times of a point.
    pub(crate) fn point(
        &mut self,
        tps: Option<Estimate>,
        mean_ms: Option<Estimate>,
        p99_ms: &Cell,
    ) {
        for estimate in [tps, mean_ms, p99_ms.estimate] {
            self.estimate(estimate);
        }
        self.number(p99_ms.range.map(|range| range.low));
        self.number(p99_ms.range.map(|range| range.high));
    }

    pub(crate) fn end_line(&mut self) {
        self.text.push_str("\r\n");
        self.begun = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_never_a_formula_and_never_ends_its_field() {
        let mut csv = Csv::default();
        for text in [
            "=1+1",
            "@SUM(A1)",
            "-2",
            "-x",
            "+4.5",
            "a,\"b\"\r\n",
            "plain",
            "",
            "\u{1b}[2J",
        ] {
            csv.text(text);
        }
        csv.number(Some(-0.5));
        csv.number(None);
        csv.end_line();
        let line = "'=1+1,'@SUM(A1),-2,'-x,+4.5,\"a,\"\"b\"\"\r\n\",plain,,\\u{1b}[2J,-0.5,\r\n";
        assert_eq!(csv.text, line);
    }
}
