//! One second's histograms, as a line of `intervals.jsonl`.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use measure::latency::Latency;
use measure::setup::StatementKind;
use measure::slice::{ErrorCount, Phase, Second};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalRecord {
    pub phase: Phase,
    /// From the load's origin, in nanoseconds.
    pub start_ns: u64,
    /// From the load's origin, in nanoseconds.
    pub end_ns: u64,
    /// Transactions by the time from their intended start.
    pub response: Histogram,
    /// By the time from their actual start; open loop only.
    pub service: Option<Histogram>,
    /// How late the generator noticed an arrival; open loop only.
    pub lateness: Option<Histogram>,
    /// How late the generator read replies; absent without time stamps.
    pub delay: Option<Histogram>,
    /// Each kind of statement that was sent, by name.
    pub statements: BTreeMap<String, Histogram>,
    pub errors: BTreeMap<String, ErrorCount>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    pub count: u64,
    /// Their exact sum, in nanoseconds.
    pub sum_ns: u64,
    /// HdrHistogram's V2 encoding in base64, which other tools read, too.
    pub hdr: String,
}

impl Histogram {
    fn of(latency: &Latency) -> Self {
        Self {
            count: latency.count(),
            // One second cannot have 584 years of waiting.
            sum_ns: u64::try_from(latency.sum_ns()).unwrap_or(u64::MAX),
            hdr: STANDARD.encode(latency.encode()),
        }
    }

    fn of_any(latency: &Latency) -> Option<Self> {
        (latency.count() > 0).then(|| Self::of(latency))
    }

    pub fn decode(&self) -> Result<Latency, String> {
        let bytes = STANDARD
            .decode(&self.hdr)
            .map_err(|error| error.to_string())?;
        Latency::decode(&bytes).map_err(|error| error.to_string())
    }
}

impl IntervalRecord {
    /// The record of a second of a load with these kinds of statement.
    pub fn of(second: &Second, kinds: &[StatementKind]) -> Self {
        let slice = &second.slice;
        let sent = kinds.iter().zip(&slice.statements);
        Self {
            phase: second.phase,
            start_ns: second.start_ns,
            end_ns: second.end_ns,
            response: Histogram::of(&slice.response),
            service: Histogram::of_any(&slice.service),
            lateness: Histogram::of_any(&slice.lateness),
            delay: Histogram::of_any(&slice.delay),
            statements: sent
                .filter_map(|(kind, latency)| {
                    Some((kind.name.clone(), Histogram::of_any(latency)?))
                })
                .collect(),
            errors: slice.errors.clone(),
        }
    }
}
