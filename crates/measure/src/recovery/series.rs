//! The transactions around each fault, for figures.

use serde::{Deserialize, Serialize};

use super::Observed;
use crate::fault::FaultRecord;

/// Seconds that a series begins before its fault, and ends after it.
const BEFORE_S: f64 = 5.0;
const AFTER_S: f64 = 60.0;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultSeries {
    /// Index of the fault in the trial's schedule, counted from 1.
    pub fault: u32,
    pub instance: u32,
    /// The fault's step; 0 unless it is carried out in steps.
    #[serde(default)]
    pub step: u32,
    /// Ends of intervals of about 10 ms, in seconds on the trial's clock.
    pub t_s: Vec<f64>,
    pub completed: Vec<u64>,
}

/// The series around each fault that had an effect, from 5 s before it to 60 s after it, or to the
/// next one.
pub fn series(observed: &Observed, faults: &[&mut FaultRecord]) -> Vec<FaultSeries> {
    let struck = || faults.iter().filter(|fault| fault.effect_s.is_some());
    let ends = struck().skip(1).map(|next| next.asked_s);
    let ends = ends.chain([observed.end_s]);
    struck()
        .zip(ends)
        .map(|(fault, end_s)| around(observed, fault, end_s))
        .collect()
}

fn around(observed: &Observed, fault: &FaultRecord, end_s: f64) -> FaultSeries {
    let from_s = fault.asked_s - BEFORE_S;
    let to_s = end_s.min(fault.asked_s + AFTER_S);
    let counts = observed.counts.within(from_s, to_s);
    let tenths_of_ms = |t_s: f64| (t_s * 1e4).round() / 1e4;
    let later = counts.iter().skip(1);
    let completed = counts.windows(2);
    FaultSeries {
        fault: fault.number,
        instance: fault.instance,
        step: fault.step,
        t_s: later.map(|count| tenths_of_ms(count.t_s)).collect(),
        completed: completed
            .map(|pair| pair[1].total.saturating_sub(pair[0].total))
            .collect(),
    }
}
