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
    pub counters: &'static [Counter],
    /// The counter of seconds since the server's start.
    pub uptime: usize,
    /// Derives metrics from several counters.
    pub derived: fn(&Step) -> Metrics,
}

#[derive(Debug)]
pub struct Counter {
    pub kind: Kind,
    /// How the engine asks for it; empty if it is not asked for by name.
    pub source: &'static str,
    /// The metric that is its rate or level, relative to the server: `cache.misses_per_s`; empty if
    /// there is none.
    pub metric: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Since the server's start.
    Count,
    Level,
}

/// Declares the counters of an engine: key, kind, source, and metric.
macro_rules! counters {
    ($($key:ident $kind:ident $source:literal $metric:literal)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(dead_code, reason = "most counters are only used by their place in the table")]
        pub(super) enum Key {
            $($key),+
        }

        pub(super) const COUNTERS: &[$crate::counters::Counter] = &[$($crate::counters::Counter {
            kind: $crate::counters::Kind::$kind,
            source: $source,
            metric: $metric,
        }),+];

        impl From<Key> for usize {
            fn from(key: Key) -> Self {
                key as Self
            }
        }
    };
}
pub(crate) use counters;

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
            values: vec![None; table.counters.len()].into(),
        }
    }

    pub(crate) fn get(&self, counter: impl Into<usize>) -> Option<u64> {
        self.values[counter.into()]
    }

    pub(crate) fn set(&mut self, counter: impl Into<usize>, value: Option<u64>) {
        self.values[counter.into()] = value;
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
    let value = |(place, counter): (usize, &Counter)| {
        let later = after.get(place)?;
        match counter.kind {
            Kind::Level => Some(later as f64),
            Kind::Count => Some(growth(before.get(place)?, later)? / seconds),
        }
    };
    Some(Step {
        table,
        values: table.counters.iter().enumerate().map(value).collect(),
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
    pub(crate) fn get(&self, counter: impl Into<usize>) -> Option<f64> {
        self.values[counter.into()]
    }

    /// Adds the step of another server of the same engine.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            *mine = sum(*mine, *theirs);
        }
    }

    /// The metrics, named relative to the server: `cache.hit_pct`.
    pub fn metrics(&self) -> Metrics {
        let counters = self.table.counters.iter().zip(&self.values);
        let plain = counters.map(|(counter, value)| (counter.metric, *value));
        let plain = plain.filter(|(metric, _)| !metric.is_empty());
        plain.chain((self.table.derived)(self)).collect()
    }
}
