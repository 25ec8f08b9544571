//! How closely an instance is watched.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum time that an instance is watched closely after a fault.
const MAX_ALERT: Duration = Duration::from_secs(120);
/// How long members are still probed closely after one has accepted a write.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// No recent fault.
    Quiet,
    /// A member accepts writes again after a fault.
    Recovering,
    /// A fault was requested, and no write has been accepted since it took effect.
    Alert,
}

/// The last fault of an instance, shared with the threads that watch the instance.
#[derive(Debug, Default)]
pub(super) struct Alert {
    state: Mutex<State>,
    raised: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    asked_at: Option<Instant>,
    effect_at: Option<Instant>,
    /// When the first write was accepted that was sent after the fault took effect.
    written_at: Option<Instant>,
}

impl State {
    fn level(&self, now: Instant) -> Level {
        let is_since = |at: Option<Instant>, limit| at.is_some_and(|at| now < at + limit);
        let is_written = self.written_at.is_some() && !is_since(self.written_at, GRACE);
        match is_since(self.asked_at, MAX_ALERT) {
            true if is_written => Level::Recovering,
            true => Level::Alert,
            false => Level::Quiet,
        }
    }
}

impl Alert {
    /// Called before a fault is requested.
    pub(super) fn raise(&self) {
        *self.lock() = State {
            asked_at: Some(Instant::now()),
            ..State::default()
        };
        self.raised.notify_all();
    }

    pub(super) fn took_effect(&self, at: Instant) {
        self.lock().effect_at = Some(at);
    }

    /// Called when a member has accepted a write that was sent at `sent_at`.
    pub(super) fn written(&self, sent_at: Instant) {
        let mut state = self.lock();
        if state.written_at.is_none() && state.effect_at.is_some_and(|at| at <= sent_at) {
            state.written_at = Some(Instant::now());
        }
    }

    pub(super) fn level(&self) -> Level {
        self.lock().level(Instant::now())
    }

    /// When the last fault was requested.
    pub(super) fn asked_at(&self) -> Option<Instant> {
        self.lock().asked_at
    }

    /// Waits for an interval after `since`, which depends on the level; a new fault ends the wait
    /// early.
    pub(super) fn wait(&self, since: Instant, interval: impl Fn(Level) -> Duration) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let due = since + interval(state.level(now));
            if due <= now {
                return;
            }
            let waited = self.raised.wait_timeout(state, due - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_lasts_until_a_write_after_the_effect() {
        let alert = Alert::default();
        assert_eq!(alert.level(), Level::Quiet);
        alert.raise();
        let before = Instant::now();
        alert.written(before);
        assert!(alert.lock().written_at.is_none(), "there was no effect yet");
        alert.took_effect(Instant::now());
        alert.written(before);
        assert!(alert.lock().written_at.is_none(), "it was sent before");
        assert_eq!(alert.level(), Level::Alert);
        alert.written(Instant::now());
        let written_at = alert.lock().written_at.unwrap();
        let level = |after| alert.lock().level(written_at + after);
        assert_eq!(level(Duration::ZERO), Level::Alert);
        assert_eq!(level(GRACE), Level::Recovering);
        assert_eq!(level(MAX_ALERT), Level::Quiet);
        alert.raise();
        assert_eq!(alert.level(), Level::Alert, "the next fault");
    }

    #[test]
    fn a_fault_ends_a_long_wait() {
        let alert = Alert::default();
        let hour = Duration::from_secs(3600);
        let interval = |level| {
            if level == Level::Quiet {
                hour
            } else {
                Duration::ZERO
            }
        };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| alert.wait(Instant::now(), interval));
            alert.raise();
            waiting.join().unwrap();
        });
    }
}
