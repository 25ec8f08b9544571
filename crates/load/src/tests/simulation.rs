//! A runtime in simulated time: all workers run on one thread, and the clock jumps to the next
//! event whenever no task can run. A load of hours takes milliseconds, and the same seed
//! always gives the same run.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use workload::session::Connect;
use workload::virtual_user::VirtualUser;

use crate::clock::Clock;
use crate::control::{Control, Stage, lock};
use crate::outcome::LoadError;
use crate::runtime::{Runtime, Spawn};
use crate::stop::Stop;
use crate::worker::WorkerSetup;

/// Number of polls without progress of time after which a test counts as stuck.
const POLLS_PER_INSTANT: u32 = 1_000_000;

/// The runtime; also the handle of scripts and tests.
#[derive(Clone)]
pub(crate) struct Simulation(Rc<State>);

struct State {
    now_ns: Cell<u64>,
    /// By time, then in the order in which they were set.
    timers: RefCell<BTreeMap<(u64, u64), Waker>>,
    timers_set: Cell<u64>,
    ready: Arc<Ready>,
    tasks: RefCell<Vec<Task>>,
    workers: RefCell<Vec<Worker>>,
    /// The worker whose task is being polled.
    running: Cell<usize>,
    /// The place among simulations that share a clock.
    together: Option<(Arc<Together>, usize)>,
    others_failed: Cell<bool>,
    start_cancelled: Cell<bool>,
}

struct Task {
    worker: usize,
    /// `None` while it is polled, and once it has ended.
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

struct Worker {
    control: Arc<Control>,
    /// The worker's thread is blocked until then.
    blocked_until_ns: u64,
    tasks: usize,
    is_taken: bool,
}

/// The tasks that were woken, in order.
#[derive(Default)]
struct Ready(Mutex<VecDeque<usize>>);

struct TaskWaker {
    task: usize,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        lock(&self.ready.0).push_back(self.task);
    }
}

struct WorkerWaker {
    tasks: Vec<usize>,
    ready: Arc<Ready>,
}

impl Wake for WorkerWaker {
    fn wake(self: Arc<Self>) {
        lock(&self.ready.0).extend(&self.tasks);
    }
}

