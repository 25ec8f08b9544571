//! The clock of a trial, for what runs beside its loads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use load::Barrier;

/// How often to check whether the loads have begun or ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The clock of a trial, which the loads start and end.
#[derive(Clone, Copy)]
pub(crate) struct Clock<'a> {
    pub(crate) barrier: &'a Barrier,
    /// Becomes true when the loads have ended.
    pub(crate) over: &'a AtomicBool,
}

impl Clock<'_> {
    /// Whether the loads have ended.
    pub(crate) fn is_over(self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Waits for the start of the loads; `None` if the trial ends before.
    pub(crate) fn begun(self) -> Option<Instant> {
        while !self.is_over() {
            if let Some(begun) = self.barrier.begun() {
                return Some(begun);
            }
            sleep(POLL_INTERVAL);
        }
        None
    }

    /// Waits until an instant; false if the trial ends before.
    pub(crate) fn wait(self, due: Instant) -> bool {
        while !self.is_over() {
            match due.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return true,
                wait => sleep(wait.min(POLL_INTERVAL)),
            }
        }
        false
    }

    /// An instant on the trial's clock, in nanoseconds.
    pub(crate) fn ns(self, at: Instant) -> u64 {
        let elapsed = at.saturating_duration_since(self.barrier.origin());
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The same in seconds.
    pub(crate) fn seconds(self, at: Instant) -> f64 {
        seconds(self.ns(at))
    }
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
