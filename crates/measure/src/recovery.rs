//! How an instance recovered from its faults: from what its load, its errors, and probes of its
//! members showed at each time.
//!
//! Each fault has a window: from when it was asked for to when the next one was, or to the end of
//! the load. What did not happen in it is `None`.

mod counts;
mod distribution;
mod number;
mod probe;
mod series;
mod throughput;

use std::collections::BTreeMap;

pub use counts::{Count, Counts};
pub use distribution::Distribution;
pub use number::{COSTS, Number, PHASES, numbers};
pub use probe::{Probe, ProbedView, ProbedWrite, Role};
pub use series::{FaultSeries, series};

use crate::fault::{FaultRecord, Recovery};
use crate::slice::RESTARTED;
use crate::summary::ErrorSummary;
use throughput::Throughput;

/// What was seen of an instance during a trial. Times are on the trial's clock, in seconds.
#[derive(Debug, Default)]
pub struct Observed {
    /// When the measure phase began.
    pub measured_from_s: f64,
    /// When the load ended.
    pub end_s: f64,
    /// Transactions that had completed at each time.
    pub counts: Counts,
    /// Errors of the load, in order of time.
    pub errors: Vec<TimedError>,
    /// The first transaction of the load after each effect; empty if it does not write.
    pub first_writes: Vec<FirstWrite>,
    /// Probes of the members, each member's in order of time.
    pub probes: Vec<Probe>,
}

/// An error of the load.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedError {
    /// When.
    pub at_s: f64,
    /// The engine's own error number, else the SQLSTATE; `network` if the connection failed.
    pub code: String,
    /// In the server's words.
    pub message: String,
    /// What the load did.
    pub action: String,
}

/// The first transaction of the load that was started after a fault's effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstWrite {
    /// When the fault took effect.
    pub since_s: f64,
    /// When the transaction completed; `None` if none did.
    pub end_s: Option<f64>,
}

/// The time in which a recovery is looked for.
#[derive(Debug, Clone, Copy)]
struct Window {
    asked_s: f64,
    effect_s: f64,
    /// When healing was asked for, or the end.
    heal_s: f64,
    end_s: f64,
}

/// Fills in how an instance recovered from its faults, which are in order of time.
pub fn recover(observed: &Observed, faults: &mut [&mut FaultRecord]) {
    let ends: Vec<f64> = faults.iter().skip(1).map(|next| next.asked_s).collect();
    let ends = ends.into_iter().chain([observed.end_s]);
    let mut before = Throughput::first(observed.measured_from_s);
    for (fault, end_s) in faults.iter_mut().zip(ends) {
        let Some(effect_s) = fault.effect_s else {
            continue;
        };
        let window = Window {
            asked_s: fault.asked_s,
            effect_s,
            heal_s: fault.heal_asked_s.unwrap_or(end_s).min(end_s),
            end_s: end_s.min(observed.end_s),
        };
        let in_flight = fault.recovery.take().and_then(|known| known.in_flight);
        let found = match window.effect_s < window.end_s {
            true => recovery(observed, fault.node, window, &mut before),
            // The next fault was asked for before this one took effect.
            false => Recovery::default(),
        };
        fault.recovery = Some(Recovery { in_flight, ..found });
    }
}

fn recovery(
    observed: &Observed,
    node: Option<u32>,
    window: Window,
    before: &mut Throughput,
) -> Recovery {
    let after = |at_s: f64| at_s - window.effect_s;
    let errors = || {
        let seen = observed.errors.iter();
        seen.filter(|error| window.contains(error.at_s))
    };
    let failure = errors().find(|error| error.action != RESTARTED);
    let throughput = before.recovery(&observed.counts, window);
    Recovery {
        first_error_s: failure.map(|error| after(error.at_s)),
        detected_s: probe::detected_s(&observed.probes, node, window).map(after),
        first_write_s: probe::first_write_s(&observed.probes, node, window).map(after),
        load_write_s: load_write_s(&observed.first_writes, window).map(after),
        rejoined_s: probe::rejoined_s(&observed.probes, node, window).map(after),
        errors: by_code(errors()),
        ..throughput
    }
}

impl Window {
    fn contains(&self, at_s: f64) -> bool {
        (self.asked_s..self.end_s).contains(&at_s)
    }
}

fn load_write_s(firsts: &[FirstWrite], window: Window) -> Option<f64> {
    // The same instant, from two conversions.
    const SAME_S: f64 = 0.001;
    let begin_s = window.effect_s - SAME_S;
    let mut since = firsts.iter().filter(|first| first.since_s >= begin_s);
    let end_s = since.next()?.end_s;
    end_s.filter(|end_s| *end_s < window.end_s)
}

fn by_code<'a>(errors: impl Iterator<Item = &'a TimedError>) -> Vec<ErrorSummary> {
    let mut codes: BTreeMap<&str, ErrorSummary> = BTreeMap::new();
    for error in errors {
        let summary = codes.entry(&error.code).or_insert_with(|| ErrorSummary {
            code: error.code.clone(),
            count: 0,
            action: error.action.clone(),
            example: error.message.clone(),
        });
        summary.count += 1;
    }
    codes.into_values().collect()
}

#[cfg(test)]
mod tests;
