//! A thread's event loop: its tasks, and the sockets and timers that they wait for.
//!
//! A load has a handful of threads, each with thousands of tasks that send a few bytes and wait for
//! a reply. This loop does only what that needs: one edge-triggered epoll, no work stealing, no
//! read before the socket is readable. `benches/RESULTS.md` compares it with tokio's.

mod io;
mod semaphore;
mod task;
mod timer;
mod timerfd;
mod wall;

use std::cell::{Cell, OnceCell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mio::Token;
use slab::Slab;

pub use io::Io;
pub use semaphore::{Permit, Semaphore};
pub use timer::{before, sleep_until, timeout, unless};
pub(crate) use wall::WallTime;

use io::Readiness;
use task::{MAIN, ReadyQueue, Task, TaskWaker};
use timer::Timers;
use wall::WallClock;

const WAKE: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);
const WALL_CLOCK: Token = Token(usize::MAX - 2);
const EVENTS_AT_ONCE: usize = 1024;
/// Maximum number of tasks that wait for a server's first bytes. A server's accept queue is short
/// (MariaDB: 50 and more), and the kernel drops what arrives when it is full: the client would wait
/// for a greeting that never comes.
const GREETINGS_AT_ONCE: usize = 32;
/// All connections of a thread share one buffer, so an idle one costs no memory.
const RECEIVE_BUFFER_BYTES: usize = 64 * 1024;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Inner>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
pub struct Reactor {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    poll: RefCell<mio::Poll>,
    registry: mio::Registry,
    sources: RefCell<Slab<Readiness>>,
    timers: Timers,
    /// Set once a socket's arrivals are stamped.
    wall_clock: OnceCell<WallClock>,
    /// Tasks that wait for a server's greeting.
    awaiting_greeting: Semaphore,
    /// Boxed, because a task is moved out for each poll; `None` meanwhile.
    tasks: RefCell<Slab<Option<Box<Task>>>>,
    /// Tasks that this thread has woken.
    woken: RefCell<Vec<usize>>,
    /// Tasks to wake after those that sockets and timers wake.
    deferred: RefCell<Vec<Waker>>,
    /// Tasks that other threads have woken.
    ready: Arc<ReadyQueue>,
    receive_buffer: RefCell<Vec<u8>>,
    main_is_ready: Cell<bool>,
}

/// Lets every task run that is ready, or that a socket or timer can wake.
pub fn yield_now() -> impl Future<Output = ()> {
    let mut has_yielded = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        Inner::current().defer(context);
        Poll::Pending
    })
}

/// Waits for permission to wait for a server's greeting.
pub(crate) fn permit_to_connect() -> impl Future<Output = Permit> {
    Inner::current().awaiting_greeting.acquire()
}

impl Reactor {
    pub fn new() -> std::io::Result<Self> {
        let poll = mio::Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let timers = Timers::new(&registry, TIMER)?;
        let ready = Arc::new(ReadyQueue::new(mio::Waker::new(&registry, WAKE)?));
        Ok(Self {
            inner: Rc::new(Inner {
                poll: RefCell::new(poll),
                registry,
                sources: RefCell::default(),
                timers,
                wall_clock: OnceCell::new(),
                awaiting_greeting: Semaphore::new(GREETINGS_AT_ONCE),
                tasks: RefCell::default(),
                woken: RefCell::default(),
                deferred: RefCell::default(),
                ready,
                receive_buffer: RefCell::new(vec![0; RECEIVE_BUFFER_BYTES]),
                main_is_ready: Cell::new(false),
            }),
        })
    }

