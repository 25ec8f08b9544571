//! What a load did in one interval of time.

use std::collections::BTreeMap;

use hdrhistogram::Counter;

use crate::interval::Part;
use crate::latency::Latency;
use crate::series::mean;
use serde::{Deserialize, Serialize};

/// A shorter interval is merged with the previous second, and rates are computed over both.
pub const SHORTEST_SECOND_NS: u64 = 500_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the measurement; shown in series, never in totals.
    Warmup,
    Measure,
    /// After the end of the measurement, while running transactions complete.
    Drain,
}

/// [`ErrorCount::action`] of an error after which the load restarted the transaction.
pub const RESTARTED: &str = "restarted";

/// The errors of a load with one code.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct ErrorCount {
    pub count: u64,
    /// The server's message for the first one.
    pub example: String,
    /// What the load did: `restarted`, `reconnected` or `ignored`.
    pub action: String,
}

/// Everything recorded between two instants, by one worker or merged over all. A whole trial has a
/// [`TotalSlice`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(
    serialize = "Latency<C>: Serialize",
    deserialize = "Latency<C>: Deserialize<'de>"
))]
pub struct Slice<C: Counter = u32> {
    /// Response times of completed transactions: from their intended start.
    pub response: Latency<C>,
    /// Service times: from the actual start. Empty in a closed loop, where both are equal.
    pub service: Latency<C>,
    /// Response times of each kind of transaction, such as the workloads of a mix; accurate to 1 %.
    /// Empty if there is only one.
    pub kinds: Vec<Latency<C>>,
    /// How late the generator noticed arrivals; open loop only.
    pub lateness: Latency<C>,
    /// How late the generator read replies: from their arrival, as stamped by the kernel, until
    /// they were read. Empty without time stamps.
    pub delay: Latency<C>,
    /// Replies whose time stamp could not be right because a clock was set.
    pub refused_stamps: u64,
    /// Times of statements by kind, in the order of the load's list of kinds; accurate to 1 %.
    pub statements: Vec<Latency<C>>,
    /// Errors by the engine's code, or `network`.
    pub errors: BTreeMap<String, ErrorCount>,
    /// Connections that were lost and reopened.
    pub reconnects: u64,
    /// Statements that look up one row by its key.
    pub lookups: u64,
    /// Lookups that found no row.
    pub misses: u64,
}

/// A slice of a whole trial. Counts cannot overflow, however long it is.
pub type TotalSlice = Slice<u64>;

impl TotalSlice {
    /// Adds what was recorded in one second.
    pub fn accumulate(&mut self, second: &Slice) {
        self.combine(second, Latency::accumulate);
    }
}

impl<C: Counter> Slice<C> {
    /// An empty slice for `kinds` kinds of statement.
    pub fn new(kinds: usize) -> Self {
        Self {
            response: Latency::default(),
            service: Latency::default(),
            kinds: Vec::new(),
            lateness: Latency::default(),
            delay: Latency::default(),
            refused_stamps: 0,
            statements: vec![Latency::coarse(); kinds],
            errors: BTreeMap::new(),
            reconnects: 0,
            lookups: 0,
            misses: 0,
        }
    }

    /// The same for several kinds of transactions.
    pub fn of_kinds(statements: usize, transactions: usize) -> Self {
        Self {
            kinds: vec![Latency::coarse(); transactions],
            ..Self::new(statements)
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.combine(other, Latency::merge);
    }

    /// Adds everything in `other`; `add` adds histograms.
    fn combine<D: Counter>(&mut self, other: &Slice<D>, add: fn(&mut Latency<C>, &Latency<D>)) {
        add(&mut self.response, &other.response);
        add(&mut self.service, &other.service);
        let kinds = self.kinds.len().max(other.kinds.len());
        self.kinds.resize_with(kinds, Latency::coarse);
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            add(mine, theirs);
        }
        add(&mut self.lateness, &other.lateness);
        add(&mut self.delay, &other.delay);
        self.refused_stamps += other.refused_stamps;
        for (mine, theirs) in self.statements.iter_mut().zip(&other.statements) {
            add(mine, theirs);
        }
        for (code, error) in &other.errors {
            let mine = self
                .errors
                .entry(code.clone())
                .or_insert_with(|| ErrorCount {
                    count: 0,
                    ..error.clone()
                });
            mine.count += error.count;
        }
        self.reconnects += other.reconnects;
        self.lookups += other.lookups;
        self.misses += other.misses;
    }

