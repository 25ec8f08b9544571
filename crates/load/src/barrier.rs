//! The common start of concurrent loads.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::control::lock;
use crate::outcome::LoadError;
use crate::stop::Stop;

/// How often a waiting load checks for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Makes loads wait for each other. Once the last one has opened its connections, all start at the
/// same instant, on one clock. A load of a fleet waits for an instant that its coordinator sets.
#[derive(Debug)]
pub struct Barrier {
    origin: Instant,
    /// Whether another process sets the instant.
    is_held: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    missing: u32,
    begun: Option<Instant>,
    /// When the first load passed.
    passed: Option<Instant>,
    is_broken: bool,
}

impl Barrier {
    pub fn new(loads: u32) -> Self {
        Self {
            origin: Instant::now(),
            is_held: false,
            state: Mutex::new(State {
                missing: loads,
                begun: None,
                passed: None,
                is_broken: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// That of a single load on a clock with this origin, which only [`Barrier::begin_at`] opens.
    pub fn held(origin: Instant) -> Self {
        Self {
            origin,
            is_held: true,
            ..Self::new(1)
        }
    }

    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Nanoseconds from the origin; 0 for an earlier instant.
    pub fn ns(&self, at: Instant) -> u64 {
        let elapsed = at.saturating_duration_since(self.origin);
        u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
    }

    /// When the loads started; `None` if they have not.
    pub fn begun(&self) -> Option<Instant> {
        lock(&self.state).begun
    }

    /// Whether all loads wait.
    pub fn is_ready(&self) -> bool {
        lock(&self.state).missing == 0
    }

    /// When the first load passed; `None` if none has.
    pub fn passed(&self) -> Option<Instant> {
        lock(&self.state).passed
    }

    /// Sets the instant at which the loads start.
    pub fn begin_at(&self, begin: Instant) {
        lock(&self.state).begun.get_or_insert(begin);
        self.changed.notify_all();
    }

    /// Waits for all other loads, and then for the instant at which all of them start.
    pub(crate) fn wait(&self, stop: &Stop) -> Result<Instant, LoadError> {
        let begun = self.meet(Duration::ZERO, stop)?;
        std::thread::sleep(begun.saturating_duration_since(Instant::now()));
        lock(&self.state).passed.get_or_insert_with(Instant::now);
        Ok(begun)
    }

    /// Waits for all other loads; returns the instant at which all of them start. The last one sets
    /// it to `lead` after now, unless the barrier is held.
    pub fn meet(&self, lead: Duration, stop: &Stop) -> Result<Instant, LoadError> {
        let mut state = lock(&self.state);
        state.missing = state.missing.saturating_sub(1);
        if state.missing == 0 && !self.is_held {
            state.begun = Some(Instant::now() + lead);
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
    pub fn break_off(&self) {
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
