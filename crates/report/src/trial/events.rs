//! What was broken, and what else happened to nodes.

use measure::event::NodeEvent;
use measure::fault::FaultRecord;
use measure::summary::TrialSummary;

use crate::grid::{Grid, heads};

pub(super) fn grid(trial: &TrialSummary) -> Grid {
    let faults = trial
        .faults
        .iter()
        .map(|fault| (fault.asked_s, of_fault(fault)));
    let events = trial
        .events
        .iter()
        .map(|event| (event.at_s, of_event(event)));
    let mut rows: Vec<_> = faults.chain(events).collect();
    rows.sort_by(|(one_s, _), (other_s, _)| one_s.total_cmp(other_s));
    let mut heads = heads(["at", "server", "event", "effect", "healed", "error"]);
    for column in [0, 3, 4] {
        heads[column].unit = "s";
    }
    Grid {
        caption: "Events, on the clock of the trial's figures.".to_owned(),
        heads,
        keys: 1,
        words: 1,
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        ..Grid::default()
    }
}

fn of_fault(fault: &FaultRecord) -> Vec<String> {
    let time = |at_s: Option<f64>, digits| {
        at_s.map_or_else(String::new, |at_s| format!("{at_s:.digits$}"))
    };
    vec![
        time(Some(fault.asked_s), 1),
        fault.node.map_or_else(String::new, |node| node.to_string()),
        fault.words(),
        time(fault.effect_s, 3),
        time(fault.healed_s, 1),
        fault.error.clone().unwrap_or_default(),
    ]
}

fn of_event(event: &NodeEvent) -> Vec<String> {
    vec![
        format!("{:.1}", event.at_s),
        event.node.to_string(),
        event.what.to_string(),
        String::new(),
        String::new(),
        event.reason.clone(),
    ]
}
