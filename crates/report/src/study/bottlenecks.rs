//! The verdict of each trial.

use measure::result::RunResult;

use crate::findings;
use crate::grid::{Grid, heads};

pub(super) fn grid(result: &RunResult) -> Grid {
    let rows = findings::verdicts(result).into_iter();
    let rows = rows.map(|note| vec![note.name, note.what, note.words]);
    Grid {
        caption: "The bottleneck of each trial, with the evidence.".to_owned(),
        heads: heads(["trial", "verdict", "evidence"]),
        keys: 1,
        words: 2,
        rows: rows.collect(),
        ..Grid::default()
    }
}
