//! How an instance recovered from its faults: what its load, its errors, and probes of its members
//! showed at each time.
//!
//! Each fault has a window: from its request to the request of the next fault that took effect, or
//! to the end of the load. What did not happen in the window is `None`; times of events that were
//! still to come are censored.

mod counts;
mod number;
mod probe;
mod response;
mod throughput;
mod writes;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use counts::{Count, Counts, FaultSeries};
pub(crate) use number::number;
pub use number::{Distribution, Number, Observation, PHASES, numbers};
pub use probe::{Probe, ProbedView, ProbedWrite, Role};
pub use response::ResponseSecond;

use serde::{Deserialize, Serialize};

use crate::fault::{FaultRecord, Recovery, TimedErrors};
use crate::slice::RESTARTED;
use crate::summary::ErrorSummary;
use counts::around;
use throughput::Throughput;

/// Observations of an instance during a trial. Times are on the trial's clock, in seconds.
#[derive(Debug, Default)]
pub struct Observed {
    pub measured_from_s: f64,
    pub end_s: f64,
    /// Completed transactions at each time.
    pub counts: Counts,
    pub seconds: Vec<ResponseSecond>,
    /// Errors of the load, in order of time.
    pub errors: Vec<TimedError>,
    /// The first transaction of the load after each effect; empty if the load does not write.
    pub first_writes: Vec<FirstWrite>,
    /// Probes of the members, in order of time for each member.
    pub probes: Vec<Probe>,
    /// Whether every member should accept writes.
    pub has_many_primaries: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedError {
    pub at_s: f64,
    /// The engine's own error number, else the SQLSTATE; `network` if the connection failed.
    pub code: String,
    pub message: String,
    /// What the load did: `restarted`, `reconnected` or `ignored`.
    pub action: Cow<'static, str>,
}

/// The load's first transaction that started after a fault's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstWrite {
    /// The earliest start.
    pub since_ns: u64,
    /// When the transaction completed; `None` if none did.
    pub end_ns: Option<u64>,
}

/// The time in which a recovery is searched for.
#[derive(Debug, Clone, Copy)]
struct Window {
    asked_s: f64,
    effect_s: f64,
    origin_s: f64,
    /// When healing was requested, and when it was complete.
    heal_s: Option<f64>,
    healed_s: Option<f64>,
    end_s: f64,
}

/// Adds to each fault how the instance recovered from it, and returns the series around each fault
/// that had an effect. `faults` are in order of time.
pub fn recover(observed: &Observed, faults: &mut [&mut FaultRecord]) -> Vec<FaultSeries> {
    let struck = faults
        .iter_mut()
        .filter(|fault| fault.effect_s.is_some())
        .collect::<Vec<_>>();
    let ends: Vec<f64> = struck.iter().skip(1).map(|next| next.asked_s).collect();
    let ends = ends.into_iter().chain([observed.end_s]);
    let mut before = Throughput::first(observed.measured_from_s);
    let mut series = Vec::new();
    for (fault, end_s) in struck.into_iter().zip(ends) {
        let (Some(effect_s), Some(origin_s)) = (fault.effect_s, fault.origin_s()) else {
            continue;
        };
        series.push(around(observed, fault, end_s));
        let end_s = end_s.min(observed.end_s);
        let inside = |at_s: Option<f64>| at_s.filter(|at_s| *at_s < end_s);
        let window = Window {
            asked_s: fault.asked_s,
            effect_s,
            origin_s,
            heal_s: inside(fault.heal_asked_s),
            healed_s: inside(fault.healed_s),
            end_s,
        };
        fault.recovery = Some(match effect_s < end_s {
            true => recovery(observed, fault.node, window, &mut before),
            // The next fault was requested before this one took effect.
            false => Recovery::default(),
        });
    }
    series
}