    /// Wakes every task from any thread, so that it checks again what it waits for.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.inner.ready))
    }

    /// Adds a task; it runs while [`Reactor::block_on`] does.
    pub fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        self.inner.spawn(Box::pin(future));
    }

    /// Number of tasks that have not ended.
    pub fn task_count(&self) -> usize {
        self.inner.tasks.borrow().len()
    }

    /// Runs `main` and all spawned tasks until `main` ends.
    pub fn block_on<F: Future>(&self, main: F) -> std::io::Result<F::Output> {
        let _entered = Entered::enter(&self.inner);
        let waker = Waker::from(Arc::new(TaskWaker::new(MAIN, &self.inner.ready)));
        let mut main = pin!(main);
        self.inner.main_is_ready.set(true);
        let mut events = mio::Events::with_capacity(EVENTS_AT_ONCE);
        loop {
            if self.inner.main_is_ready.replace(false)
                && let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Ok(output);
            }
            self.inner.run_ready();
            if !self.inner.main_is_ready.get() {
                self.inner.wait(&mut events)?;
            }
        }
    }

    /// Runs all spawned tasks until none is left, or until `stopped` returns true after
    /// [`Reactor::waker`] was used.
    pub fn run_tasks(&self, stopped: impl Fn() -> bool) -> std::io::Result<()> {
        self.block_on(poll_fn(|_| {
            if stopped() {
                self.cancel_tasks();
            }
            if self.task_count() == 0 {
                return Poll::Ready(());
            }
            Poll::Pending
        }))
    }

    /// Drops all tasks in their current state.
    pub fn cancel_tasks(&self) {
        // Dropped after the borrow ends, because a task's end may wake another one.
        let tasks = std::mem::take(&mut *self.inner.tasks.borrow_mut());
        drop(tasks);
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        let _entered = Entered::enter(&self.inner);
        self.cancel_tasks();
    }
}

impl Inner {
    /// The loop that runs on this thread.
    #[expect(
        clippy::expect_used,
        reason = "only futures of this crate call it, under block_on"
    )]
    fn current() -> Rc<Self> {
        CURRENT
            .with_borrow(Clone::clone)
            .expect("sockets and timers of the client are used inside its reactor")
    }

    /// Keeps track of the wall clock from now on.
    fn watch_wall_clock(&self) -> std::io::Result<()> {
        if self.wall_clock.get().is_none() {
            let clock = WallClock::new(&self.registry, WALL_CLOCK)?;
            // Only this thread can have set it.
            let _ = self.wall_clock.set(clock);
        }
        Ok(())
    }

    fn spawn(&self, future: task::BoxFuture) {
        let mut tasks = self.tasks.borrow_mut();
        let entry = tasks.vacant_entry();
        let id = entry.key();
        let waker = Waker::from(Arc::new(TaskWaker::new(id, &self.ready)));
        entry.insert(Some(Box::new(Task { future, waker })));
        self.woken.borrow_mut().push(id);
    }

    /// Wakes the polled task after every other task that a socket or timer can wake has run.
    fn defer(&self, context: &Context<'_>) {
        self.deferred.borrow_mut().push(context.waker().clone());
    }

    /// Marks a task of `queue`'s loop as woken, if that loop runs on this thread.
    fn wake_here(queue: &ReadyQueue, id: usize) -> bool {
        let woken = CURRENT.try_with(|current| match &*current.borrow() {
            Some(inner) if std::ptr::eq(&raw const *inner.ready, queue) => {
                inner.woken.borrow_mut().push(id);
                true
            }
            _ => false,
        });
        woken.unwrap_or(false)
    }

    /// Polls what is ready, and what that makes ready in turn.
    fn run_ready(&self) {
        let mut batch = Vec::new();
        loop {
            std::mem::swap(&mut *self.woken.borrow_mut(), &mut batch);
            if self.ready.take(&mut batch) {
                self.main_is_ready.set(true);
                batch.extend(self.tasks.borrow().iter().map(|(id, _)| id));
            }
            if batch.is_empty() {
                return;
            }
            for id in batch.drain(..) {
                if id == MAIN {
                    self.main_is_ready.set(true);
                } else {
                    self.poll_task(id);
                }
            }
        }
    }

    fn poll_task(&self, id: usize) {
        // Taken out while it is polled, so that it can spawn tasks.
        let taken = self.tasks.borrow_mut().get_mut(id).and_then(Option::take);
        let Some(mut task) = taken else {
            return;
        };
        let ended = task.poll().is_ready();
        let mut tasks = self.tasks.borrow_mut();
        if ended {
            tasks.try_remove(id);
            drop(tasks);
            // The main future may wait for the last task's end.
            self.main_is_ready.set(true);
        } else if let Some(place) = tasks.get_mut(id) {
            *place = Some(task);
        }
    }

    /// Waits for sockets, timers or another thread.
    fn wait(&self, events: &mut mio::Events) -> std::io::Result<()> {
        self.timers.arm()?;
        let has_deferred = !self.deferred.borrow().is_empty();
        let wait = has_deferred.then_some(Duration::ZERO);
        match self.poll.borrow_mut().poll(events, wait) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        let (mut timers_fire, mut wall_clock_ticks) = (false, false);
        let mut sources = self.sources.borrow_mut();
        for event in events.iter() {
            match event.token() {
                TIMER => timers_fire = true,
                WALL_CLOCK => wall_clock_ticks = true,
                WAKE => {}
                Token(source) => {
                    if let Some(readiness) = sources.get_mut(source) {
                        readiness.event(event);
                    }
                }
            }
        }
        drop(sources);
        if timers_fire {
            self.timers.fire(Instant::now());
        }
        // Before a task reads a stamp of a clock that has been set.
        if wall_clock_ticks && let Some(clock) = self.wall_clock.get() {
            clock.tick()?;
        }
        for waker in self.deferred.take() {
            waker.wake();
        }
        Ok(())
    }
}

