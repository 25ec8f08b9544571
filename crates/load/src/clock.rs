//! The clock of a load. The load engine reads the time and sleeps only through [`Clock`], which
//! tests implement with simulated time. The calls are statically dispatched, so they add nothing to
//! the cost of reading the clock.

use std::future::Future;
use std::time::{Duration, Instant};

use client::clock::{monotonic_ns, monotonic_ns_of};

/// A clock and its timers. Times are nanoseconds since the clock's origin.
pub(crate) trait Clock: Clone + 'static {
    fn now_ns(&self) -> u64;

    /// Converts a time of the system's monotonic clock, in nanoseconds.
    fn convert_ns(&self, monotonic_ns: u64) -> u64;

    fn sleep_until(&self, at_ns: u64) -> impl Future<Output = ()>;

    /// Lets the thread's other tasks run.
    fn yield_now(&self) -> impl Future<Output = ()>;
}

/// The system's monotonic clock, and the timers of the thread's event loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemClock {
    origin: Instant,
    /// The origin as a time of the monotonic clock.
    origin_ns: u64,
}

impl SystemClock {
    /// A clock that reads 0 at `origin`.
    pub(crate) fn new(origin: Instant) -> Self {
        Self {
            origin,
            origin_ns: monotonic_ns_of(origin),
        }
    }

    /// The time of `instant`, in nanoseconds.
    pub(crate) fn time_ns(&self, instant: Instant) -> u64 {
        ns(instant.saturating_duration_since(self.origin))
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.convert_ns(monotonic_ns())
    }

    #[inline]
    fn convert_ns(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.origin_ns)
    }

    fn sleep_until(&self, at_ns: u64) -> impl Future<Output = ()> {
        client::reactor::sleep_until(self.origin + Duration::from_nanos(at_ns))
    }

    fn yield_now(&self) -> impl Future<Output = ()> {
        client::reactor::yield_now()
    }
}

/// A duration in nanoseconds, saturating at 584 years.
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
