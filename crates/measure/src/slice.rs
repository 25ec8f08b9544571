//! What a load gave in one stretch of time.

use std::collections::BTreeMap;

use crate::latency::Latency;

/// What a stretch of a load was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the measurement; shown in the series, never in the totals.
    Warmup,
    /// The measurement.
    Measure,
    /// After its end: transactions that were running then come to theirs.
    Drain,
}

/// One code of the errors that a load met.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct ErrorCount {
    /// How often.
    pub count: u64,
    /// The first one's message, in the server's words.
    pub example: String,
    /// What the load did: `restarted`, `reconnected` or `ignored`.
    pub action: String,
}

/// Everything that was recorded between two instants, by one worker or merged
/// over all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slice {
    /// Transactions that ended, by the time from their intended start.
    pub response: Latency,
    /// The same by the time from their actual start; stays empty in a closed
    /// loop, where both are one.
    pub service: Latency,
    /// How late the generator itself noticed an arrival; open loop only.
    pub lateness: Latency,
    /// How late the generator read replies: from their arrival, as the kernel stamped it,
    /// until they were read. Empty where nothing was stamped.
    pub delay: Latency,
    /// Replies whose stamp could not be true, because a clock was set.
    pub refused_stamps: u64,
    /// Statements by kind, in the order of the load's list of kinds.
    pub statements: Vec<Latency>,
    /// Errors by code (0: the network's).
    pub errors: BTreeMap<u32, ErrorCount>,
    /// Connections that were lost and opened again.
    pub reconnects: u64,
    /// Statements that look for one row by its key…
    pub lookups: u64,
    /// …and how many of them found none.
    pub misses: u64,
}

impl Slice {
    /// An empty slice for `kinds` kinds of statement.
    #[must_use]
    pub fn new(kinds: usize) -> Self {
        Self {
            statements: vec![Latency::new(); kinds],
            ..Self::default()
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lateness.merge(&other.lateness);
        self.delay.merge(&other.delay);
        self.refused_stamps += other.refused_stamps;
        for (mine, theirs) in self.statements.iter_mut().zip(&other.statements) {
            mine.merge(theirs);
        }
        for (code, error) in &other.errors {
            let mine = self.errors.entry(*code).or_insert_with(|| ErrorCount {
                count: 0,
                ..error.clone()
            });
            mine.count += error.count;
        }
        self.reconnects += other.reconnects;
        self.lookups += other.lookups;
        self.misses += other.misses;
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.response.clear();
        self.service.clear();
        self.lateness.clear();
        self.delay.clear();
        self.refused_stamps = 0;
        self.statements.iter_mut().for_each(Latency::clear);
        self.errors.clear();
        (self.reconnects, self.lookups, self.misses) = (0, 0, 0);
    }

    /// Statements that got their reply.
    #[must_use]
    pub fn statement_count(&self) -> u64 {
        self.statements.iter().map(Latency::count).sum()
    }
}

/// A merged slice of the whole load, with its place on the load's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Second {
    /// From the load's origin, in nanoseconds.
    pub start_ns: u64,
    /// From the load's origin, in nanoseconds.
    pub end_ns: u64,
    /// What it was for.
    pub phase: Phase,
    /// What was recorded.
    pub slice: Slice,
    /// Arrivals that were due and not started at its end; open loop only.
    pub backlog: Option<u64>,
    /// Each worker's share of one CPU: running, and waiting for a CPU while it
    /// could have run (0 to 1 each).
    pub workers: Vec<Busy>,
}

/// How a worker thread spent a stretch of time, as shares of it.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Busy {
    /// Running on a CPU.
    pub running: f64,
    /// Ready to run, and waiting for a CPU.
    pub waiting: f64,
}
