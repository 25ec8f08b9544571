//! The common start of concurrent loads.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::control::lock;
use crate::outcome::LoadError;
use crate::stop::Stop;

/// How often a waiting load checks for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Makes loads wait for each other. Once the last one has opened its connections, all start at the
/// same instant, on one clock.
#[derive(Debug)]
pub struct Barrier {
    origin: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    missing: u32,
    begun: Option<Instant>,
    is_broken: bool,
}

impl Barrier {
    pub fn new(loads: u32) -> Self {
        Self {
            origin: Instant::now(),
            state: Mutex::new(State {
                missing: loads,
                begun: None,
                is_broken: false,
            }),
            changed: Condvar::new(),
        }
    }

    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// When the loads started; `None` if they have not.
    pub fn begun(&self) -> Option<Instant> {
        lock(&self.state).begun
    }

    /// Waits for all other loads; returns the instant at which all of them start.
    pub(crate) fn wait(&self, stop: &Stop) -> Result<Instant, LoadError> {
        let mut state = lock(&self.state);
        state.missing = state.missing.saturating_sub(1);
        if state.missing == 0 {
            state.begun = Some(Instant::now());
            self.changed.notify_all();
        }
        loop {
            if let Some(begun) = state.begun {
                return Ok(begun);
            }
            if stop.is_interrupted() {
                return Err(LoadError::Interrupted);
            }
            if state.is_broken {
                return Err(LoadError::OtherFailed);
            }
            let waited = self.changed.wait_timeout(state, POLL_INTERVAL);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    /// Releases the other loads because this one failed before the start.
    pub(crate) fn break_off(&self) {
        lock(&self.state).is_broken = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_loads_start_at_the_same_instant() {
        let barrier = Barrier::new(3);
        let never = Stop::default();
        let begun: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| barrier.wait(&never)))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let all = barrier.begun();
        assert!(all.is_some() && begun.into_iter().all(|at| at.ok() == all));
    }

    #[test]
    fn a_load_that_fails_releases_the_others() {
        let barrier = Barrier::new(2);
        let never = Stop::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait(&never));
            barrier.break_off();
            let waited = waiting.join().unwrap();
            assert!(matches!(waited, Err(LoadError::OtherFailed)));
        });
        assert_eq!(barrier.begun(), None);
    }

    #[test]
    fn an_interrupt_ends_the_wait() {
        let barrier = Barrier::new(2);
        let stop = Stop::default();
        stop.interrupt();
        let waited = barrier.wait(&stop);
        assert!(matches!(waited, Err(LoadError::Interrupted)));
    }
}