impl Simulation {
    /// The clock starts at `now_ns`.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self::with(now_ns, None)
    }

    /// The simulation of one of several threads that share a clock; waits for its first moment.
    pub(crate) fn one_of(together: &Arc<Together>, index: usize) -> Self {
        let now_ns = together.wait_until(index, 0);
        Self::with(now_ns, Some((Arc::clone(together), index)))
    }

    fn with(now_ns: u64, together: Option<(Arc<Together>, usize)>) -> Self {
        Self(Rc::new(State {
            together,
            now_ns: Cell::new(now_ns),
            timers: RefCell::default(),
            timers_set: Cell::new(0),
            ready: Arc::default(),
            tasks: RefCell::default(),
            workers: RefCell::default(),
            running: Cell::new(0),
            others_failed: Cell::new(false),
            start_cancelled: Cell::new(false),
        }))
    }

    /// Makes the loads that were to start together with this one fail.
    pub(crate) fn fail_others(&self) {
        self.0.others_failed.set(true);
    }

    /// Whether the load has told the others that it cannot start.
    pub(crate) fn is_start_cancelled(&self) -> bool {
        self.0.start_cancelled.get()
    }

    /// Blocks the thread of the worker whose task is running, as a long call would: from the task's
    /// next wait on, none of the worker's tasks runs before `length_ns` have passed.
    pub(crate) fn block_worker(&self, length_ns: u64) {
        let mut workers = self.0.workers.borrow_mut();
        workers[self.0.running.get()].blocked_until_ns = self.now_ns() + length_ns;
    }

    /// Runs the workers until `until_ns` or until `happened` returns true.
    pub(crate) fn run_until(&self, until_ns: u64, happened: impl Fn() -> bool) {
        loop {
            self.run_ready();
            if happened() || self.now_ns() >= until_ns {
                return;
            }
            let next_ns = self.next_event_ns().unwrap_or(until_ns).min(until_ns);
            let next_ns = next_ns.max(self.now_ns());
            let together = self.0.together.as_ref();
            let now_ns =
                together.map_or(next_ns, |(clock, index)| clock.wait_until(*index, next_ns));
            self.0.now_ns.set(now_ns);
            self.fire_timers();
        }
    }

    fn run_ready(&self) {
        self.drop_cancelled();
        let mut polls = 0;
        while let Some(task) = self.take_ready() {
            self.poll(task);
            polls += 1;
            assert!(polls < POLLS_PER_INSTANT, "time stands still");
        }
    }

    /// The first task in the queue whose worker is not blocked.
    fn take_ready(&self) -> Option<usize> {
        let mut ready = lock(&self.0.ready.0);
        let (tasks, workers) = (self.0.tasks.borrow(), self.0.workers.borrow());
        let can_run = |task: &usize| workers[tasks[*task].worker].blocked_until_ns <= self.now_ns();
        let place = ready.iter().position(can_run)?;
        ready.remove(place)
    }

    fn poll(&self, task: usize) {
        // Taken out while it is polled, because it may access the tasks.
        let (worker, future) = {
            let entry = &mut self.0.tasks.borrow_mut()[task];
            (entry.worker, entry.future.take())
        };
        let Some(mut future) = future else { return };
        let ready = Arc::clone(&self.0.ready);
        let waker = Waker::from(Arc::new(TaskWaker { task, ready }));
        self.0.running.set(worker);
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => self.0.tasks.borrow_mut()[task].future = Some(future),
            Poll::Ready(()) => self.0.workers.borrow_mut()[worker].tasks -= 1,
        }
    }

    /// A worker notices that it was canceled once its thread is not blocked.
    fn drop_cancelled(&self) {
        let mut cancelled = Vec::new();
        for (index, worker) in self.0.workers.borrow_mut().iter_mut().enumerate() {
            let is_free = worker.blocked_until_ns <= self.now_ns();
            if is_free && worker.control.reached(Stage::Cancel) {
                worker.tasks = 0;
                cancelled.push(index);
            }
        }
        let mut tasks = self.0.tasks.borrow_mut();
        let cancelled = tasks
            .iter_mut()
            .filter(|task| cancelled.contains(&task.worker));
        let dropped: Vec<_> = cancelled.map(|task| task.future.take()).collect();
        drop(tasks);
        drop(dropped);
    }

    /// The next timer, or the end of a worker's block.
    fn next_event_ns(&self) -> Option<u64> {
        let timer = self
            .0
            .timers
            .borrow()
            .keys()
            .next()
            .map(|(at_ns, _)| *at_ns);
        let workers = self.0.workers.borrow();
        let blocks = workers.iter().map(|worker| worker.blocked_until_ns);
        let unblocked = blocks.filter(|at_ns| *at_ns > self.now_ns()).min();
        timer.into_iter().chain(unblocked).min()
    }

    fn fire_timers(&self) {
        let later = self
            .0
            .timers
            .borrow_mut()
            .split_off(&(self.now_ns() + 1, 0));
        for waker in self.0.timers.replace(later).into_values() {
            waker.wake();
        }
    }
}

/// The clock of several simulations, each on a thread of its own. Only one of them runs at a time:
/// the one whose next moment comes first, so that each run is the same.
pub(crate) struct Together {
    /// When the loads start, all of which have then connected.
    start_ns: u64,
    /// The next moment of each simulation; `None` while it runs.
    next_ns: Mutex<Vec<Option<u64>>>,
    changed: Condvar,
}

impl Together {
    pub(crate) fn new(simulations: usize, start_ns: u64) -> Arc<Self> {
        Arc::new(Self {
            start_ns,
            // Until its thread waits for it, none may run.
            next_ns: Mutex::new(vec![None; simulations]),
            changed: Condvar::new(),
        })
    }

