//! A worker thread: an event loop, its share of the virtual users, and the state that they share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use client::reactor::{Reactor, Semaphore};
use plan::Pace;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::catalog::Catalog;
use workload::session::{Connect, SessionError};
use workload::virtual_user::{NewUsers, VirtualUser};

use crate::clock::Clock;
use crate::control::{Control, Stage};
use crate::cpu;
use crate::record::Recorder;
use crate::spec::{ANY_ERROR, LoadSpec};
use crate::texts::Texts;

/// How long a user may run without waiting before it yields.
const KEPT_NS: u64 = 1_000_000;

/// A worker, from the point of view of its users.
#[derive(Debug)]
pub(crate) struct Worker<C, K> {
    pub(crate) number: u32,
    pub(crate) clock: K,
    pub(crate) control: Arc<Control>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) catalog: Arc<Catalog>,
    /// The texts of what scripts have prepared.
    pub(crate) texts: RefCell<Texts>,
    pub(crate) is_open_loop: bool,
    pub(crate) connector: Arc<C>,
    /// Limits how many connections are opened at once.
    pub(crate) connecting: Semaphore,
    /// The settings of the load, with this worker's own seed and limit of connections.
    pub(crate) spec: LoadSpec,
    /// For think times and for jitter. The order in which users draw from it varies between runs.
    pub(crate) rng: RefCell<Xoshiro256PlusPlus>,
    /// The user that ran last, and since when no other user of this thread has run.
    pub(crate) kept: Cell<(usize, u64)>,
}

impl<C, K> Worker<C, K> {
    pub(crate) fn ignores(&self, error: &SessionError) -> bool {
        let mut ignored = self.spec.ignored_errors.iter();
        ignored.any(|code| code == ANY_ERROR || error.has_code(code))
    }

    /// Whether a user should yield to others: one that never waits, such as a script that only
    /// computes, would keep the thread to itself.
    #[inline]
    pub(crate) fn is_kept_by(&self, user: usize, now_ns: u64) -> bool {
        let (last, since_ns) = self.kept.get();
        let is_shared = self.spec.own_users().len() > self.spec.workers as usize;
        let is_long = is_shared && last == user && now_ns.saturating_sub(since_ns) >= KEPT_NS;
        if is_long || last != user {
            self.kept.set((user, now_ns));
        }
        is_long
    }
}

/// Counts a user as ended when dropped.
pub(crate) struct EndedGuard(pub(crate) Arc<Control>);

impl Drop for EndedGuard {
    fn drop(&mut self) {
        self.0.user_ended();
    }
}

pub(crate) struct WorkerSetup<C, U> {
    /// From 0.
    pub(crate) number: u32,
    pub(crate) control: Arc<Control>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) connector: Arc<C>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) users: NewUsers<U>,
    pub(crate) spec: LoadSpec,
}

impl<C, U> WorkerSetup<C, U>
where
    C: Connect + 'static,
    C::Session: 'static,
    U: VirtualUser + 'static,
{
    pub(crate) fn into_tasks<K: Clock>(
        self,
        clock: K,
    ) -> std::io::Result<impl Iterator<Item = impl Future<Output = ()> + 'static>> {
        let users = (self.users)().map_err(std::io::Error::other)?;
        let worker = Rc::new(Worker {
            number: self.number,
            clock,
            control: self.control,
            recorder: self.recorder,
            catalog: self.catalog,
            texts: RefCell::default(),
            is_open_loop: self.spec.pace != Pace::Closed,
            connector: self.connector,
            connecting: Semaphore::new(self.spec.connect_limit as usize),
            kept: Cell::new((usize::MAX, 0)),
            rng: RefCell::new(Xoshiro256PlusPlus::seed_from_u64(self.spec.seed)),
            spec: self.spec,
        });
        let users = users.into_iter().enumerate();
        Ok(users
            .map(move |(index, user)| crate::user::run(Rc::clone(&worker), index, Box::new(user))))
    }
}

/// Runs the worker's users on this thread until all have ended or are canceled.
pub(crate) fn run<C, U>(setup: WorkerSetup<C, U>, clock: impl Clock) -> std::io::Result<()>
where
    C: Connect + 'static,
    C::Session: 'static,
    U: VirtualUser + 'static,
{
    if setup.spec.batch_scheduling {
        cpu::schedule_as_batch();
    }
    let thread = rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs();
    setup.recorder.thread.store(thread, Ordering::Relaxed);
    let reactor = Reactor::new()?;
    let control = Arc::clone(&setup.control);
    control.register(reactor.waker());
    for task in setup.into_tasks(clock)? {
        reactor.spawn(task);
    }
    reactor.run_tasks(|| control.reached(Stage::Cancel))
}
