//! The clocks of another machine, as exchanges of messages tell them.

use serde::{Deserialize, Serialize};

/// What the clocks of a machine say at one moment, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    pub steady_ns: u64,
    /// Since 1970.
    pub wall_ns: u64,
}

/// A question and its answer on this host's clock, and the other host's clock in between, all in
/// nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    pub asked_ns: u64,
    pub read_ns: u64,
    pub answered_ns: u64,
}

/// How far another clock is ahead of this host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// When, on this host's clock.
    pub at_ns: u64,
    pub ahead_ns: i64,
    /// How wrong it may be at that time.
    pub bound_ns: u64,
    /// The shortest round trip.
    pub round_trip_ns: u64,
}

/// How far the clocks of another machine are ahead of this one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    pub steady: Offset,
    pub wall: Offset,
}

/// By how many parts per million another clock is faster than this host's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    pub ppm: f64,
    /// How wrong it may be.
    pub bound_ppm: f64,
}

/// What is known of a host's clocks at the end of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostClock {
    pub host: String,
    /// How far its time of day is ahead, in seconds, and how wrong that may be.
    pub ahead_s: f64,
    pub bound_s: f64,
    /// How wrong times of what happened there may be, which its monotonic clock tells, in seconds.
    pub events_bound_s: f64,
    /// Of its monotonic clock; `None` before it was measured twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

impl Exchange {
    fn round_trip_ns(&self) -> u64 {
        self.answered_ns.saturating_sub(self.asked_ns)
    }

    /// The other clock is ahead at least by this, if it was read just before the answer arrived.
    fn least(&self) -> i128 {
        i128::from(self.read_ns) - i128::from(self.answered_ns)
    }

    /// And at most by this, if it was read just after the question was sent.
    fn most(&self) -> i128 {
        i128::from(self.read_ns) - i128::from(self.asked_ns)
    }
}

impl Offsets {
    /// From readings of this machine's clocks when it asked, of the other one's, and of this one's
    /// when the answer arrived.
    pub fn of(readings: &[[Reading; 3]]) -> Option<Self> {
        let offset = |of: fn(&Reading) -> u64| {
            let exchange = |[asked, read, answered]: &[Reading; 3]| Exchange {
                asked_ns: of(asked),
                read_ns: of(read),
                answered_ns: of(answered),
            };
            Offset::of(&readings.iter().map(exchange).collect::<Vec<_>>())
        };
        Some(Self {
            steady: offset(|reading| reading.steady_ns)?,
            wall: offset(|reading| reading.wall_ns)?,
        })
    }
}

impl Offset {
    /// From several exchanges, all of which it must be in accordance with; if a clock was set
    /// meanwhile, from the one with the shortest round trip. `None` without any.
    pub fn of(exchanges: &[Exchange]) -> Option<Self> {
        let best = exchanges.iter().min_by_key(|one| one.round_trip_ns())?;
        let least = exchanges.iter().map(Exchange::least).max()?;
        let most = exchanges.iter().map(Exchange::most).min()?;
        let [least, most] = match least <= most {
            true => [least, most],
            false => [best.least(), best.most()],
        };
        // Rounded up, so that it holds.
        let bound = (most - least + 1) / 2;
        Some(Self {
            at_ns: best.asked_ns + best.round_trip_ns() / 2,
            ahead_ns: i64::try_from(least + (most - least) / 2).ok()?,
            bound_ns: u64::try_from(bound).ok()?,
            round_trip_ns: best.round_trip_ns(),
        })
    }

