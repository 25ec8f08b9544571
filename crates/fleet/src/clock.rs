//! The clocks of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use measure::clock::Reading;
use rustix::time::{ClockId, clock_gettime};

pub(crate) fn now() -> Reading {
    let steady = clock_gettime(ClockId::Monotonic);
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    Reading {
        steady_ns: steady.tv_sec as u64 * 1_000_000_000 + steady.tv_nsec as u64,
        wall_ns: wall.map_or(0, |wall| wall.as_nanos() as u64),
    }
}
