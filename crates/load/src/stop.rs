//! Requests to end a load early.

use std::sync::atomic::{AtomicU8, Ordering};

const ENOUGH: u8 = 1;
const INTERRUPT: u8 = 2;

/// Requests to end the loads of a trial. In either case, running transactions complete.
#[derive(Debug, Default)]
pub struct Stop(AtomicU8);

impl Stop {
    /// Ends the loads as if their time were over, because enough has been measured.
    pub fn enough(&self) {
        self.0.fetch_max(ENOUGH, Ordering::Relaxed);
    }

    pub fn interrupt(&self) {
        self.0.fetch_max(INTERRUPT, Ordering::Relaxed);
    }

    /// Whether the loads should end, for either reason.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ENOUGH
    }

    pub fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= INTERRUPT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_overrides_enough() {
        let stop = Stop::default();
        assert!(!stop.is_requested());
        stop.enough();
        assert!(stop.is_requested() && !stop.is_interrupted());
        stop.interrupt();
        stop.enough();
        assert!(stop.is_requested() && stop.is_interrupted());
    }
}
