//! The clocks of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use measure::clock::Reading;
use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock of this machine, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

pub(crate) fn now() -> Reading {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    Reading {
        steady_ns: monotonic_ns(),
        wall_ns: wall.map_or(0, |wall| wall.as_nanos() as u64),
    }
}
