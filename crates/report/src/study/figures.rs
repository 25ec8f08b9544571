//! The figures of a whole study.

use measure::result::RunResult;

use crate::figures::{self, Sweep};
use crate::sheet::{Block, Figure};

pub(super) fn sweep(result: &RunResult) -> Vec<Block> {
    let sweep = figures::sweep(result);
    let figures = sweep.map(|sweep| of_sweep(&format!("by {}", sweep.key), &sweep));
    figures.into_iter().flatten().map(Block::Figure).collect()
}

/// Throughput, response time and CPU time `by` something.
pub(crate) fn of_sweep(by: &str, sweep: &Sweep) -> Vec<Figure> {
    let figure = |id, chart: &str, what: &str, how: &str| Figure {
        id,
        label: format!(
            "{chart} of {} {by}; the tables have its values.",
            what.to_lowercase()
        ),
        caption: format!("{what} {by}{how}"),
    };
    let mut figures = vec![
        figure(
            "sweep-tps",
            "Line chart",
            "Throughput",
            &format!(".{}", marks(sweep, "")),
        ),
        figure(
            "sweep-ms",
            "Line chart",
            "Response time",
            &format!(
                ", from the intended start of a transaction.{}",
                marks(sweep, " of the mean")
            ),
        ),
    ];
    if sweep.cpu {
        let how = ", all cores together.";
        figures.push(figure(
            "sweep-cpu",
            "Stacked bar chart",
            "Host CPU time",
            how,
        ));
    }
    figures
}

/// What shows how sure the points are.
fn marks(sweep: &Sweep, of: &str) -> String {
    let (intervals, runs) = sweep.marks();
    let intervals = intervals.then(|| format!(" Error bars: 95 % confidence intervals{of}."));
    let runs = runs.then(|| {
        format!(
            " Small circles: the single runs{of}, too few at a point for a confidence interval."
        )
    });
    [intervals, runs].into_iter().flatten().collect()
}

pub(super) fn curves(result: &RunResult) -> Block {
    let of = match result.searches.is_empty() {
        true => "at its point, repeats included",
        false => "of its step",
    };
    Block::Figure(Figure {
        id: "curves",
        label: "Line chart of response time by percentile at each point; the tables have the main \
                percentiles."
            .to_owned(),
        caption: format!(
            "Response time by percentile. The axis gives each additional nine the same width, to \
             show the tail. Each curve covers all transactions {of}, and ends at the slowest."
        ),
    })
}
