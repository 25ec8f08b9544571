//! One trial's section of the page.

use measure::series::SeriesPoint;
use measure::setup::Outcome;
use measure::summary::{LatencySummary, TrialSummary};

use crate::describe;
use crate::number;
use crate::view::{Facts, name};

/// Trials beyond this are folded away; one opens them.
const MOST_OPEN: usize = 3;

/// One trial's section.
#[derive(Debug)]
pub(crate) struct TrialView<'a> {
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) open: bool,
    pub(crate) outcome: Option<String>,
    pub(crate) times: Vec<(&'static str, Vec<String>)>,
    pub(crate) statements: Vec<(String, Vec<String>)>,
    pub(crate) errors: Vec<(String, String, &'a str, &'a str)>,
    pub(crate) facts: Facts,
    /// The series in words; `None` without one.
    pub(crate) series: Option<String>,
}

/// A section for each trial.
pub(crate) fn trials<'a>(
    trials: &'a [TrialSummary],
    series: &[Vec<SeriesPoint>],
) -> Vec<TrialView<'a>> {
    let open = trials.len() <= MOST_OPEN;
    let view = |(place, summary): (usize, &'a TrialSummary)| TrialView {
        number: place,
        name: name(summary, place),
        open,
        outcome: (summary.outcome != Outcome::Completed).then(|| summary.outcome.to_string()),
        times: times(summary),
        statements: statements(summary),
        errors: errors(summary),
        facts: facts(summary),
        series: series.get(place).and_then(|points| in_words(points)),
    };
    trials.iter().enumerate().map(view).collect()
}

fn times(trial: &TrialSummary) -> Vec<(&'static str, Vec<String>)> {
    let row = |name, times: Option<LatencySummary>| times.map(|times| (name, all_times(times)));
    let rows = [
        row("Response", trial.response_ms),
        row("Service", trial.service_ms),
    ];
    rows.into_iter().flatten().collect()
}

fn all_times(times: LatencySummary) -> Vec<String> {
    let mut cells = vec![number::estimate(Some(times.mean))];
    let values = [
        times.stddev,
        times.min,
        times.p50,
        times.p75,
        times.p90,
        times.p95,
        times.p99,
        times.p999,
        times.max,
    ];
    cells.extend(values.map(number::value));
    cells
}

fn statements(trial: &TrialSummary) -> Vec<(String, Vec<String>)> {
    let cells = |statement: &measure::summary::StatementSummary| {
        let time = |of: fn(LatencySummary) -> f64| number::maybe(statement.latency_ms.map(of));
        vec![
            statement.class.to_string(),
            number::count(statement.count),
            number::maybe(statement.per_s),
            time(|times| times.mean.value),
            time(|times| times.p50),
            time(|times| times.p95),
            time(|times| times.p99),
            time(|times| times.max),
        ]
    };
    let all = trial.by_statement.iter();
    all.map(|statement| (statement.name.clone(), cells(statement)))
        .collect()
}

fn errors(trial: &TrialSummary) -> Vec<(String, String, &str, &str)> {
    let code = |code: u32| match code {
        0 => "network".to_owned(),
        code => code.to_string(),
    };
    let all = trial.errors.iter();
    all.map(|error| {
        let count = number::count(error.count);
        (
            code(error.code),
            count,
            error.action.as_str(),
            error.example.as_str(),
        )
    })
    .collect()
}

fn facts(trial: &TrialSummary) -> Facts {
    let statements = format!(
        "{} ({}/s): {} reads, {} writes, {} others",
        number::count(trial.statements.count),
        number::estimate(trial.statements.per_s),
        number::count(trial.reads),
        number::count(trial.writes),
        number::count(trial.others)
    );
    let mut facts = vec![
        ("Measured", number::seconds(trial.measured_s)),
        (
            "Transactions",
            format!(
                "{} ({}/s)",
                number::count(trial.transactions.count),
                number::estimate(trial.transactions.per_s)
            ),
        ),
        ("Statements", statements),
        ("Generator", describe::generator(trial)),
    ];
    if let Some(share) = trial.lookups.missed_share.filter(|share| *share > 0.0) {
        facts.push(("Lookups without a row", number::percent(share)));
    }
    if trial.reconnects > 0 {
        facts.push(("Reconnects", number::count(trial.reconnects)));
    }
    if let Some(unfinished) = describe::unfinished(trial) {
        facts.push(("Unfinished", unfinished));
    }
    facts
}

/// What the figure of the seconds shows, for those who do not see it.
fn in_words(points: &[SeriesPoint]) -> Option<String> {
    let rates = || points.iter().filter_map(|point| point.tps);
    let least = rates().min_by(f64::total_cmp)?;
    let most = rates().max_by(f64::total_cmp)?;
    let times = points.iter().filter_map(|point| point.response_ms);
    let longest = times.map(|times| times.p99).max_by(f64::total_cmp);
    Some(format!(
        "Over {} seconds, between {} and {} transactions per second; the 99th percentile of the \
         response time of a second is at most {} ms.",
        number::count(points.len() as u64),
        number::value(least),
        number::value(most),
        number::maybe(longest)
    ))
}
