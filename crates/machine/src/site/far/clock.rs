//! The clocks of another host, as this host sees them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use measure::clock::{Drift, Offset, Offsets, Reading};

/// What this machine's clocks say; the steady one since `origin`.
pub(super) fn now(origin: Instant) -> Reading {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    Reading {
        steady_ns: nanos(origin.elapsed()),
        wall_ns: nanos(wall.unwrap_or_default()),
    }
}

/// How a host's clocks differ from this host's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// When the clock of this host began that the offsets of steady clocks count from.
    origin: Instant,
    pub steady: Offset,
    /// Of the times of day.
    pub wall: Offset,
    /// How fast the steady clocks drift apart; `None` at first.
    pub drift: Option<Drift>,
}

impl Clock {
    /// From readings as of [`Offsets::of`]. `first`: the first measurement.
    pub(super) fn of(
        origin: Instant,
        readings: &[[Reading; 3]],
        first: Option<&Self>,
    ) -> Option<Self> {
        let Offsets { steady, wall } = Offsets::of(readings)?;
        Some(Self {
            origin,
            steady,
            wall,
            drift: first.and_then(|first| steady.drift_since(&first.steady)),
        })
    }

    /// The moment on this host's clock at which the host's steady clock said so.
    pub fn here(&self, steady: Duration) -> Instant {
        let here = Duration::from_nanos(self.steady.here_ns(nanos(steady)));
        self.origin.checked_add(here).unwrap_or(self.origin)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_is_measured_within_its_bound() {
        let (here, there) = (Instant::now(), Instant::now() + Duration::from_millis(3));
        let mut exchanges = Vec::new();
        while exchanges.len() < 5 {
            if there.elapsed().is_zero() {
                continue;
            }
            let asked = now(here);
            let mut read = now(there);
            read.wall_ns += 2_000_000_000;
            exchanges.push([asked, read, now(here)]);
        }
        let clock = Clock::of(here, &exchanges, None).unwrap();
        let error = clock.wall.ahead_ns.abs_diff(2_000_000_000);
        assert!(error <= clock.wall.bound_ns, "{clock:?}");
        let shown = clock.here(Duration::from_secs(1));
        let expected = there + Duration::from_secs(1);
        let error = shown.max(expected) - shown.min(expected);
        assert!(
            nanos(error) <= clock.steady.bound_ns + 1,
            "{error:?} {clock:?}"
        );
        let again = Clock::of(here, &exchanges, Some(&clock)).unwrap();
        assert_eq!(again.drift, None);
    }
}