/// Makes a loop the thread's current one while this value lives.
struct Entered {
    outer: Option<Rc<Inner>>,
}

impl Entered {
    fn enter(inner: &Rc<Inner>) -> Self {
        Self {
            outer: CURRENT.replace(Some(Rc::clone(inner))),
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.outer.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_run_beside_the_main_future() {
        let reactor = Reactor::new().unwrap();
        let count = Rc::new(Cell::new(0));
        for _ in 0..3 {
            let count = Rc::clone(&count);
            reactor.spawn(async move {
                sleep_until(Instant::now() + Duration::from_millis(5)).await;
                count.set(count.get() + 1);
            });
        }
        reactor.run_tasks(|| false).unwrap();
        assert_eq!(count.get(), 3);
    }

    #[test]
    fn a_busy_task_that_yields_lets_timers_wake_others() {
        let reactor = Reactor::new().unwrap();
        let is_over = Rc::new(Cell::new(false));
        let over = Rc::clone(&is_over);
        reactor.spawn(async move {
            while !over.get() {
                yield_now().await;
            }
        });
        reactor.spawn(async move {
            sleep_until(Instant::now() + Duration::from_millis(5)).await;
            is_over.set(true);
        });
        reactor.run_tasks(|| false).unwrap();
    }

    #[test]
    fn another_thread_can_stop_all_tasks() {
        let reactor = Reactor::new().unwrap();
        let stopped = Arc::new(std::sync::atomic::AtomicBool::new(false));
        reactor.spawn(std::future::pending());
        let (waker, flag) = (reactor.waker(), Arc::clone(&stopped));
        let thread = std::thread::spawn(move || {
            flag.store(true, std::sync::atomic::Ordering::Relaxed);
            waker.wake();
        });
        reactor
            .run_tasks(|| stopped.load(std::sync::atomic::Ordering::Relaxed))
            .unwrap();
        assert_eq!(reactor.task_count(), 0);
        thread.join().unwrap();
    }

    #[test]
    fn a_timeout_ends_what_does_not() {
        let reactor = Reactor::new().unwrap();
        let limit = Duration::from_millis(5);
        let outcome = reactor
            .block_on(timeout(limit, std::future::pending::<()>()))
            .unwrap();
        assert_eq!(outcome, None);
        let outcome = reactor.block_on(timeout(limit, async { 7 })).unwrap();
        assert_eq!(outcome, Some(7));
    }

    #[test]
    fn work_ends_when_it_is_stopped() {
        let reactor = Reactor::new().unwrap();
        let asked = Cell::new(0);
        let stopped = || asked.replace(asked.get() + 1) == 2;
        let outcome = reactor.block_on(unless(stopped, std::future::pending::<()>()));
        assert_eq!((outcome.unwrap(), asked.get()), (None, 3));
        let outcome = reactor.block_on(unless(|| false, async {
            sleep_until(Instant::now() + Duration::from_millis(50)).await;
            7
        }));
        assert_eq!(outcome.unwrap(), Some(7));
    }
}
