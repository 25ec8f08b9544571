//! What the main thread and the workers of a load tell each other.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use client::clock::{monotonic_ns, monotonic_ns_of};
use client::reactor::Handle;
use workload::session::SessionError;

use crate::arrivals::{Queue, Take};

/// Where a load is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Connections are opened.
    Connect,
    /// Transactions run.
    Run,
    /// No new transaction starts.
    Stop,
    /// Running transactions are dropped.
    Cancel,
}

#[derive(Debug)]
pub(crate) struct Control {
    /// The zero of the load's clock.
    origin: Instant,
    /// The same, by the monotonic clock.
    origin_ns: u64,
    stage: AtomicU8,
    /// Transactions that may still start.
    tickets: AtomicI64,
    /// The arrivals of an open loop, once it has begun.
    arrivals: Mutex<Option<Queue>>,
    connected: AtomicU32,
    ended: AtomicU32,
    users: u32,
    /// Users without a connection, and why the last of them has none.
    away: Mutex<(u32, Option<SessionError>)>,
    failure: Mutex<Option<SessionError>>,
    handles: Mutex<Vec<Handle>>,
    /// For the main thread, when something has happened that may end what it waits for.
    news: Mutex<()>,
    changed: Condvar,
}

impl Control {
    /// For a load of so many users, whose clock begins at `origin`.
    pub(crate) fn new(origin: Instant, users: u32) -> Self {
        Self {
            origin,
            origin_ns: monotonic_ns_of(origin),
            stage: AtomicU8::new(Stage::Connect as u8),
            tickets: AtomicI64::new(i64::MAX),
            arrivals: Mutex::default(),
            connected: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            users,
            away: Mutex::default(),
            failure: Mutex::default(),
            handles: Mutex::default(),
            news: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Nanoseconds on the load's clock.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.since_origin_ns(monotonic_ns())
    }

    /// The time of the monotonic clock on the load's clock, both in nanoseconds.
    #[inline]
    pub(crate) fn since_origin_ns(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.origin_ns)
    }

    /// The time of an instant on the load's clock, in nanoseconds.
    pub(crate) fn time_ns(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.origin).as_nanos() as u64
    }

    /// The instant of a time on the load's clock.
    pub(crate) fn instant(&self, at_ns: u64) -> Instant {
        self.origin + Duration::from_nanos(at_ns)
    }

    #[inline]
    pub(crate) fn reached(&self, stage: Stage) -> bool {
        self.stage.load(Ordering::Acquire) >= stage as u8
    }

    /// Goes on to `stage`, and has every task see it.
    pub(crate) fn advance(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Ordering::AcqRel);
        for handle in lock(&self.handles).iter() {
            handle.wake_all();
        }
    }

    pub(crate) fn register(&self, handle: Handle) {
        lock(&self.handles).push(handle);
    }

    /// From now on transactions start at these arrivals.
    pub(crate) fn open(&self, arrivals: Queue) {
        *lock(&self.arrivals) = Some(arrivals);
    }

    /// What a user that is free at `now_ns` is to do; `None` in a closed loop.
    pub(crate) fn take_arrival(&self, now_ns: u64) -> Option<Take> {
        lock(&self.arrivals)
            .as_mut()
            .map(|queue| queue.take(now_ns))
    }

    /// Arrivals that are due and were not started; `None` in a closed loop.
    pub(crate) fn backlog(&self, now_ns: u64) -> Option<u64> {
        let mut arrivals = lock(&self.arrivals);
        arrivals.as_mut().map(|queue| queue.backlog(now_ns))
    }

    /// Lets only `count` more transactions start.
    pub(crate) fn limit(&self, count: u64) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.tickets.store(count, Ordering::Relaxed);
    }

    /// Whether one more transaction may start.
    #[inline]
    pub(crate) fn take_ticket(&self) -> bool {
        self.tickets.fetch_sub(1, Ordering::Relaxed) > 0
    }

    /// A user could not go on because of `error`, and tries again; the first time
    /// `has_left` is true.
    pub(crate) fn user_is_away(&self, has_left: bool, error: &SessionError) {
        let mut away = lock(&self.away);
        *away = (away.0 + u32::from(has_left), Some(error.clone()));
    }

    /// One of those goes on.
    pub(crate) fn user_returned(&self) {
        let mut away = lock(&self.away);
        away.0 = away.0.saturating_sub(1);
    }

    /// How many users cannot go on, if any, and why the last of them cannot.
    pub(crate) fn users_away(&self) -> Option<(u32, SessionError)> {
        match &*lock(&self.away) {
            (users @ 1.., Some(error)) => Some((*users, error.clone())),
            _ => None,
        }
    }

    /// A user has opened its first connection.
    pub(crate) fn user_connected(&self) {
        if self.connected.fetch_add(1, Ordering::AcqRel) + 1 >= self.users {
            self.tell_main();
        }
    }

    /// A user has ended.
    pub(crate) fn user_ended(&self) {
        if self.ended.fetch_add(1, Ordering::AcqRel) + 1 >= self.users {
            self.tell_main();
        }
    }

    /// Users that have opened their first connection.
    pub(crate) fn connected(&self) -> u32 {
        self.connected.load(Ordering::Acquire)
    }

    pub(crate) fn have_all_connected(&self) -> bool {
        self.connected() >= self.users
    }

    pub(crate) fn have_all_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire) >= self.users
    }

    /// Keeps the first error that ends the load.
    pub(crate) fn fail(&self, error: SessionError) {
        lock(&self.failure).get_or_insert(error);
        self.tell_main();
    }

    fn tell_main(&self) {
        // Whoever holds the lock has not begun to wait, and would miss it.
        drop(lock(&self.news));
        self.changed.notify_all();
    }

    /// Has the main thread wait until `happened`, for at most `limit`.
    pub(crate) fn wait(&self, limit: Duration, happened: impl Fn() -> bool) {
        let waited = self
            .changed
            .wait_timeout_while(lock(&self.news), limit, |()| !happened());
        drop(waited);
    }

    pub(crate) fn failure(&self) -> Option<SessionError> {
        lock(&self.failure).clone()
    }
}

/// A lock whose holder cannot leave it half-changed, so poison means nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
