//! Timers with microsecond precision. A timerfd wakes the loop: epoll's own timeout counts
//! milliseconds, which would appear as lateness of an open loop.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
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
    /// By expiry, and a number that distinguishes timers of one instant.
    waiting: RefCell<BTreeMap<(Instant, u64), Waker>>,
    next_number: Cell<u64>,
    /// When the timerfd expires.
    armed: Cell<Option<Instant>>,
}

impl Timers {
    pub(super) fn new(registry: &mio::Registry, token: mio::Token) -> std::io::Result<Self> {
        Ok(Self {
            fd: TimerFd::new(TimerfdClockId::Monotonic, registry, token)?,
            waiting: RefCell::default(),
            next_number: Cell::new(0),
            armed: Cell::new(None),
        })
    }

    /// Adds a timer; returns its number.
    fn add(&self, at: Instant, waker: Waker) -> u64 {
        let number = self.next_number.get();
        self.next_number.set(number + 1);
        self.waiting.borrow_mut().insert((at, number), waker);
        number
    }

    fn remove(&self, at: Instant, number: u64) {
        self.waiting.borrow_mut().remove(&(at, number));
    }

    /// Sets the timerfd to the next timer, unless it is set to that already.
    pub(super) fn arm(&self) -> std::io::Result<()> {
        let next = self.waiting.borrow().keys().next().map(|(at, _)| *at);
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

    /// Wakes the tasks of all expired timers.
    pub(super) fn fire(&self, now: Instant) {
        self.armed.set(None);
        let mut waiting = self.waiting.borrow_mut();
        while let Some(first) = waiting.first_entry()
            && first.key().0 <= now
        {
            first.remove().wake();
        }
    }
}

pub fn sleep_until(at: Instant) -> impl Future<Output = ()> {
    Sleep { at, timer: None }
}

#[derive(Debug)]
struct Sleep {
    at: Instant,
    /// The loop that waits, and the number of its timer.
    timer: Option<(Rc<Inner>, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.at {
            return Poll::Ready(());
        }
        if self.timer.is_none() {
            let reactor = Inner::current();
            let number = reactor.timers.add(self.at, context.waker().clone());
            self.timer = Some((reactor, number));
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        // A limit that was met would otherwise hold memory until it expires, and then wake its
        // task.
        if let Some((reactor, number)) = self.timer.take() {
            reactor.timers.remove(self.at, number);
        }
    }
}

/// Runs `future` for at most `limit`; `None` if it does not end by then.
pub async fn timeout<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let end = sleep_until(Instant::now() + limit);
    before(end, future).await
}

/// Runs `work`; `None` if `end` ends first.
pub async fn before<T>(end: impl Future<Output = ()>, work: impl Future<Output = T>) -> Option<T> {
    let (mut end, mut work) = (pin!(end), pin!(work));
    std::future::poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => end.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Runs `future` until it ends or `stopped` returns true: then it is dropped, and the result is
/// `None`.
pub async fn unless<F: Future>(stopped: impl Fn() -> bool, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    while !stopped() {
        if let Some(output) = timeout(POLL_INTERVAL, future.as_mut()).await {
            return Some(output);
        }
    }
    None
}
