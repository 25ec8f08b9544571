//! The clocks of two machines.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::message::Clocks;

/// The monotonic clock of this machine, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

pub(crate) fn now() -> Clocks {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    Clocks {
        monotonic_ns: monotonic_ns(),
        wall_ns: wall.map_or(0, |wall| wall.as_nanos() as u64),
    }
}

/// How far the clocks of an agent are ahead of this machine's, by the shortest of many round trips:
/// half of it bounds the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    pub monotonic_ns: i64,
    /// Of the time of day. It is reported, and used for nothing.
    pub wall_ns: i64,
    pub round_trip: Duration,
}

impl Offset {
    /// From an answer between two readings of this machine's clocks.
    pub(crate) fn of(asked: Clocks, theirs: Clocks, answered: Clocks) -> Self {
        let between = |one: u64, two: u64| one / 2 + two / 2 + (one & two & 1);
        let ahead = |theirs: u64, mine: u64| theirs.wrapping_sub(mine) as i64;
        let trip_ns = answered.monotonic_ns.saturating_sub(asked.monotonic_ns);
        Self {
            monotonic_ns: ahead(
                theirs.monotonic_ns,
                between(asked.monotonic_ns, answered.monotonic_ns),
            ),
            wall_ns: ahead(theirs.wall_ns, between(asked.wall_ns, answered.wall_ns)),
            round_trip: Duration::from_nanos(trip_ns),
        }
    }

    pub(crate) fn better(self, other: Self) -> Self {
        match other.round_trip < self.round_trip {
            true => other,
            false => self,
        }
    }

    /// A time of this machine's monotonic clock on the agent's.
    pub fn there_ns(&self, here_ns: u64) -> u64 {
        here_ns.wrapping_add_signed(self.monotonic_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_that_of_the_shortest_round_trip() {
        let clocks = |ms: u64, wall_ms: u64| Clocks {
            monotonic_ns: ms * 1_000_000,
            wall_ns: wall_ms * 1_000_000,
        };
        // Its clock is 500 ms behind and its time of day 2 s ahead; the first answer was late.
        let late = Offset::of(clocks(900, 900), clocks(401, 2901), clocks(920, 920));
        let soon = Offset::of(clocks(1000, 1000), clocks(501, 3001), clocks(1002, 1002));
        let best = late.better(soon);
        assert_eq!(
            (best.monotonic_ns, best.wall_ns),
            (-500_000_000, 2_000_000_000)
        );
        assert_eq!(best.round_trip, Duration::from_millis(2));
        assert_eq!(best.there_ns(1_000_000_000), 500_000_000);
    }
}
