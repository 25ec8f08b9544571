//! A worker thread: an event loop and its share of the virtual users.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::reactor::{Reactor, Semaphore};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::catalog::Catalog;
use workload::session::Connect;
use workload::virtual_user::VirtualUser;

use crate::control::{Control, Stage};
use crate::cpu;
use crate::record::Recorder;
use crate::shared::{Shared, Worker};

/// What one worker is to do.
#[derive(Debug)]
pub(crate) struct Job<C, U> {
    pub(crate) control: Arc<Control>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) connector: Arc<C>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) users: Vec<U>,
    pub(crate) ignored_errors: Arc<[u32]>,
    pub(crate) think: Duration,
    pub(crate) seed: u64,
    pub(crate) connect_limit: u32,
    pub(crate) is_open_loop: bool,
    pub(crate) batch_scheduling: bool,
}

/// The thread's whole life.
pub(crate) fn work<C, U>(job: Job<C, U>) -> std::io::Result<()>
where
    C: Connect + 'static,
    C::Session: 'static,
    U: VirtualUser + 'static,
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
            catalog: job.catalog,
            is_open_loop: job.is_open_loop,
        }),
        connector: job.connector,
        connecting: Semaphore::new(job.connect_limit as usize),
        ignored_errors: job.ignored_errors,
        think: job.think,
        rng: RefCell::new(Xoshiro256PlusPlus::seed_from_u64(job.seed)),
    });
    for (place, user) in job.users.into_iter().enumerate() {
        reactor.spawn(crate::user::live(Rc::clone(&worker), place, user));
    }
    reactor.run_tasks(|| control.reached(Stage::Cancel))
}
