//! The runtime of a load: a clock, worker threads, and the waits of the main thread. The load engine
//! is generic over it, so that tests can run a whole load on one thread in simulated time.

use std::thread::JoinHandle;
use std::time::Duration;

use workload::session::Connect;
use workload::virtual_user::VirtualUser;

use crate::barrier::Barrier;
use crate::clock::{Clock, SystemClock};
use crate::control::Control;
use crate::cpu;
use crate::outcome::LoadError;
use crate::stop::Stop;
use crate::worker::{self, WorkerSetup};

/// The clock and the workers of one load.
pub(crate) trait Runtime {
    type Clock: Clock;

    fn clock(&self) -> &Self::Clock;

    /// Blocks until `happened` returns true, which `control` notifies of, or until `until_ns`.
    fn wait(&mut self, control: &Control, until_ns: u64, happened: impl Fn() -> bool);

    /// Waits for the loads that start together with this one; returns their common start.
    fn start_together(&mut self, stop: &Stop) -> Result<u64, LoadError>;

    /// Tells the other loads that this one cannot start.
    fn cancel_start(&mut self);

    /// Joins a worker that has ended; returns how it ended.
    fn take_ended(&mut self) -> Option<Result<(), LoadError>>;

    fn has_workers(&self) -> bool;
}

/// A runtime whose workers can run users of `U` on connections of `C`.
pub(crate) trait Spawn<C, U>: Runtime {
    fn spawn(&mut self, setup: WorkerSetup<C, U>) -> std::io::Result<()>;
}

/// The real runtime: a thread per worker, and the system's clock.
#[derive(Debug)]
pub(crate) struct Threads<'a> {
    clock: SystemClock,
    barrier: &'a Barrier,
    workers: Vec<JoinHandle<std::io::Result<()>>>,
}

impl<'a> Threads<'a> {
    pub(crate) fn new(barrier: &'a Barrier) -> Self {
        Self {
            clock: SystemClock::new(barrier.origin()),
            barrier,
            workers: Vec::new(),
        }
    }
}

impl Runtime for Threads<'_> {
    type Clock = SystemClock;

    fn clock(&self) -> &SystemClock {
        &self.clock
    }

    fn wait(&mut self, control: &Control, until_ns: u64, happened: impl Fn() -> bool) {
        let limit_ns = until_ns.saturating_sub(self.clock.now_ns());
        control.wait(Duration::from_nanos(limit_ns), happened);
    }

    fn start_together(&mut self, stop: &Stop) -> Result<u64, LoadError> {
        cpu::shorten_slices();
        let start = self.barrier.wait(stop)?;
        Ok(self.clock.time_ns(start))
    }

    fn cancel_start(&mut self) {
        self.barrier.break_off();
    }

    fn take_ended(&mut self) -> Option<Result<(), LoadError>> {
        let index = self.workers.iter().position(JoinHandle::is_finished)?;
        Some(match self.workers.swap_remove(index).join() {
            Ok(ended) => ended.map_err(LoadError::from),
            Err(payload) => Err(LoadError::panicked(&*payload)),
        })
    }

    fn has_workers(&self) -> bool {
        !self.workers.is_empty()
    }
}

impl<C, U> Spawn<C, U> for Threads<'_>
where
    C: Connect + Send + Sync + 'static,
    C::Session: 'static,
    U: VirtualUser + 'static,
{
    fn spawn(&mut self, setup: WorkerSetup<C, U>) -> std::io::Result<()> {
        let clock = self.clock;
        let thread = std::thread::Builder::new()
            .name("dyno-worker".to_owned())
            .spawn(move || worker::run(setup, clock))?;
        self.workers.push(thread);
        Ok(())
    }
}
