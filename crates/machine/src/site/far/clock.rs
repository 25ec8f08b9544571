//! The clocks of another host, as this host sees them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What a host's clocks say at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Reading {
    /// Nanoseconds since dyno's program began there.
    pub(super) steady_ns: u64,
    /// Nanoseconds since 1970.
    pub(super) wall_ns: u64,
}

impl Reading {
    pub(super) fn now(origin: Instant) -> Self {
        Self {
            steady_ns: nanos(origin.elapsed()),
            wall_ns: nanos(since_1970()),
        }
    }
}

/// How a host's clocks differ from this host's: from the exchange with the shortest round trip, in
/// whose middle the host is taken to have answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// When dyno's program began there, on this host's clock.
    pub origin: Instant,
    /// How far the host's time of day is ahead, in seconds.
    pub ahead_s: f64,
    /// How wrong both may be.
    pub bound: Duration,
    pub(super) at: Instant,
}

impl Clock {
    /// From a reading that was asked for then, and has just arrived.
    pub(super) fn of(asked: Instant, reading: Reading) -> Option<Self> {
        let (at, wall) = (Instant::now(), since_1970());
        let bound = at.duration_since(asked) / 2;
        let middle = at.checked_sub(bound)?;
        let origin = middle.checked_sub(Duration::from_nanos(reading.steady_ns))?;
        let wall = wall.checked_sub(bound)?.as_secs_f64();
        Some(Self {
            origin,
            ahead_s: Duration::from_nanos(reading.wall_ns).as_secs_f64() - wall,
            bound,
            at,
        })
    }

    /// The moment on this host's clock at which the host's steady clock said so.
    pub fn here(&self, steady: Duration) -> Instant {
        self.origin.checked_add(steady).unwrap_or(self.at)
    }
}

fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_is_measured_within_its_bound() {
        let (origin, asked) = (Instant::now(), Instant::now());
        let mut reading = Reading::now(origin);
        reading.wall_ns += 2_000_000_000;
        let clock = Clock::of(asked, reading).unwrap();
        let bound = clock.bound + Duration::from_millis(1);
        assert!(
            (clock.ahead_s - 2.0).abs() <= bound.as_secs_f64(),
            "{clock:?}"
        );
        let here = clock.here(Duration::from_secs(1));
        let expected = origin + Duration::from_secs(1);
        let error = here.max(expected) - here.min(expected);
        assert!(error <= bound, "{error:?} {clock:?}");
    }
}
