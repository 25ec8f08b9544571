//! A small record per second, for charts and for reading line by line.

use serde::{Deserialize, Serialize};

use crate::latency::{Latency, ms};
use crate::slice::{Busy, Phase, SHORTEST_SECOND_NS, Second};
use crate::values::both;

/// One second of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Start, in seconds from the load's origin.
    pub t_s: f64,
    pub seconds: f64,
    pub phase: Phase,
    /// Completed transactions per second; `None` if no time passed.
    pub tps: Option<f64>,
    /// Answered statements per second.
    pub statements_per_s: Option<f64>,
    /// `None` if no transaction completed.
    pub response_ms: Option<SeriesLatency>,
    /// 99th percentile of the service time; open loop only.
    pub service_p99_ms: Option<f64>,
    pub errors: u64,
    /// Number of errors after which the transaction was restarted.
    pub restarts: u64,
    pub reconnects: u64,
    /// Arrivals that were due but not started at the end of the second; open loop only.
    pub backlog: Option<u64>,
    /// 99th percentile of the lateness with which the generator noticed arrivals.
    pub lateness_p99_ms: Option<f64>,
    /// How late the generator read replies; `None` without time stamps.
    pub delay_ms: Option<SeriesLatency>,
    pub workers: Vec<Busy>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SeriesLatency {
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl SeriesLatency {
    fn largest(self, other: Self) -> Self {
        Self {
            mean: self.mean.max(other.mean),
            p50: self.p50.max(other.p50),
            p95: self.p95.max(other.p95),
            p99: self.p99.max(other.p99),
            max: self.max.max(other.max),
        }
    }

    fn of(latency: &Latency) -> Option<Self> {
        Some(Self {
            mean: latency.mean_ns()? / 1e6,
            p50: ms(latency.quantile_ns(0.5)?),
            p95: ms(latency.quantile_ns(0.95)?),
            p99: ms(latency.quantile_ns(0.99)?),
            max: ms(latency.max_ns()?),
        })
    }
}

impl SeriesPoint {
    /// Merges the next point into this one: rates are weighted by length, and of each time the
    /// larger one is kept, so that no peak is lost. Returns false, without merging, if the phases
    /// differ.
    pub fn absorb(&mut self, next: &Self) -> bool {
        if self.phase != next.phase {
            return false;
        }
        let weights = [self.seconds, next.seconds];
        self.tps = mean([self.tps, next.tps], weights);
        self.statements_per_s = mean([self.statements_per_s, next.statements_per_s], weights);
        self.seconds += next.seconds;
        self.errors = self.errors.saturating_add(next.errors);
        self.restarts = self.restarts.saturating_add(next.restarts);
        self.reconnects = self.reconnects.saturating_add(next.reconnects);
        self.backlog = self.backlog.max(next.backlog);
        self.service_p99_ms = both(self.service_p99_ms, next.service_p99_ms, f64::max);
        self.lateness_p99_ms = both(self.lateness_p99_ms, next.lateness_p99_ms, f64::max);
        self.response_ms = both(self.response_ms, next.response_ms, SeriesLatency::largest);
        self.delay_ms = both(self.delay_ms, next.delay_ms, SeriesLatency::largest);
        true
    }

    /// Whether this is only part of a second, such as the rest of a phase.
    pub fn is_partial(&self) -> bool {
        self.seconds < SHORTEST_SECOND_NS as f64 / 1e9
    }
}

/// The weighted mean of the values that are present; `None` if none is.
pub(crate) fn mean([one, other]: [Option<f64>; 2], weights: [f64; 2]) -> Option<f64> {
    let mean = |a, b| (a * weights[0] + b * weights[1]) / (weights[0] + weights[1]);
    both(one, other, mean).filter(|mean| mean.is_finite())
}

impl From<&Second> for SeriesPoint {
    fn from(second: &Second) -> Self {
        let slice = &second.slice;
        let seconds = second.length_ns() as f64 / 1e9;
        let rate = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
        let p99 = |latency: &Latency| latency.quantile_ns(0.99).map(ms);
        Self {
            t_s: second.start_ns as f64 / 1e9,
            seconds,
            phase: second.phase,
            tps: rate(slice.response.count()),
            statements_per_s: rate(slice.statement_count()),
            response_ms: SeriesLatency::of(&slice.response),
            service_p99_ms: p99(&slice.service),
            errors: slice.error_count(),
            restarts: slice.restarts(),
            reconnects: slice.reconnects,
            backlog: second.backlog,
            lateness_p99_ms: p99(&slice.lateness),
            delay_ms: SeriesLatency::of(&slice.delay),
            workers: second.workers.clone(),
        }
    }
}
