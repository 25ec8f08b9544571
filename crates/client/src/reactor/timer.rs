//! Timers with microsecond precision. A timerfd wakes the loop: epoll's own timeout counts
//! milliseconds, which would appear as lateness of an open loop.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::time::{TimerfdClockId, TimerfdTimerFlags};

use super::Inner;
use super::timerfd::TimerFd;

/// How often [`unless`] checks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Timers {
    fd: TimerFd,
    heap: RefCell<BinaryHeap<Reverse<Timer>>>,
    /// When the timerfd expires.
    armed: Cell<Option<Instant>>,
}

#[derive(Debug)]
struct Timer {
    at: Instant,
    waker: Waker,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl Timers {
    pub(super) fn new(registry: &mio::Registry, token: mio::Token) -> std::io::Result<Self> {
        Ok(Self {
            fd: TimerFd::new(TimerfdClockId::Monotonic, registry, token)?,
            heap: RefCell::default(),
            armed: Cell::new(None),
        })
    }

    fn add(&self, at: Instant, waker: Waker) {
        self.heap.borrow_mut().push(Reverse(Timer { at, waker }));
    }

    /// Sets the timerfd to the next timer, unless it is set to that already.
    pub(super) fn arm(&self) -> std::io::Result<()> {
        let next = self.heap.borrow().peek().map(|Reverse(timer)| timer.at);
        let Some(at) = next.filter(|_| next != self.armed.get()) else {
            return Ok(());
        };
        // Zero would disarm it.
        let wait = at
            .saturating_duration_since(Instant::now())
            .max(Duration::from_nanos(1));
        self.fd.set(wait, TimerfdTimerFlags::empty())?;
        self.armed.set(next);
        Ok(())
    }

    /// Wakes the tasks of all timers that have expired.
    pub(super) fn fire(&self, now: Instant) {
        self.armed.set(None);
        let mut heap = self.heap.borrow_mut();
        while heap.peek().is_some_and(|Reverse(timer)| timer.at <= now) {
            if let Some(Reverse(timer)) = heap.pop() {
                timer.waker.wake();
            }
        }
    }
}

/// Waits until `at`.
pub fn sleep_until(at: Instant) -> impl Future<Output = ()> {
    Sleep {
        at,
        registered: false,
    }
}

#[derive(Debug)]
struct Sleep {
    at: Instant,
    registered: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.at {
            return Poll::Ready(());
        }
        if !self.registered {
            Inner::current()
                .timers
                .add(self.at, context.waker().clone());
            self.registered = true;
        }
        Poll::Pending
    }
}

/// A time limit that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

/// Runs `future` for at most `limit`.
///
/// # Errors
/// [`Elapsed`] when it did not end in time; it is then dropped.
pub async fn timeout<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let mut sleep = pin!(sleep_until(Instant::now() + limit));
    std::future::poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        sleep.as_mut().poll(context).map(|()| Err(Elapsed))
    })
    .await
}

/// Runs `future` until it ends, or until `stopped` returns true: then it is dropped, and the
/// result is `None`.
pub async fn unless<F: Future>(stopped: impl Fn() -> bool, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    while !stopped() {
        if let Ok(output) = timeout(POLL_INTERVAL, future.as_mut()).await {
            return Some(output);
        }
    }
    None
}
