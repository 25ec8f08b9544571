//! The verdicts of the trials.

use measure::result::RunResult;

use crate::columns::Columns;
use crate::findings::{self, TrialNote};
use crate::grid::Grid;
use crate::list::listed;

/// A row for each verdict.
pub(super) fn grid(result: &RunResult) -> Grid {
    let mut kinds: Vec<Vec<TrialNote>> = Vec::new();
    for note in findings::verdicts(result) {
        match kinds.iter_mut().find(|known| known[0].what == note.what) {
            Some(known) => known.push(note),
            None => kinds.push(vec![note]),
        }
    }
    let columns = Columns::<&Vec<TrialNote>>::new()
        .key("verdict", |notes| &notes[0].what)
        .words("trials", |notes| match notes.len() {
            all if all == result.trials.len() => format!("all {all}"),
            _ => listed(&notes.iter().map(|note| &*note.name).collect::<Vec<_>>()),
        })
        .words("evidence", |notes| &notes[0].words);
    columns.grid(
        "What limited the trials, with the evidence of the first; each trial below has \
         its own.",
        &kinds,
    )
}
