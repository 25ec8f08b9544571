//! The verdicts of the trials.

use measure::result::RunResult;

use crate::findings::{self, TrialNote};
use crate::grid::{Grid, heads};
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
    let rows = kinds.iter().map(|notes| {
        let names: Vec<&str> = notes.iter().map(|note| note.name.as_str()).collect();
        let trials = match names.len() {
            all if all == result.trials.len() => format!("all {all}"),
            _ => listed(&names),
        };
        vec![notes[0].what.clone(), trials, notes[0].words.clone()]
    });
    Grid {
        caption: "What limited the trials, with the evidence of the first; each trial below has \
                  its own."
            .to_owned(),
        heads: heads(["verdict", "trials", "evidence"]),
        keys: 1,
        words: 2,
        rows: rows.collect(),
        ..Grid::default()
    }
}
