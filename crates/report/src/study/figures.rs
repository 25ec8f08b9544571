//! The figures of a whole study.

use measure::result::RunResult;

use crate::figures;
use crate::sheet::{Block, Figure};

pub(super) fn sweep(result: &RunResult) -> Vec<Block> {
    let sweep = figures::sweep(result);
    let figures = sweep.map(|sweep| of_sweep(&format!("by {}", sweep.key), sweep.cpu));
    figures.into_iter().flatten().map(Block::Figure).collect()
}

/// Throughput, response time and CPU time `by` something.
pub(crate) fn of_sweep(by: &str, has_cpu: bool) -> Vec<Figure> {
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
            ". Error bars: 95 % confidence intervals.",
        ),
        figure(
            "sweep-ms",
            "Line chart",
            "Response time",
            ", from the intended start of a transaction. Error bars: 95 % confidence intervals of \
             the mean.",
        ),
    ];
    if has_cpu {
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
