//! How many transactions had completed at each time, and the series around each fault for figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Observed;
use crate::fault::FaultRecord;
use crate::interval::Part;

/// Seconds that a series begins before its fault, and ends after it.
const BEFORE_S: f64 = 5.0;
const AFTER_S: f64 = 60.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// Seconds on the trial's clock.
    pub t_s: f64,
    /// Transactions since the load began.
    pub total: u64,
}

/// In order of time. Counts need not be equally spaced: there are more around a fault.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts(pub Vec<Count>);

impl Counts {
    pub fn within(&self, from_s: f64, to_s: f64) -> &[Count] {
        let begin = self.0.partition_point(|count| count.t_s < from_s);
        let end = self.0.partition_point(|count| count.t_s <= to_s);
        &self.0[begin..end.max(begin)]
    }

    /// Completed transactions at a time, interpolated between counts. Before the first count, the
    /// first; after the last one, the last.
    fn at(&self, t_s: f64) -> f64 {
        let next = self.0.partition_point(|count| count.t_s < t_s);
        let (before, after) = match (next.checked_sub(1), self.0.get(next)) {
            (Some(before), Some(after)) => (self.0[before], *after),
            (Some(only), None) => (self.0[only], self.0[only]),
            (None, Some(only)) => (*only, *only),
            (None, None) => return 0.0,
        };
        let share = match after.t_s > before.t_s {
            true => (t_s - before.t_s) / (after.t_s - before.t_s),
            false => 0.0,
        };
        let completed = after.total.saturating_sub(before.total) as f64;
        before.total as f64 + share.clamp(0.0, 1.0) * completed
    }

    pub(super) fn between(&self, from_s: f64, to_s: f64) -> f64 {
        self.at(to_s) - self.at(from_s)
    }

    pub(super) fn per_s(&self, from_s: f64, to_s: f64) -> f64 {
        self.between(from_s, to_s) / (to_s - from_s)
    }

    pub(super) fn seconds(&self, from_s: f64, to_s: f64) -> Vec<Part> {
        let whole = (to_s - from_s).max(0.0).floor() as u32;
        let part = |second: u32| {
            let begin_s = from_s + f64::from(second);
            Part {
                total: self.between(begin_s, begin_s + 1.0),
                weight: 1.0,
            }
        };
        (0..whole).map(part).collect()
    }

    /// The longest time without a completed transaction, limited to the part between two times.
    pub(super) fn longest_gap_s(&self, from_s: f64, to_s: f64) -> Option<f64> {
        let counts = self.within(from_s, to_s);
        let (first, last) = (counts.first()?, counts.last()?);
        let (mut begin, mut longest_s) = (*first, 0.0_f64);
        for pair in counts.windows(2) {
            if pair[1].total == pair[0].total {
                continue;
            }
            // Counts in a row only show that there was no gap.
            if pair[0].t_s > begin.t_s {
                longest_s = longest_s.max(pair[1].t_s - begin.t_s);
            }
            begin = pair[1];
        }
        Some(longest_s.max(last.t_s - begin.t_s))
    }
}

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

impl FaultSeries {
    /// Identifies the fault in its trial, as [`FaultRecord::place`] does.
    pub fn place(&self) -> (u32, u32, u32) {
        (self.fault, self.instance, self.step)
    }

    /// Completed transactions in each whole second before and after `origin_s`, by the second's
    /// start. A second that the series does not cover is absent; one in which no transaction
    /// completed is 0.
    pub fn by_second(&self, origin_s: f64) -> BTreeMap<i32, f64> {
        let (Some(first_s), Some(last_s)) = (self.t_s.first(), self.t_s.last()) else {
            return BTreeMap::new();
        };
        let mut total = 0_u64;
        let counts = self.t_s.iter().zip(&self.completed);
        let counts = counts.map(|(t_s, completed)| {
            total = total.saturating_add(*completed);
            Count { t_s: *t_s, total }
        });
        let counts = Counts(counts.collect());
        // A series from a file may be of any length.
        let begin = (first_s - origin_s).ceil().max(-AFTER_S) as i32;
        let end = (last_s - origin_s).floor().min(AFTER_S) as i32;
        let second = |begin: i32| {
            let begin_s = origin_s + f64::from(begin);
            (begin, counts.between(begin_s, begin_s + 1.0))
        };
        (begin..end).map(second).collect()
    }
}

/// The series from 5 s before a fault to 60 s after it, or to `end_s`.
pub(super) fn around(observed: &Observed, fault: &FaultRecord, end_s: f64) -> FaultSeries {
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
