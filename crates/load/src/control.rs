//! What the main thread and the workers of a load tell each other.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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
    stage: AtomicU8,
    /// Transactions that may still start.
    tickets: AtomicI64,
    /// The arrivals of an open loop, once it has begun.
    arrivals: Mutex<Option<Queue>>,
    pub(crate) connected: AtomicU32,
    pub(crate) ended: AtomicU32,
    failure: Mutex<Option<SessionError>>,
    handles: Mutex<Vec<Handle>>,
}

impl Control {
    pub(crate) fn new(origin: Instant) -> Self {
        Self {
            origin,
            stage: AtomicU8::new(Stage::Connect as u8),
            tickets: AtomicI64::new(i64::MAX),
            arrivals: Mutex::default(),
            connected: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            failure: Mutex::default(),
            handles: Mutex::default(),
        }
    }

    /// Nanoseconds on the load's clock.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// The time of an instant on the load's clock, in nanoseconds.
    pub(crate) fn time_ns(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.origin).as_nanos() as u64
    }

    /// The instant of a time on the load's clock.
    pub(crate) fn instant(&self, at_ns: u64) -> Instant {
        self.origin + std::time::Duration::from_nanos(at_ns)
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

    /// Keeps the first error that ends the load.
    pub(crate) fn fail(&self, error: SessionError) {
        lock(&self.failure).get_or_insert(error);
    }

    pub(crate) fn failure(&self) -> Option<SessionError> {
        lock(&self.failure).clone()
    }
}

/// A lock whose holder cannot leave it half-changed, so poison means nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
