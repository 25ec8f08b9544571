//! What a study leaves to chance, and the ledger that proves what it cost.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::duration::parse_duration;
use crate::fault_kind::FaultKind;

/// A random schedule of faults. The plan contains the faults that were drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chaos {
    pub kinds: Vec<FaultKind>,
    /// Mean number of faults per second, above 0.
    pub per_s: f64,
    pub seed: u64,
}

impl Chaos {
    /// Stands for every kind that a trial can have.
    pub const ANY: &str = "any";
    /// Every fault is healed at least this long before the end of the measurement.
    pub const HEALED_BEFORE_END: Duration = Duration::from_secs(10);
}

/// Parses a frequency such as `1 per 30s` or `2 per 1m30s`; returns events per second, above 0.
pub fn parse_frequency(text: &str) -> Option<f64> {
    let (count, period) = text.split_once(" per ")?;
    let count: u32 = count.trim().parse().ok()?;
    let period_s = parse_duration(period).ok()?.as_secs_f64();
    let per_s = f64::from(count) / period_s;
    (per_s > 0.0 && per_s.is_finite()).then_some(per_s)
}

/// A workload that proves which acknowledged commits were kept. It runs beside the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Transfers per second of each instance.
    pub rate: f64,
    /// Reads of replicas per second, which measure how stale they are; 0: none.
    pub replica_reads: f64,
}

impl Ledger {
    /// Number of users that make an instance's transfers: one for every 25 transfers per second, at
    /// most 64.
    pub fn users(&self) -> u32 {
        (self.rate / 25.0).ceil().clamp(1.0, 64.0) as u32
    }
}
