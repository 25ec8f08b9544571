//! What a test did in a second, and in a longer period.

use std::ops::AddAssign;
use std::time::Duration;

use measure::latency::{Latency, TotalLatency};

/// Operations on files. The other tests have none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub reads: u64,
    pub writes: u64,
    pub fsyncs: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, writes: bool, bytes: u64) {
        let (operations, transferred) = match writes {
            true => (&mut self.writes, &mut self.bytes_written),
            false => (&mut self.reads, &mut self.bytes_read),
        };
        *operations += 1;
        *transferred += bytes;
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.fsyncs += other.fsyncs;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }
}

/// What a thread did in a second.
#[derive(Debug, Default)]
pub struct Slice {
    /// Of each event; at a rate, from the moment it was due.
    pub latency: Latency,
    pub counts: Counts,
}

/// What all threads did in a second, the last of which may be shorter.
#[derive(Debug)]
pub struct Second {
    /// Since the start, with the warm-up.
    pub end: Duration,
    pub threads: Vec<Slice>,
    /// At a rate: how many due events wait for a thread, and how many are being executed.
    pub queue: Option<(u64, u64)>,
}

/// What all threads did in several seconds.
#[derive(Debug, Clone, Default)]
pub struct Period {
    pub begin: Duration,
    pub end: Duration,
    pub latency: TotalLatency,
    pub counts: Counts,
    pub threads: Vec<ThreadTotals>,
}

/// What one thread did in several seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadTotals {
    pub events: u64,
    /// The sum of their latencies.
    pub latency_ns: u128,
}

impl Period {
    /// An empty period, which starts when the last one ended.
    pub fn after(last: &Self) -> Self {
        Self {
            begin: last.end,
            ..Self::default()
        }
    }

    pub fn add(&mut self, second: &Second) {
        self.end = second.end;
        self.threads.resize(second.threads.len(), ThreadTotals::default());
        for (totals, slice) in self.threads.iter_mut().zip(&second.threads) {
            self.latency.accumulate(&slice.latency);
            self.counts += slice.counts;
            totals.events += slice.latency.count();
            totals.latency_ns += slice.latency.sum_ns();
        }
    }
}