    /// Lets the others run until `at_ns`.
    fn wait_until(&self, index: usize, at_ns: u64) -> u64 {
        let mut next_ns = lock(&self.next_ns);
        next_ns[index] = Some(at_ns);
        self.changed.notify_all();
        let is_other = |next_ns: &mut Vec<Option<u64>>| {
            let first = (0..next_ns.len()).min_by_key(|index| next_ns[*index]);
            first != Some(index)
        };
        next_ns = self.changed.wait_while(next_ns, is_other).unwrap();
        next_ns[index] = None;
        at_ns
    }

    /// Lets the others run without this one.
    pub(crate) fn leave(&self, index: usize) {
        lock(&self.next_ns)[index] = Some(u64::MAX);
        self.changed.notify_all();
    }
}

impl Clock for Simulation {
    fn now_ns(&self) -> u64 {
        self.0.now_ns.get()
    }

    fn convert_ns(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns
    }

    async fn sleep_until(&self, at_ns: u64) {
        let mut is_set = false;
        std::future::poll_fn(|context| {
            if self.now_ns() >= at_ns {
                return Poll::Ready(());
            }
            if !std::mem::replace(&mut is_set, true) {
                let number = self.0.timers_set.get();
                self.0.timers_set.set(number + 1);
                let mut timers = self.0.timers.borrow_mut();
                timers.insert((at_ns, number), context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    async fn yield_now(&self) {
        let mut has_yielded = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut has_yielded, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl Runtime for Simulation {
    type Clock = Self;

    fn clock(&self) -> &Self {
        self
    }

    fn wait(&mut self, _: &Control, until_ns: u64, happened: impl Fn() -> bool) {
        self.run_until(until_ns, happened);
    }

    fn start_together(&mut self, stop: &Stop) -> Result<u64, LoadError> {
        if let Some((together, _)) = &self.0.together {
            self.run_until(together.start_ns, || false);
        }
        if stop.is_interrupted() {
            return Err(LoadError::Interrupted);
        }
        match self.0.others_failed.get() {
            true => Err(LoadError::OtherFailed),
            false => Ok(self.now_ns()),
        }
    }

    fn cancel_start(&mut self) {
        self.0.start_cancelled.set(true);
    }

    fn take_ended(&mut self) -> Option<Result<(), LoadError>> {
        let mut workers = self.0.workers.borrow_mut();
        let ended = workers
            .iter_mut()
            .find(|worker| worker.tasks == 0 && !worker.is_taken)?;
        ended.is_taken = true;
        Some(Ok(()))
    }

    fn has_workers(&self) -> bool {
        let workers = self.0.workers.borrow();
        workers.iter().any(|worker| !worker.is_taken)
    }
}

impl<C, U> Spawn<C, U> for Simulation
where
    C: Connect + 'static,
    C::Session: 'static,
    U: VirtualUser + 'static,
{
    fn spawn(&mut self, setup: WorkerSetup<C, U>) -> std::io::Result<()> {
        let control = Arc::clone(&setup.control);
        let worker = self.0.workers.borrow().len();
        let mut tasks = self.0.tasks.borrow_mut();
        let first = tasks.len();
        tasks.extend(setup.into_tasks(self.clone())?.map(|future| Task {
            worker,
            future: Some(Box::pin(future)),
        }));
        let waker = Waker::from(Arc::new(WorkerWaker {
            tasks: (first..tasks.len()).collect(),
            ready: Arc::clone(&self.0.ready),
        }));
        waker.wake_by_ref();
        self.0.workers.borrow_mut().push(Worker {
            control: Arc::clone(&control),
            blocked_until_ns: 0,
            tasks: tasks.len() - first,
            is_taken: false,
        });
        control.register(waker);
        Ok(())
    }
}
