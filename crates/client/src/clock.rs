//! The system's monotonic clock as a plain number. [`Instant`] reads the same clock, but
//! converting the difference of two to nanoseconds takes dozens of instructions, and every
//! statement needs several such times.

use std::time::Instant;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Number of readings of both clocks, of which the fastest counts: the others may have been
/// interrupted.
const READINGS: usize = 5;

/// The current time of the monotonic clock, in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}

/// What another clock reads, and the time of the monotonic clock, in nanoseconds, to within about
/// 50 ns.
pub(crate) fn read_both<T>(read: impl Fn() -> T) -> Option<(T, u64)> {
    let readings = (0..READINGS).map(|_| {
        let before_ns = monotonic_ns();
        let other = read();
        let width_ns = monotonic_ns() - before_ns;
        (width_ns, other, before_ns + width_ns / 2)
    });
    let (_, other, at_ns) = readings.min_by_key(|(width_ns, ..)| *width_ns)?;
    Some((other, at_ns))
}

/// A past instant on the same clock, in nanoseconds, to within about 50 ns.
pub fn monotonic_ns_of(instant: Instant) -> u64 {
    let read = read_both(|| instant.elapsed());
    read.map_or(0, |(age, at_ns)| {
        at_ns.saturating_sub(age.as_nanos() as u64)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_instant_lies_between_two_readings_of_the_clock() {
        let slack_ns = 1_000_000;
        let before_ns = monotonic_ns();
        let instant = Instant::now();
        let after_ns = monotonic_ns();
        // The origin of a load may be long ago.
        std::thread::sleep(Duration::from_millis(5));
        let at_ns = monotonic_ns_of(instant);
        assert!((before_ns - slack_ns..=after_ns + slack_ns).contains(&at_ns));
    }
}
