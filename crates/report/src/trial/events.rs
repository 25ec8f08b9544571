//! What was broken, and what else happened to nodes.

use measure::fault::{Crash, FaultRecord, Promotion};
use measure::summary::TrialSummary;

use crate::columns::Columns;
use crate::grid::{Grid, Head};

/// A row of the table; empty texts where a column says nothing.
#[derive(Default)]
struct Row {
    at_s: f64,
    server: Option<u32>,
    event: String,
    effect_s: Option<f64>,
    healed_s: Option<f64>,
    error: String,
}

pub(super) fn grid(trial: &TrialSummary) -> Grid {
    let faults = trial.faults.iter();
    let faults = faults.flat_map(|fault| {
        let promotion = fault.promotion.iter().map(of_promotion);
        let crash = fault.crash.iter().map(|crash| of_crash(fault, crash));
        std::iter::once(of_fault(fault))
            .chain(promotion)
            .chain(crash)
    });
    let events = trial.events.iter().map(|event| Row {
        at_s: event.at_s,
        server: Some(event.node),
        event: event.what.to_string(),
        error: event.reason.clone(),
        ..Row::default()
    });
    let mut rows: Vec<Row> = faults.chain(events).collect();
    rows.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    let seconds = |title: &str| Head {
        title: title.to_owned(),
        unit: "s",
    };
    let time = |at_s: Option<f64>, digits: usize| {
        at_s.map_or_else(String::new, |at_s| format!("{at_s:.digits$}"))
    };
    let columns = Columns::<&Row>::new()
        .key(seconds("at"), move |row| time(Some(row.at_s), 1))
        .with("server", |row| {
            row.server.map_or_else(String::new, |node| node.to_string())
        })
        .with("event", |row| &row.event)
        .with(seconds("effect"), move |row| time(row.effect_s, 3))
        .with(seconds("healed"), move |row| time(row.healed_s, 1))
        .words("error", |row| &row.error);
    columns.grid("Events, on the clock of the trial's figures.", &rows)
}

fn of_fault(fault: &FaultRecord) -> Row {
    Row {
        at_s: fault.asked_s,
        server: fault.node,
        event: match &fault.scrub {
            Some(scrub) => format!("{}: {scrub}", fault.words()),
            None => fault.words(),
        },
        effect_s: fault.effect_s,
        healed_s: fault.healed_s,
        error: fault.error.clone().unwrap_or_default(),
    }
}

fn of_crash(fault: &FaultRecord, crash: &Crash) -> Row {
    Row {
        at_s: crash.at_s,
        server: fault.node,
        event: format!("ended after {}", fault.words()),
        error: crash.reason.clone(),
        ..Row::default()
    }
}

fn of_promotion(promotion: &Promotion) -> Row {
    let under_way = || match promotion.done_s {
        Some(_) => String::new(),
        None => "not done when the trial ended".to_owned(),
    };
    Row {
        at_s: promotion.asked_s,
        server: promotion.node,
        event: promotion.words(),
        effect_s: promotion.done_s,
        error: promotion.error.clone().unwrap_or_else(under_way),
        ..Row::default()
    }
}