    /// What the other clock says at a time of this host's, about when it was measured.
    pub fn there_ns(&self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.ahead_ns)
    }

    /// The time on this host's clock when the other one said so, about when it was measured.
    pub fn here_ns(&self, there_ns: u64) -> u64 {
        there_ns.saturating_add_signed(self.ahead_ns.saturating_neg())
    }

    /// What the clocks have drifted since an earlier measurement; `None` if it is not earlier.
    pub fn drift_since(&self, earlier: &Self) -> Option<Drift> {
        let elapsed_ns = self.at_ns.checked_sub(earlier.at_ns).filter(|ns| *ns > 0)? as f64;
        let drifted = i128::from(self.ahead_ns) - i128::from(earlier.ahead_ns);
        let bound = i128::from(self.bound_ns) + i128::from(earlier.bound_ns);
        Some(Drift {
            ppm: drifted as f64 / elapsed_ns * 1e6,
            bound_ppm: bound as f64 / elapsed_ns * 1e6,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Exchanges with a clock that is ahead by so much and drifts, each with its delays there and back.
    fn exchanges(from_ns: u64, ahead_ns: i64, ppm: f64, delays: &[(u32, u32)]) -> Vec<Exchange> {
        let mut asked_ns = from_ns;
        let each = delays.iter().map(|(there, back)| {
            let read_at = asked_ns + u64::from(*there);
            let drifted = (read_at as f64 * ppm / 1e6) as i64;
            let one = Exchange {
                asked_ns,
                read_ns: read_at.checked_add_signed(ahead_ns + drifted).unwrap(),
                answered_ns: read_at + u64::from(*back),
            };
            asked_ns = one.answered_ns + 1000;
            one
        });
        each.collect()
    }

    #[test]
    fn the_best_of_many_exchanges_tells_how_far_a_clock_is_ahead() {
        let delays = [(2_000_000, 100_000), (60_000, 50_000), (100_000, 3_000_000)];
        let two_s = 2 * SECOND as i64;
        let offset = Offset::of(&exchanges(5 * SECOND, two_s, 0.0, &delays)).unwrap();
        assert!(offset.ahead_ns.abs_diff(two_s) <= offset.bound_ns);
        assert!(offset.bound_ns <= 55_000, "{offset:?}");
        assert_eq!(
            offset.here_ns(7 * SECOND).abs_diff(5 * SECOND),
            offset.ahead_ns.abs_diff(two_s)
        );
        assert_eq!(Offset::of(&[]), None);
    }

    #[test]
    fn a_late_answer_does_not_count() {
        let reading = |ms: u64, wall_ms: u64| Reading {
            steady_ns: ms * 1_000_000,
            wall_ns: wall_ms * 1_000_000,
        };
        // Its clock is 500 ms behind and its time of day 2 s ahead; the first answer was late.
        let late = [reading(900, 900), reading(401, 2901), reading(920, 920)];
        let soon = [reading(1000, 1000), reading(501, 3001), reading(1002, 1002)];
        let Offsets { steady, wall } = Offsets::of(&[late, soon]).unwrap();
        assert_eq!(
            (steady.ahead_ns, wall.ahead_ns),
            (-500_000_000, 2_000_000_000)
        );
        assert_eq!(
            (steady.round_trip_ns, steady.bound_ns),
            (2_000_000, 1_000_000)
        );
        assert_eq!(steady.there_ns(SECOND), SECOND / 2);
    }

    #[test]
    fn a_clock_that_is_set_meanwhile_is_known_by_the_best_exchange() {
        let mut both = exchanges(SECOND, 0, 0.0, &[(50_000, 50_000)]);
        both.extend(exchanges(
            2 * SECOND,
            -500_000_000,
            0.0,
            &[(10_000, 10_000)],
        ));
        let offset = Offset::of(&both).unwrap();
        assert_eq!((offset.ahead_ns, offset.bound_ns), (-500_000_000, 10_000));
    }

    proptest! {
        /// The bound holds, is no worse than that of the best exchange, and shrinks with more of them.
        #[test]
        fn the_offset_is_within_its_bound(
            ahead in -1_000_000_000_i64..1_000_000_000,
            delays in prop::collection::vec((0_u32..5_000_000, 0_u32..5_000_000), 1..20),
        ) {
            let all = exchanges(10 * SECOND, ahead, 0.0, &delays);
            let offset = Offset::of(&all).unwrap();
            prop_assert!(offset.ahead_ns.abs_diff(ahead) <= offset.bound_ns, "{offset:?}");
            let best = all.iter().map(Exchange::round_trip_ns).min().unwrap();
            prop_assert!(offset.bound_ns <= best.div_ceil(2));
            let fewer = Offset::of(&all[..1]).unwrap();
            prop_assert!(offset.bound_ns <= fewer.bound_ns);
        }

        /// So is the drift.
        #[test]
        fn the_drift_is_within_its_bound(
            ppm in -200.0_f64..200.0,
            seconds in 1_u64..1000,
            delays in prop::collection::vec((0_u32..500_000, 0_u32..500_000), 1..12),
        ) {
            let at = |from| Offset::of(&exchanges(from, 0, ppm, &delays[..1])).unwrap();
            let [first, last] = [at(SECOND), at((1 + seconds) * SECOND)];
            let drift = last.drift_since(&first).unwrap();
            // The other clock also drifts within an exchange, and is read in whole nanoseconds.
            let slack = drift.ppm.abs() * 1e-3 + 1e-3;
            prop_assert!((drift.ppm - ppm).abs() <= drift.bound_ppm + slack, "{drift:?}");
            prop_assert_eq!(first.drift_since(&last), None);
        }

        #[test]
        fn what_a_host_claims_is_survived(values in prop::collection::vec(any::<[u64; 3]>(), 0..5)) {
            let claimed = values.iter().map(|[asked, read, more]| Exchange {
                asked_ns: asked / 4,
                read_ns: *read,
                answered_ns: asked / 4 + more / 4,
            });
            if let Some(offset) = Offset::of(&claimed.collect::<Vec<_>>()) {
                offset.here_ns(values[0][1]);
                offset.drift_since(&offset);
            }
        }
    }
}
