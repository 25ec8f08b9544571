//! What happened to nodes.

use measure::event::NodeEvent;
use measure::summary::TrialSummary;

use crate::grid::{Grid, heads};

pub(super) fn grid(trial: &TrialSummary) -> Grid {
    let took = |event: &NodeEvent| event.done_s.map(|done_s| done_s - event.at_s);
    let rows = trial.events.iter().map(|event| {
        vec![
            format!("{:.1}", event.at_s),
            event.node.to_string(),
            event.what.to_string(),
            took(event).map_or_else(String::new, |took_s| format!("{took_s:.1}")),
            event.reason.clone(),
        ]
    });
    let mut heads = heads(["at", "server", "event", "took", "reason"]);
    for column in [0, 3] {
        heads[column].unit = "s";
    }
    Grid {
        caption: "Events, on the clock of the trial's figures.".to_owned(),
        heads,
        keys: 1,
        words: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}
