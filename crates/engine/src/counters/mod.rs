//! Counters of servers, and the metrics derived from two readings.

mod feed;

use std::time::Instant;

pub(crate) use feed::{Asking, LIMIT, Source};
pub use feed::{Counters, ask_all, leave_all};
use measure::values::{growth, sum};
pub(crate) use measure::values::{percent, quotient};

/// How far the increase of a server's uptime, in whole seconds, may lag behind the clock.
const AGE_TOLERANCE_S: f64 = 2.0;

/// Metrics by name without the prefix `server.`; `None` if unknown.
pub type Metrics = Vec<(&'static str, Option<f64>)>;

/// The counters of an engine, identified by numbers from 0.
#[derive(Debug)]
pub struct Table {
    pub count: usize,
    /// The counter of seconds since the server's start.
    pub uptime: usize,
    /// Whether a counter is a level rather than a count since the server's start.
    pub is_level: fn(usize) -> bool,
    /// Derives metrics, named relative to the server: `cache.hit_pct`.
    pub metrics: fn(&Step) -> Metrics,
}

/// A server's counters at one instant; `None` for counters that it does not have.
#[derive(Debug, Clone)]
pub struct Reading {
    table: &'static Table,
    at: Instant,
    values: Box<[Option<u64>]>,
}

impl Reading {
    pub(crate) fn new(table: &'static Table, at: Instant) -> Self {
        Self {
            table,
            at,
            values: vec![None; table.count].into(),
        }
    }

    pub(crate) fn get(&self, counter: usize) -> Option<u64> {
        self.values[counter]
    }

    pub(crate) fn set(&mut self, counter: usize, value: Option<u64>) {
        self.values[counter] = value;
    }
}

/// The difference between two readings, of one server or summed over several: counters per second,
/// and levels at the end.
#[derive(Debug, Clone)]
pub struct Step {
    table: &'static Table,
    values: Box<[Option<f64>]>,
}

/// `None` if the server was restarted in between.
pub fn derive(before: &Reading, after: &Reading) -> Option<Step> {
    let seconds = after.at.checked_duration_since(before.at)?.as_secs_f64();
    if was_restarted(before, after, seconds) || seconds <= 0.0 {
        return None;
    }
    let table = after.table;
    let value = |counter| {
        let later = after.get(counter)?;
        if (table.is_level)(counter) {
            return Some(later as f64);
        }
        Some(growth(before.get(counter)?, later)? / seconds)
    };
    Some(Step {
        table,
        values: (0..table.count).map(value).collect(),
    })
}

/// A restarted server's uptime is too short, while its counters may already exceed the earlier
/// ones.
fn was_restarted(before: &Reading, after: &Reading, seconds: f64) -> bool {
    let uptime = after.table.uptime;
    let ages = before.get(uptime).zip(after.get(uptime));
    ages.is_some_and(|(before, after)| (after as f64) + AGE_TOLERANCE_S < before as f64 + seconds)
}

impl Step {
    pub(crate) fn get(&self, counter: usize) -> Option<f64> {
        self.values[counter]
    }

    /// Adds the step of another server of the same engine.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            *mine = sum(*mine, *theirs);
        }
    }

    /// The metrics, named relative to the server: `cache.hit_pct`.
    pub fn metrics(&self) -> Metrics {
        (self.table.metrics)(self)
    }
}
