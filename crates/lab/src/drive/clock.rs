//! The clock of a trial, for what runs beside the loads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use load::Barrier;

const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Clone, Copy)]
pub(crate) struct Clock<'a> {
    pub(crate) barrier: &'a Barrier,
    /// Becomes true when the loads end.
    pub(crate) over: &'a AtomicBool,
}

impl Clock<'_> {
    pub(crate) fn is_over(self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Waits until the loads start; `None` if the trial ends first.
    pub(crate) fn begun(self) -> Option<Instant> {
        while !self.is_over() {
            if let Some(begun) = self.barrier.begun() {
                return Some(begun);
            }
            sleep(POLL_INTERVAL);
        }
        None
    }

    /// Waits until `due`; false if the trial ends first.
    pub(crate) fn wait(self, due: Instant) -> bool {
        while !self.is_over() {
            match due.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return true,
                wait => sleep(wait.min(POLL_INTERVAL)),
            }
        }
        false
    }

    /// Nanoseconds since the trial's origin; 0 for an earlier instant.
    pub(crate) fn ns(self, at: Instant) -> u64 {
        self.barrier.ns(at)
    }

    pub(crate) fn seconds(self, at: Instant) -> f64 {
        seconds(self.ns(at))
    }

    pub(crate) fn now_s(self) -> f64 {
        self.seconds(Instant::now())
    }
}

pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
