//! The distribution of transaction times.

use measure::summary::{LatencySummary, TrialSummary};

use crate::grid::{Grid, heads};
use crate::number;

pub(super) fn grid(trial: &TrialSummary) -> Grid {
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
