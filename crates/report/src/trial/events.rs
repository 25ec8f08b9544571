//! What was broken, and what else happened to nodes.

use measure::event::NodeEvent;
use measure::fault::{Crash, FaultRecord, Promotion};
use measure::summary::TrialSummary;

use crate::grid::{Grid, heads};

pub(super) fn grid(trial: &TrialSummary) -> Grid {
    let faults = trial.faults.iter();
    let faults = faults.flat_map(|fault| {
        let promotion = fault.promotion.as_ref();
        let promotion = promotion.map(|one| (one.asked_s, of_promotion(one)));
        let crash = fault.crash.iter();
        let crash = crash.map(|crash| (crash.at_s, of_crash(fault, crash)));
        let of_fault = std::iter::once((fault.asked_s, of_fault(fault)));
        of_fault.chain(promotion).chain(crash)
    });
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
    vec![
        time(Some(fault.asked_s), 1),
        server(fault.node),
        match &fault.scrub {
            Some(scrub) => format!("{}: {scrub}", fault.words()),
            None => fault.words(),
        },
        time(fault.effect_s, 3),
        time(fault.healed_s, 1),
        fault.error.clone().unwrap_or_default(),
    ]
}

fn of_crash(fault: &FaultRecord, crash: &Crash) -> Vec<String> {
    vec![
        time(Some(crash.at_s), 1),
        server(fault.node),
        format!("ended after {}", fault.words()),
        String::new(),
        String::new(),
        crash.reason.clone(),
    ]
}

fn of_promotion(promotion: &Promotion) -> Vec<String> {
    let under_way = || match promotion.done_s {
        Some(_) => String::new(),
        None => "not done when the trial ended".to_owned(),
    };
    vec![
        time(Some(promotion.asked_s), 1),
        server(promotion.node),
        promotion.words(),
        time(promotion.done_s, 3),
        String::new(),
        promotion.error.clone().unwrap_or_else(under_way),
    ]
}

fn time(at_s: Option<f64>, digits: usize) -> String {
    at_s.map_or_else(String::new, |at_s| format!("{at_s:.digits$}"))
}

fn server(node: Option<u32>) -> String {
    node.map_or_else(String::new, |node| node.to_string())
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
