//! The pulse of a load: its progress, readable between its seconds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::recovery::{FirstWrite, TimedError};
use workload::session::{FailureKind, SessionError};

use crate::control::lock;

/// Maximum number of errors that are kept until they are taken.
const MAX_ERRORS: usize = 10_000;
/// How long a killed server may continue, because some of its processes notice it late.
const DYING_NS: u64 = 200_000_000;
/// No transaction is awaited.
const NONE: u64 = u64::MAX;

/// Progress of a running load, readable at any time. Each transaction costs an atomic addition and
/// a comparison; only errors and the first transaction after a fault take a lock.
#[derive(Debug)]
pub struct Pulse {
    completed: AtomicU64,
    /// The earliest start of a transaction that is awaited; [`NONE`] if none is.
    awaited_ns: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    firsts: Vec<FirstWrite>,
    errors: Vec<TimedError>,
}

/// Whether the server continued only until its connections broke.
fn is_last_gasp(first: FirstWrite, lost_ns: u64) -> bool {
    let is_dying = lost_ns.saturating_sub(first.since_ns) < DYING_NS;
    is_dying && first.end_ns.is_some_and(|end_ns| end_ns <= lost_ns)
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            completed: AtomicU64::new(0),
            awaited_ns: AtomicU64::new(NONE),
            state: Mutex::default(),
        }
    }
}

impl Pulse {
    pub fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }

    /// Awaits the first transaction that starts at `since_ns` or later. If a connection is lost
    /// soon after that, awaits one that starts after the loss. A transaction that was running at
    /// that time and is repeated after an error counts from its next attempt. Faults that take
    /// effect at the same time may call this in any order.
    pub fn await_first(&self, since_ns: u64) {
        let mut state = lock(&self.state);
        state.firsts.push(FirstWrite {
            since_ns,
            end_ns: None,
        });
        self.awaited_ns.fetch_min(since_ns, Ordering::Relaxed);
    }

    /// The awaited transactions, in the order of the calls.
    pub fn firsts(&self) -> Vec<FirstWrite> {
        lock(&self.state).firsts.clone()
    }

    /// Takes the errors since the last call, at most 10,000.
    pub fn take_errors(&self) -> Vec<TimedError> {
        std::mem::take(&mut lock(&self.state).errors)
    }

    /// Adds what the pulses of the load's parts in other processes have published.
    pub fn absorb(&self, completed: u64, errors: Vec<TimedError>) {
        self.completed.fetch_add(completed, Ordering::Relaxed);
        let mut state = lock(&self.state);
        let room = MAX_ERRORS.saturating_sub(state.errors.len());
        state.errors.extend(errors.into_iter().take(room));
    }

    /// Sets when an awaited transaction of any part ended, by the number of its call.
    pub fn set_first(&self, call: usize, end_ns: Option<u64>) {
        if let Some(first) = lock(&self.state).firsts.get_mut(call) {
            first.end_ns = end_ns;
        }
    }

    /// Records a transaction whose last attempt started at `attempt_ns`.
    #[inline]
    pub(crate) fn transaction(&self, attempt_ns: u64, end_ns: u64) {
        self.completed.fetch_add(1, Ordering::Relaxed);
        if attempt_ns >= self.awaited_ns.load(Ordering::Relaxed) {
            self.first(attempt_ns, end_ns);
        }
    }

    #[cold]
    fn first(&self, attempt_ns: u64, end_ns: u64) {
        let mut state = lock(&self.state);
        let mut next_ns = NONE;
        for first in state.firsts.iter_mut().filter(|one| one.end_ns.is_none()) {
            match first.since_ns <= attempt_ns {
                true => first.end_ns = Some(end_ns),
                false => next_ns = next_ns.min(first.since_ns),
            }
        }
        self.awaited_ns.store(next_ns, Ordering::Relaxed);
    }

    pub(crate) fn error(&self, at_ns: u64, error: &SessionError, action: &'static str) {
        let mut state = lock(&self.state);
        if matches!(error.kind, FailureKind::Lost | FailureKind::Away) {
            for first in state
                .firsts
                .iter_mut()
                .filter(|one| is_last_gasp(**one, at_ns))
            {
                first.end_ns = None;
                self.awaited_ns.store(at_ns, Ordering::Relaxed);
            }
        }
        let errors = &mut state.errors;
        if errors.len() < MAX_ERRORS {
            errors.push(TimedError {
                at_s: at_ns as f64 / 1e9,
                code: error.code(),
                message: error.message.clone(),
                action: action.into(),
            });
        }
    }
}
