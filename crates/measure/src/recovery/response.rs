//! Response times around a fault.

use super::Observation;
use crate::latency::{Buckets, TotalLatency, ms};
use crate::slice::Second;

/// The response times of one second of a load.
#[derive(Debug, Clone)]
pub struct ResponseSecond {
    /// Seconds on the trial's clock.
    pub(super) begin_s: f64,
    pub(super) end_s: f64,
    response: Buckets,
    /// Arrivals that waited at the end of the second; open loop only.
    pub(super) backlog: Option<u64>,
}

impl From<&Second> for ResponseSecond {
    fn from(second: &Second) -> Self {
        Self {
            begin_s: second.start_ns as f64 / 1e9,
            end_s: second.end_ns as f64 / 1e9,
            response: Buckets::of(&second.slice.response),
            backlog: second.backlog,
        }
    }
}

/// The 99th percentile over the seconds that lie between two times, in milliseconds.
pub(super) fn p99_within_ms(seconds: &[ResponseSecond], from_s: f64, to_s: f64) -> Option<f64> {
    p99_ms(seconds, |one| one.begin_s >= from_s && one.end_s <= to_s)
}

/// The 99th percentile over the seconds that overlap the time between two times, in milliseconds.
pub(super) fn p99_around_ms(seconds: &[ResponseSecond], from_s: f64, to_s: f64) -> Option<f64> {
    p99_ms(seconds, |one| one.end_s > from_s && one.begin_s <= to_s)
}

fn p99_ms(seconds: &[ResponseSecond], which: impl Fn(&&ResponseSecond) -> bool) -> Option<f64> {
    let mut all = TotalLatency::default();
    for second in seconds.iter().filter(which) {
        second.response.add_to(&mut all);
    }
    all.quantile_ns(0.99).map(ms)
}

/// When the backlog of an open loop that grew after `from_s` was worked off, so that no more
/// arrivals waited than at any earlier time of the load; `None` if none grew.
pub(super) fn backlog_gone(
    seconds: &[ResponseSecond],
    before_s: (f64, f64),
    from_s: f64,
    end_s: f64,
) -> Option<Observation> {
    let waiting = |one: &ResponseSecond| one.backlog.unwrap_or(0);
    let is_before = |one: &&ResponseSecond| one.begin_s >= before_s.0 && one.end_s <= before_s.1;
    let usual = seconds.iter().filter(is_before).map(waiting).max();
    // A few arrivals may wait at any time.
    let usual = usual.unwrap_or(0).max(FEW_WAITING);
    let mut later = seconds
        .iter()
        .filter(|one| one.end_s > from_s && one.end_s <= end_s);
    later.find(|one| waiting(one) > usual)?;
    let gone_s = later.find(|one| waiting(one) <= usual).map(|one| one.end_s);
    Some(gone_s.map_or(Observation::Longer(end_s), Observation::Exactly))
}

/// Number of arrivals that may wait without being a backlog.
const FEW_WAITING: u64 = 10;
