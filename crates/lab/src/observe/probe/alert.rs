//! How closely an instance is watched.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum time that an instance is watched closely after a fault.
const MAX_ALERT: Duration = Duration::from_secs(120);
/// How long members are still probed closely after one has accepted a write.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// No recent fault.
    Quiet,
    /// A member accepts writes again after a fault.
    Recovering,
    /// A fault was requested, and no write has been accepted since it took effect.
    Alert,
}

/// The last fault of an instance, shared with the threads that watch the instance.
#[derive(Debug, Default)]
pub(crate) struct Alert(Mutex<State>);

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
    pub(crate) fn raise(&self) {
        *self.lock() = State {
            asked_at: Some(Instant::now()),
            ..State::default()
        };
    }

    pub(crate) fn took_effect(&self, at: Instant) {
        self.lock().effect_at = Some(at);
    }

    /// Called when a member has accepted a write that was sent at `sent_at`.
    pub(crate) fn written(&self, sent_at: Instant) {
        let mut state = self.lock();
        if state.written_at.is_none() && state.effect_at.is_some_and(|at| at <= sent_at) {
            state.written_at = Some(Instant::now());
        }
    }

    pub(crate) fn level(&self) -> Level {
        self.lock().level(Instant::now())
    }

    /// When the last fault was requested.
    pub(crate) fn asked_at(&self) -> Option<Instant> {
        self.lock().asked_at
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
}
