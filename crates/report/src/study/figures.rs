//! The figures of a whole study.

use measure::result::RunResult;

use crate::figures;
use crate::sheet::{Block, Figure};

pub(super) fn sweep(result: &RunResult) -> Vec<Block> {
    let Some(sweep) = figures::sweep(result) else {
        return Vec::new();
    };
    let key = &sweep.key;
    let mut figures = vec![
        Figure {
            id: "sweep-tps",
            label: format!("Line chart of throughput by {key}; the tables have its values."),
            caption: format!("Throughput by {key}. Error bars: 95 % confidence intervals."),
        },
        Figure {
            id: "sweep-ms",
            label: format!("Line chart of response time by {key}; the tables have its values."),
            caption: format!(
                "Response time by {key}, from the intended start of a transaction. Error bars: 95 % \
                 confidence intervals of the mean."
            ),
        },
    ];
    figures.extend(sweep.cpu.then(|| Figure {
        id: "sweep-cpu",
        label: format!("Stacked bar chart of the host's CPU time by {key} and category."),
        caption: format!("The host's CPU time by {key}, all cores together."),
    }));
    figures.into_iter().map(Block::Figure).collect()
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
