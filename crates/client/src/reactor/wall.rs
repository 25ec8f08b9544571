//! Converts the kernel's time stamps from the wall clock to the monotonic clock.
//!
//! On Linux only a step of the wall clock changes the difference between the two: NTP slews
//! both (at most 500 ppm, clock_gettime(2)). A difference that was measured a second ago is
//! therefore as exact as the two readings that it comes from, about 50 ns. A timer that the
//! kernel cancels when the wall clock is set (timerfd_create(2)) reports steps; stamps taken
//! around one are not converted at all.

use std::cell::Cell;
use std::io::Result;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::time::{TimerfdClockId, TimerfdTimerFlags};

use super::timerfd::TimerFd;
use crate::clock::read_both;

/// Interval of measuring the difference of the clocks.
const PERIOD: Duration = Duration::from_secs(1);
/// If two differences are further apart than this, the wall clock was set in between. Far above the
/// error of a reading, and far below any step in practice.
const STEP_NS: u64 = 20_000;

/// A time of the wall clock, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WallTime(pub(crate) u64);

/// The times of both clocks at the same instant.
#[derive(Debug, Clone, Copy)]
struct Reference {
    wall: WallTime,
    at_ns: u64,
}

impl Reference {
    /// Reads both clocks; `None` while the wall clock is before 1970.
    fn take() -> Option<Self> {
        let (wall, at_ns) = read_both(SystemTime::now)?;
        let ns = wall.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        let wall = WallTime(u64::try_from(ns).ok()?);
        Some(Self { wall, at_ns })
    }

    #[inline]
    fn monotonic_ns(self, wall: WallTime) -> Option<u64> {
        self.at_ns.checked_add(wall.0)?.checked_sub(self.wall.0)
    }

    /// Whether the wall clock was set between this reference and a later one.
    fn was_set_before(self, later: Self) -> bool {
        self.monotonic_ns(later.wall)
            .is_none_or(|expected_ns| expected_ns.abs_diff(later.at_ns) > STEP_NS)
    }
}

/// Converts times of the wall clock, for one event loop.
#[derive(Debug)]
pub(super) struct WallClock {
    timer: TimerFd,
    /// `None` while the wall clock cannot be trusted.
    reference: Cell<Option<Reference>>,
}

impl WallClock {
    /// Sends `token` to `registry` each second, and when the wall clock is set.
    pub(super) fn new(registry: &mio::Registry, token: mio::Token) -> Result<Self> {
        let clock = Self {
            timer: TimerFd::new(TimerfdClockId::Realtime, registry, token)?,
            reference: Cell::new(None),
        };
        clock.arm()?;
        clock.reference.set(Reference::take());
        Ok(clock)
    }

    /// Measures the difference of the clocks again after the timer has expired or was canceled.
    pub(super) fn tick(&self) -> Result<()> {
        let mut expirations = [0; 8];
        let was_set = rustix::io::read(&self.timer.0, &mut expirations) == Err(Errno::CANCELED);
        self.arm()?;
        self.renew(was_set, Reference::take());
        Ok(())
    }

    /// After a step, nothing is converted until the next reference: packets that were stamped
    /// before it may still be unread.
    fn renew(&self, was_set: bool, fresh: Option<Reference>) {
        let is_same_clock = |fresh: &Reference| match self.reference.get() {
            Some(old) => !old.was_set_before(*fresh),
            None => true,
        };
        let trusted = fresh.filter(|fresh| !was_set && is_same_clock(fresh));
        self.reference.set(trusted);
    }

    /// Sets the timer to one second from now.
    fn arm(&self) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let at = now.unwrap_or_default() + PERIOD;
        // The kernel cancels absolute timers only.
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        self.timer.set(at, flags)
    }

    /// The time of the monotonic clock for a time of the wall clock, in nanoseconds; `None` for a
    /// second after a step of the wall clock.
    #[inline]
    pub(super) fn monotonic_ns(&self, wall: WallTime) -> Option<u64> {
        self.reference.get()?.monotonic_ns(wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;

    fn clock() -> WallClock {
        let poll = mio::Poll::new().unwrap();
        WallClock::new(poll.registry(), mio::Token(0)).unwrap()
    }

    fn wall_now() -> WallTime {
        WallTime(
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_nanos() as u64,
        )
    }

    /// A reference taken after the wall clock was set ahead by `ahead_ns`.
    fn set_by(reference: Reference, ahead_ns: i64) -> Reference {
        Reference {
            wall: WallTime(reference.wall.0.checked_add_signed(ahead_ns).unwrap()),
            ..reference
        }
    }

    #[test]
    fn the_wall_clocks_now_lies_between_two_readings_of_the_other() {
        let clock = clock();
        let before_ns = monotonic_ns();
        let now_ns = clock.monotonic_ns(wall_now()).unwrap();
        let after_ns = monotonic_ns();
        assert!((before_ns - STEP_NS..=after_ns + STEP_NS).contains(&now_ns));
        // Applies to stamps from before the reference, too.
        let old = WallTime(wall_now().0 - 10_000_000_000);
        let age_ns = monotonic_ns() - clock.monotonic_ns(old).unwrap();
        assert!(age_ns + STEP_NS >= 10_000_000_000, "{age_ns}");
    }

    #[test]
    fn nothing_is_converted_between_a_step_and_the_next_reference() {
        let clock = clock();
        clock.renew(true, Reference::take());
        assert_eq!(clock.monotonic_ns(wall_now()), None);
        clock.renew(false, Reference::take());
        assert!(clock.monotonic_ns(wall_now()).is_some());
    }

    #[test]
    fn a_step_that_was_not_reported_is_detected_at_the_next_reference() {
        for ahead_ns in [100_000, -100_000, 3_600_000_000_000, -3_600_000_000_000] {
            let clock = clock();
            let stepped = set_by(Reference::take().unwrap(), ahead_ns);
            clock.renew(false, Some(stepped));
            assert_eq!(clock.monotonic_ns(wall_now()), None, "{ahead_ns}");
        }
    }
}
