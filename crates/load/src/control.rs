//! The state that the main thread and the workers of a load share.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

use workload::session::SessionError;

use crate::arrivals::{ArrivalQueue, NextAction};
use crate::schedule::Schedule;

const UNLIMITED: i64 = i64::MAX;

/// The stages of a load, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Stage {
    Connect,
    Run,
    /// No new transaction starts.
    Stop,
    Cancel,
}

#[derive(Debug, Default)]
pub(crate) struct Control {
    stage: AtomicU8,
    /// Whether the load takes turns with others.
    has_gate: bool,
    /// Whether transactions must wait because another load runs.
    is_closed: AtomicBool,
    /// Transactions that may still start; [`UNLIMITED`] without a limit.
    tickets: AtomicI64,
    /// The arrivals of an open loop, once it has started.
    arrivals: Mutex<Option<ArrivalQueue>>,
    /// The number of active users, if it changes, once the load has started.
    active: OnceLock<Schedule>,
    connected: AtomicU32,
    ended: AtomicU32,
    users: u32,
    /// Number of users without a connection, and the last error of one of them.
    away: Mutex<(u32, Option<SessionError>)>,
    failure: Mutex<Option<SessionError>>,
    /// Wakes every task of each worker.
    workers: Mutex<Vec<Waker>>,
    /// Wakes the main thread.
    notice: Mutex<()>,
    changed: Condvar,
}

impl Control {
    /// `users` is the number of virtual users. A load that takes turns begins with a closed gate.
    pub(crate) fn new(users: u32, takes_turns: bool) -> Self {
        Self {
            stage: AtomicU8::new(Stage::Connect as u8),
            has_gate: takes_turns,
            is_closed: AtomicBool::new(takes_turns),
            tickets: AtomicI64::new(UNLIMITED),
            users,
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn reached(&self, stage: Stage) -> bool {
        self.stage.load(Ordering::Acquire) >= stage as u8
    }

    /// Advances to `stage` and wakes every task.
    pub(crate) fn advance(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Ordering::AcqRel);
        self.wake_tasks();
    }

    fn wake_tasks(&self) {
        for worker in lock(&self.workers).iter() {
            worker.wake_by_ref();
        }
    }

    /// Lets transactions start.
    pub(crate) fn open_gate(&self) {
        self.is_closed.store(false, Ordering::Release);
        self.wake_tasks();
    }

    /// Lets no further transaction start. One that is not recorded as running by now will not
    /// run.
    pub(crate) fn close_gate(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        // Pairs with the fence in `is_gate_closed`.
        fence(Ordering::SeqCst);
    }

    /// Whether a transaction that has just been recorded as running must wait.
    #[inline]
    pub(crate) fn is_gate_closed(&self) -> bool {
        if !self.has_gate {
            return false;
        }
        // The main thread closes the gate and then looks for running transactions; without the
        // fences, both could miss each other.
        fence(Ordering::SeqCst);
        self.is_closed.load(Ordering::Acquire)
    }

    /// Adds a worker, all of whose tasks are woken by `wake_all`.
    pub(crate) fn register(&self, wake_all: Waker) {
        lock(&self.workers).push(wake_all);
    }

    /// Starts the open loop: from now on, transactions start at these arrivals.
    pub(crate) fn open(&self, arrivals: ArrivalQueue) {
        *lock(&self.arrivals) = Some(arrivals);
    }

    /// What a user does next that is free at `now_ns`; `None` in a closed loop.
    pub(crate) fn take_arrival(&self, now_ns: u64) -> Option<NextAction> {
        lock(&self.arrivals)
            .as_mut()
            .map(|queue| queue.take(now_ns))
    }

    /// Lets no transaction start whose arrival is due at `end_ns` or later.
    pub(crate) fn end_arrivals(&self, end_ns: u64) {
        if let Some(queue) = lock(&self.arrivals).as_mut() {
            queue.end_ns = end_ns;
        }
    }

    /// Arrivals that are due at `now_ns` but not started; `None` in a closed loop.
    pub(crate) fn backlog(&self, now_ns: u64) -> Option<u64> {
        let mut arrivals = lock(&self.arrivals);
        arrivals.as_mut().map(|queue| queue.backlog(now_ns))
    }

    /// Starts the load of a number of active users.
    pub(crate) fn activate(&self, users: Schedule) {
        let _ = self.active.set(users);
    }

    /// Until when a user is not active: the one of this rank, from 0, is while the number of active
    /// users, rounded, exceeds it. `None` if it is active at `now_ns`.
    #[inline]
    pub(crate) fn inactive_until(&self, rank: u32, now_ns: impl FnOnce() -> u64) -> Option<u64> {
        let (active, now_ns) = (self.active.get()?, now_ns());
        let until_ns = active.reached_ns(f64::from(rank) + 0.5, now_ns);
        (until_ns > now_ns).then_some(until_ns)
    }

    /// Lets `count` more transactions start.
    pub(crate) fn limit(&self, count: u64) {
        let count = i64::try_from(count).unwrap_or(UNLIMITED);
        self.tickets.store(count, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn take_ticket(&self) -> bool {
        // Without a limit, the workers only share what they read.
        self.tickets.load(Ordering::Relaxed) == UNLIMITED
            || self.tickets.fetch_sub(1, Ordering::Relaxed) > 0
    }

    /// Records that a user has no connection because of `error`; `is_new` on its first report.
    pub(crate) fn user_is_away(&self, is_new: bool, error: &SessionError) {
        let mut away = lock(&self.away);
        *away = (away.0 + u32::from(is_new), Some(error.clone()));
    }

    /// Records that a user that was away has a working connection again.
    pub(crate) fn user_returned(&self) {
        let mut away = lock(&self.away);
        away.0 = away.0.saturating_sub(1);
    }

    /// Number of users without a connection, and the last error of one of them; `None` if all users
    /// have one.
    pub(crate) fn users_away(&self) -> Option<(u32, SessionError)> {
        match &*lock(&self.away) {
            (users @ 1.., Some(error)) => Some((*users, error.clone())),
            _ => None,
        }
    }

    /// Records that a user has opened its first connection.
    pub(crate) fn user_connected(&self) {
        if self.connected.fetch_add(1, Ordering::AcqRel) + 1 >= self.users {
            self.notify_main();
        }
    }

    pub(crate) fn user_ended(&self) {
        if self.ended.fetch_add(1, Ordering::AcqRel) + 1 >= self.users {
            self.notify_main();
        }
    }

    /// The number of users that have opened their first connection.
    pub(crate) fn connected(&self) -> u32 {
        self.connected.load(Ordering::Acquire)
    }

    pub(crate) fn have_all_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire) >= self.users
    }

    /// Ends the load because of `error`, unless another error already did.
    pub(crate) fn fail(&self, error: SessionError) {
        lock(&self.failure).get_or_insert(error);
        self.notify_main();
    }

    pub(crate) fn notify_main(&self) {
        // Without the lock, the main thread could miss the notification just before it waits.
        drop(lock(&self.notice));
        self.changed.notify_all();
    }

    /// Blocks the main thread until `happened` returns true, for at most `limit`.
    pub(crate) fn wait(&self, limit: Duration, happened: impl Fn() -> bool) {
        let waited = self
            .changed
            .wait_timeout_while(lock(&self.notice), limit, |()| !happened());
        drop(waited);
    }

    pub(crate) fn failure(&self) -> Option<SessionError> {
        lock(&self.failure).clone()
    }
}

/// Locks a mutex, even if it is poisoned: no holder leaves its state inconsistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
