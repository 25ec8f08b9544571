//! A worker thread: an event loop and its share of the virtual users.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use std::time::Duration;

use client::reactor::Reactor;
use workload::catalog::Catalog;
use workload::session::Connect;
use workload::user::User;

use crate::control::{Control, Stage};
use crate::cpu;
use crate::record::{KindIndex, Recorder, Timed};

/// What one worker is to do.
#[derive(Debug)]
pub(crate) struct Job<C> {
    pub(crate) control: Arc<Control>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) connector: Arc<C>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) kinds: Arc<KindIndex>,
    pub(crate) users: Vec<User>,
    pub(crate) ignored_errors: Arc<[u32]>,
    pub(crate) think: Duration,
    pub(crate) connect_limit: u32,
    pub(crate) is_open_loop: bool,
    pub(crate) batch_scheduling: bool,
}

/// What all users of a worker share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) control: Arc<Control>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) kinds: Arc<KindIndex>,
    pub(crate) is_open_loop: bool,
}

/// The same, and how connections are opened.
#[derive(Debug)]
pub(crate) struct Worker<C> {
    pub(crate) shared: Rc<Shared>,
    pub(crate) connector: Arc<C>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) connecting: Turns,
    pub(crate) ignored_errors: Arc<[u32]>,
    pub(crate) think: Duration,
}

impl<C: Connect> Worker<C> {
    pub(crate) fn timed(&self, session: C::Session) -> Timed<C::Session> {
        Timed {
            session,
            shared: Rc::clone(&self.shared),
        }
    }
}

impl Shared {
    pub(crate) fn connected(&self) {
        self.control.connected.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ended_guard(&self) -> EndedGuard {
        EndedGuard(Arc::clone(&self.control))
    }
}

/// Counts a user as ended when it is dropped.
pub(crate) struct EndedGuard(Arc<Control>);

impl Drop for EndedGuard {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Release);
    }
}

/// The thread's whole life.
pub(crate) fn work<C: Connect + 'static>(job: Job<C>) -> std::io::Result<()>
where
    C::Session: 'static,
{
    if job.batch_scheduling {
        cpu::schedule_as_batch();
    }
    let thread = rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs();
    job.recorder.thread.store(thread, Ordering::Relaxed);
    let reactor = Reactor::new()?;
    let control = Arc::clone(&job.control);
    control.register(reactor.handle());
    let worker = Rc::new(Worker {
        shared: Rc::new(Shared {
            control: job.control,
            recorder: job.recorder,
            kinds: job.kinds,
            is_open_loop: job.is_open_loop,
        }),
        connector: job.connector,
        catalog: job.catalog,
        connecting: Turns::new(job.connect_limit),
        ignored_errors: job.ignored_errors,
        think: job.think,
    });
    for (place, user) in job.users.into_iter().enumerate() {
        reactor.spawn(crate::user::live(Rc::clone(&worker), place, user));
    }
    reactor.run_tasks(|| control.reached(Stage::Cancel))
}

/// Lets so many tasks of one thread pass at once.
#[derive(Debug)]
pub(crate) struct Turns {
    free: Cell<u32>,
    waiting: RefCell<VecDeque<Waker>>,
}

pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    fn new(at_once: u32) -> Self {
        Self {
            free: Cell::new(at_once.max(1)),
            waiting: RefCell::default(),
        }
    }

    pub(crate) async fn enter(&self) -> Turn<'_> {
        poll_fn(|context| {
            if self.free.get() == 0 {
                self.waiting.borrow_mut().push_back(context.waker().clone());
                return Poll::Pending;
            }
            self.free.set(self.free.get() - 1);
            Poll::Ready(())
        })
        .await;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.free.set(self.0.free.get() + 1);
        if let Some(waker) = self.0.waiting.borrow_mut().pop_front() {
            waker.wake();
        }
    }
}
