//! Requests to end a load early.

use std::sync::atomic::{AtomicU8, Ordering};

const ENOUGH: u8 = 1;
const INTERRUPT: u8 = 2;

/// Asks the loads of a trial to end. Running transactions complete either way.
#[derive(Debug, Default)]
pub struct Stop(AtomicU8);

impl Stop {
    /// Ends the loads as if their time were over: enough has been measured.
    pub fn enough(&self) {
        self.0.fetch_max(ENOUGH, Ordering::Relaxed);
    }

    /// Ends the loads, whatever has been measured.
    pub fn interrupt(&self) {
        self.0.fetch_max(INTERRUPT, Ordering::Relaxed);
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ENOUGH
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= INTERRUPT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_more_than_enough() {
        let stop = Stop::default();
        assert!(!stop.is_asked());
        stop.enough();
        assert!(stop.is_asked() && !stop.is_interrupted());
        stop.interrupt();
        stop.enough();
        assert!(stop.is_asked() && stop.is_interrupted());
    }
}
