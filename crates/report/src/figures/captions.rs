//! What stands below each figure of a whole result.

use measure::recovery::FaultSeries;
use measure::result::RunResult;

use super::aligned::aligned;
use super::overview::{Sweep, sweep};
use crate::keys;
use crate::list::{clause, joined_known};
use crate::sheet::Block;

/// Throughput, response time and CPU time by the swept key, or `by` something else; nothing of a
/// result without a sweep.
pub(crate) fn of_sweep(result: &RunResult, by: Option<&str>) -> Vec<Block> {
    let Some(sweep) = sweep(result) else {
        return Vec::new();
    };
    let by = by.map_or_else(|| format!("by {}", sweep.key), str::to_owned);
    let figure = |id, chart: &str, what: &str, how: &str| {
        let label = format!(
            "{chart} of {} {by}; the tables have its values.",
            what.to_lowercase()
        );
        let caption = format!("{what} {by}{how}");
        Block::Figure { id, label, caption }
    };
    let rates = format!(".{}", marks(&sweep, ""));
    let start = ", from the intended start of a transaction.";
    let times = format!("{start}{}", marks(&sweep, " of the mean"));
    let mut figures = vec![
        figure("sweep-tps", "Line chart", "Throughput", &rates),
        figure("sweep-ms", "Line chart", "Response time", &times),
    ];
    let how = ", all cores together.";
    let cpu = || figure("sweep-cpu", "Stacked bar chart", "Host CPU time", how);
    figures.extend(sweep.cpu.then(cpu));
    figures
}

fn marks(sweep: &Sweep, of: &str) -> String {
    let (intervals, runs) = sweep.marks();
    let intervals = intervals.then(|| format!(" Error bars: 95 % confidence intervals{of}."));
    let circles = " Small circles: the single runs";
    let few = "too few at a point for a confidence interval.";
    joined_known(
        [intervals, runs.then(|| format!("{circles}{of}, {few}"))],
        "",
    )
}

const AXIS: &str = "The axis gives each additional nine the same width, to show the tail.";

/// Of each point of a study, or each step of a search.
pub(crate) fn curves(result: &RunResult) -> Block {
    let of = match result.searches.is_empty() {
        true => "at its point, repeats included",
        false => "of its step",
    };
    let caption = format!(
        "Response time by percentile. {AXIS} Each curve covers all transactions {of}, and ends at \
         the slowest."
    );
    of_curves("at each point", caption)
}

/// Of both sides of a comparison.
pub(crate) fn curves_of_two() -> Block {
    let caption = format!("Response time by percentile, over all trials of each point. {AXIS}");
    of_curves("for both", caption)
}

/// Of all repeats around their first fault; nothing without a series of it.
pub(crate) fn recoveries(result: &RunResult, faults: &[Vec<FaultSeries>]) -> Option<Block> {
    let lines = " Bold: the median of the repeats, if at least half of them have data for the second. \
                 Faint: single repeats.";
    let caption = format!(
        "Throughput around the first fault of each trial, in seconds from its effect, of planned \
         faults (stop, restart, switchover) from the request.{}",
        clause(keys::repeated(result), lines)
    );
    let label = "Line chart of throughput around the first fault at each point; the table of \
                 recoveries has the main times.";
    let is_drawn = !aligned(result, faults).is_empty();
    is_drawn.then(|| Block::Figure {
        id: "recovery",
        label: label.to_owned(),
        caption,
    })
}

fn of_curves(which: &str, caption: String) -> Block {
    Block::Figure {
        id: "curves",
        label: format!(
            "Line chart of response time by percentile {which}; the tables have the main \
             percentiles."
        ),
        caption,
    }
}