fn recovery(
    observed: &Observed,
    node: Option<u32>,
    window: Window,
    before: &mut Throughput,
) -> Recovery {
    let mut censored = Vec::new();
    let mut time = |name: &str, found: Option<Observation>| match found? {
        Observation::Exactly(at_s) => Some(at_s - window.origin_s),
        Observation::Longer(_) => {
            censored.push(name.to_owned());
            None
        }
    };
    let errors = || {
        let seen = observed.errors.iter();
        seen.filter(|error| window.contains(error.at_s))
    };
    let failure = errors().find(|error| error.action != RESTARTED);
    let after = |at_s: f64| at_s - window.origin_s;
    let unavailable_s = writes::unavailable_s(&observed.probes, window);
    let unavailable = |over_times: fn(f64, f64) -> f64| {
        let times_s = unavailable_s.as_ref()?.iter().copied();
        Some(times_s.fold(0.0, over_times))
    };
    let probed = Recovery {
        window_s: window.end_s - window.origin_s,
        first_error_s: failure.map(|error| after(error.at_s)),
        detected_s: probe::detected_s(&observed.probes, node, window).map(after),
        first_write_s: time(
            "recovery.first_write_s",
            writes::first(&observed.probes, node, window),
        ),
        load_write_s: time(
            "recovery.load_write_s",
            load_write(&observed.first_writes, window),
        ),
        rejoined_s: time(
            "recovery.rejoined_s",
            node.and_then(|node| probe::returned(&observed.probes, node, window)),
        ),
        redundant_s: time(
            "recovery.redundant_s",
            probe::redundant(&observed.probes, window),
        ),
        unavailable_s: unavailable(|total_s, time_s| total_s + time_s),
        unavailable_longest_s: unavailable(f64::max),
        two_primaries_s: match observed.has_many_primaries {
            true => None,
            false => writes::two_primaries_s(&observed.probes, window),
        },
        errors: by_code(errors(), window.origin_s),
        censored,
        ..Recovery::default()
    };
    before.recovery(observed, window, probed)
}

impl Window {
    fn contains(&self, at_s: f64) -> bool {
        (self.asked_s..self.end_s).contains(&at_s)
    }
}

/// The load's first transaction after the effect; `None` if the load does not write.
fn load_write(firsts: &[FirstWrite], window: Window) -> Option<Observation> {
    // The same instant may differ by this much after two conversions.
    const SAME_S: f64 = 0.001;
    let begin_s = window.effect_s - SAME_S;
    let seconds = |ns: u64| ns as f64 / 1e9;
    // Faults may take effect in another order than they were requested.
    let firsts = firsts.iter();
    let later = firsts.filter(|first| seconds(first.since_ns) >= begin_s);
    let first = later.min_by_key(|first| first.since_ns)?;
    let end_s = first.end_ns.map(seconds);
    let end_s = end_s.filter(|end_s| *end_s < window.end_s);
    Some(end_s.map_or(Observation::Longer(window.end_s), Observation::Exactly))
}

fn by_code<'a>(errors: impl Iterator<Item = &'a TimedError>, origin_s: f64) -> Vec<TimedErrors> {
    let mut codes: BTreeMap<&str, Vec<&TimedError>> = BTreeMap::new();
    for error in errors {
        codes.entry(&error.code).or_default().push(error);
    }
    let of_code = |errors: Vec<&TimedError>| {
        let (first, last) = (errors.first()?, errors.last()?);
        Some(TimedErrors {
            errors: ErrorSummary {
                code: first.code.clone(),
                count: errors.len() as u64,
                action: first.action.clone().into_owned(),
                example: first.message.clone(),
            },
            first_s: first.at_s - origin_s,
            last_s: last.at_s - origin_s,
            most_per_s: most_per_s(&errors),
        })
    };
    codes.into_values().filter_map(of_code).collect()
}

fn most_per_s(errors: &[&TimedError]) -> u64 {
    let within = |(index, first): (usize, &&TimedError)| {
        let later = errors.iter().skip(index);
        let within = later.take_while(|error| error.at_s < first.at_s + 1.0);
        within.count() as u64
    };
    errors.iter().enumerate().map(within).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
