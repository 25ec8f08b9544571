//! One small record for each second, for charts and for reading by line.

use serde::{Deserialize, Serialize};

use crate::latency::Latency;
use crate::slice::{Busy, Phase, Second};
use crate::summary::ms;

/// What one second of a load gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Its start, in seconds from the load's origin.
    pub t_s: f64,
    /// Its length, in seconds.
    pub seconds: f64,
    /// What it was for.
    pub phase: Phase,
    /// Transactions that ended, in a second; `None` when no time passed.
    pub tps: Option<f64>,
    /// Statements that got their reply, in a second.
    pub statements_per_s: Option<f64>,
    /// Response times; `None` when no transaction ended.
    pub response_ms: Option<SeriesLatency>,
    /// 99th percentile of the service time; open loop only.
    pub service_p99_ms: Option<f64>,
    /// Errors of all codes.
    pub errors: u64,
    /// Connections that were lost and opened again.
    pub reconnects: u64,
    /// Arrivals that were due and not started at its end; open loop only.
    pub backlog: Option<u64>,
    /// 99th percentile of how late the generator noticed an arrival.
    pub lateness_p99_ms: Option<f64>,
    /// How late the generator read replies; `None` where nothing was stamped.
    #[serde(default)]
    pub delay_ms: Option<SeriesLatency>,
    /// Each worker's shares.
    pub workers: Vec<Busy>,
}

/// Durations of one second, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SeriesLatency {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// 95 % are not longer.
    pub p95: f64,
    /// 99 % are not longer.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl SeriesLatency {
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

impl From<&Second> for SeriesPoint {
    fn from(second: &Second) -> Self {
        let slice = &second.slice;
        let seconds = second.end_ns.saturating_sub(second.start_ns) as f64 / 1e9;
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
            errors: slice.errors.values().map(|error| error.count).sum(),
            reconnects: slice.reconnects,
            backlog: second.backlog,
            lateness_p99_ms: p99(&slice.lateness),
            delay_ms: SeriesLatency::of(&slice.delay),
            workers: second.workers.clone(),
        }
    }
}
