//! The statements of the workload.

use measure::summary::{LatencySummary, TrialSummary};

use crate::grid::{Grid, heads};
use crate::number;

pub(super) fn grid(trial: &TrialSummary) -> Grid {
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