    /// Number of errors of all codes.
    pub fn error_count(&self) -> u64 {
        self.errors.values().map(|error| error.count).sum()
    }

    /// Number of errors after which the transaction was restarted.
    pub fn restarts(&self) -> u64 {
        let restarted = self
            .errors
            .values()
            .filter(|error| error.action == RESTARTED);
        restarted.map(|error| error.count).sum()
    }

    /// Number of statements that got a reply.
    pub fn statement_count(&self) -> u64 {
        self.statements.iter().map(Latency::count).sum()
    }
}

/// A merged slice of the whole load, with its place on the load's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Nanoseconds from the load's origin.
    pub start_ns: u64,
    /// Nanoseconds from the load's origin.
    pub end_ns: u64,
    pub phase: Phase,
    pub slice: Slice,
    /// Arrivals that were due but not started at the end of the second; open loop only.
    pub backlog: Option<u64>,
    /// Each worker's time running, and waiting for a CPU, as shares of one CPU (0 to 1 each).
    pub workers: Vec<Busy>,
}

impl Second {
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Whether this is only part of a second, such as the rest of a phase.
    pub fn is_partial(&self) -> bool {
        self.length_ns() < SHORTEST_SECOND_NS
    }

    /// Completed transactions, and length in seconds.
    pub fn throughput(&self) -> Part {
        Part {
            total: self.slice.response.count() as f64,
            weight: self.length_ns() as f64 / 1e9,
        }
    }
}

/// How a worker thread spent its time, as shares (0 to 1).
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Busy {
    /// Running on a CPU.
    pub running: f64,
    /// Ready to run but waiting for a CPU.
    pub waiting: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// The engine's own error number, else the SQLSTATE; `network` if the connection failed.
    pub code: String,
    pub count: u64,
    /// What the load did: `restarted`, `reconnected` or `ignored`.
    pub action: String,
    /// The server's message for the first one.
    pub example: String,
}

impl ErrorSummary {
    pub fn is_restart(&self) -> bool {
        self.action == RESTARTED
    }
}

/// What a summary keeps of each second.
#[derive(Debug, Clone)]
pub(crate) struct SecondTotals {
    /// Over its length in seconds, like the statements.
    pub(crate) transactions: Part,
    pub(crate) statements: Part,
    /// Transactions of each kind.
    pub(crate) kinds: Vec<u64>,
    /// Over the number of transactions, like the service times.
    pub(crate) response_ms: Part,
    pub(crate) service_ms: Part,
    pub(crate) backlog: Option<u64>,
    pub(crate) workers: Vec<Busy>,
}

impl SecondTotals {
    pub(crate) fn of(second: &Second) -> Self {
        let transactions = second.throughput();
        let times_ms = |latency: &Latency| Part {
            total: latency.sum_ns() as f64 / 1e6,
            weight: latency.count() as f64,
        };
        Self {
            transactions,
            statements: Part {
                total: second.slice.statement_count() as f64,
                ..transactions
            },
            kinds: second.slice.kinds.iter().map(Latency::count).collect(),
            response_ms: times_ms(&second.slice.response),
            service_ms: times_ms(&second.slice.service),
            backlog: second.backlog,
            workers: second.workers.clone(),
        }
    }

    /// Adds the rest of a phase, which is shorter than a second.
    pub(crate) fn extend(&mut self, rest: &Self) {
        let weights = [self.transactions.weight, rest.transactions.weight];
        for (busy, rest) in self.workers.iter_mut().zip(&rest.workers) {
            busy.running = mean([busy.running, rest.running].map(Some), weights).unwrap_or(0.0);
            busy.waiting = mean([busy.waiting, rest.waiting].map(Some), weights).unwrap_or(0.0);
        }
        self.transactions += rest.transactions;
        self.statements += rest.statements;
        for (mine, rest) in self.kinds.iter_mut().zip(&rest.kinds) {
            *mine += rest;
        }
        self.response_ms += rest.response_ms;
        self.service_ms += rest.service_ms;
        self.backlog = rest.backlog.or(self.backlog);
    }
}
