//! Errors and restarts.

use measure::summary::TrialSummary;

use crate::grid::{Grid, heads};
use crate::number;

pub(super) fn grid(trial: &TrialSummary) -> Grid {
    let rows = trial.errors.iter().map(|error| {
        vec![
            error.code.clone(),
            number::count(error.count),
            error.action.clone(),
            error.example.clone(),
        ]
    });
    Grid {
        caption: "Errors, with the first server message of each. A restarted transaction, as \
                  after a deadlock, did not fail."
            .to_owned(),
        heads: heads(["code", "count", "action", "message"]),
        keys: 1,
        words: 2,
        rows: rows.collect(),
        ..Grid::default()
    }
}
