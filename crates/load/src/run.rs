//! The main thread of a load: its phases, from the first connection to the last.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use measure::setup::Unfinished;
use measure::slice::{Phase, Second};
use workload::catalog::Catalog;
use workload::kind::Kind;
use workload::session::{Connect, SessionError};
use workload::user::{Shared as UserShared, User};

use crate::arrivals::Queue;
use crate::barrier::Barrier;
use crate::control::{Control, Stage};
use crate::cut::Cutter;
use crate::record::{KindIndex, Recorder};
use crate::spec::{End, LoadSpec, Pace};
use crate::stop::Stop;
use crate::worker::{self, Job};

const SECOND: Duration = Duration::from_secs(1);
/// How often the main thread looks whether something has changed.
const LOOK: Duration = Duration::from_millis(20);
/// How long a cancelled worker may take to end, before it is left behind (a call
/// into SQLite cannot be dropped).
const CANCEL_LIMIT: Duration = Duration::from_secs(1);

/// What a load tells while it runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// Connections are being opened.
    Connecting {
        /// Open so far.
        open: u32,
        /// Wanted.
        users: u32,
    },
    /// A second (or the rest of one at a phase's end) is over.
    Second(&'a Second),
    /// The load has ended, and waits for running transactions.
    Draining {
        /// How many.
        running: usize,
    },
}

/// How a load ended.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOutcome {
    /// Why.
    pub end: End,
    /// What was running when it did.
    pub unfinished: Unfinished,
}

/// A load that did not begin, or one whose own threads failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A connection could not be opened.
    #[error("{0}")]
    Connect(SessionError),
    /// The system gave no thread or event queue, or took it away.
    #[error("a worker thread failed: {0}")]
    Worker(#[from] std::io::Error),
    /// A thread of the load panicked, with these words.
    #[error("a thread of the load panicked: {0}")]
    Panicked(String),
    /// The user asked to stop before the first transaction.
    #[error("interrupted before the load began")]
    Interrupted,
    /// Another load that was to begin with this one could not.
    #[error("another load could not begin")]
    Alone,
}

impl LoadError {
    /// The error for what a thread that panicked left.
    #[must_use]
    pub fn panicked(payload: &(dyn Any + Send)) -> Self {
        let words = match payload.downcast_ref::<&str>() {
            Some(words) => Some(*words),
            None => payload.downcast_ref::<String>().map(String::as_str),
        };
        Self::Panicked(words.unwrap_or("without a word").to_owned())
    }
}

/// What virtual users do.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// All statements.
    pub catalog: &'a Arc<Catalog>,
    /// Their kinds, in the order of [`Second`]'s.
    pub kinds: &'a [Kind],
    /// What all users share.
    pub users: &'a Arc<UserShared>,
}

/// Runs a load: connects, waits for the others of its `barrier`, warms up,
/// measures, stops. `tell` hears of every second as it ends; `stop` may end the load
/// before its time.
///
/// # Errors
/// When the load could not begin, or a worker died; what else happens later is in the
/// outcome.
pub fn run<C>(
    spec: &LoadSpec,
    connector: &Arc<C>,
    work: Work<'_>,
    barrier: &Barrier,
    stop: &Stop,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<LoadOutcome, LoadError>
where
    C: Connect + Send + Sync + 'static,
    C::Session: 'static,
{
    let kind_index = Arc::new(KindIndex::new(work.catalog, work.kinds));
    let spawn = |control, recorder, places: std::ops::Range<u32>| {
        let users = places
            .map(|index| User::new(work.users, index))
            .collect::<Result<_, _>>();
        let job = Job {
            control,
            recorder,
            connector: Arc::clone(connector),
            catalog: Arc::clone(work.catalog),
            kinds: Arc::clone(&kind_index),
            users: users.map_err(std::io::Error::other)?,
            ignored_errors: spec.ignored_errors.as_slice().into(),
            think: spec.think,
            connect_limit: spec.connect_limit.div_ceil(spec.workers),
            is_open_loop: spec.pace != Pace::Closed,
            batch_scheduling: spec.batch_scheduling,
        };
        std::thread::Builder::new()
            .name("dyno-worker".to_owned())
            .spawn(move || worker::work(job))
    };
    let connected = Load::start(spec, work.kinds.len(), barrier.origin(), spawn)
        .and_then(|load| load.connected(stop, tell));
    let mut load = connected.inspect_err(|_| barrier.break_off())?;
    let start = load.together(barrier, stop)?;
    if spec.warmup.is_zero() {
        // Before the first transaction, so that there are not a few too many.
        load.limit();
        load.begin(start);
    } else {
        load.begin(start);
        load.phase(Phase::Warmup, Some(spec.warmup), stop, tell);
        if load.is_over(stop) {
            // What is measured from here on would be a moment only.
            return load.stop(stop, tell);
        }
        load.limit();
    }
    load.phase(Phase::Measure, spec.time, stop, tell);
    load.stop(stop, tell)
}

/// A load under way.
struct Load<'a> {
    spec: &'a LoadSpec,
    control: Arc<Control>,
    recorders: Vec<Arc<Recorder>>,
    threads: Vec<JoinHandle<std::io::Result<()>>>,
    /// Why a worker ended before its users did.
    died: Option<LoadError>,
    cutter: Cutter,
}

impl<'a> Load<'a> {
    /// Starts the workers, each with its share of the users.
    fn start(
        spec: &'a LoadSpec,
        kinds: usize,
        origin: Instant,
        spawn: impl Fn(
            Arc<Control>,
            Arc<Recorder>,
            std::ops::Range<u32>,
        ) -> std::io::Result<JoinHandle<std::io::Result<()>>>,
    ) -> Result<Self, LoadError> {
        let mut load = Self {
            spec,
            control: Arc::new(Control::new(origin)),
            recorders: Vec::new(),
            threads: Vec::new(),
            died: None,
            cutter: Cutter::new(kinds),
        };
        for worker in 0..spec.workers {
            let share = |worker| {
                (u64::from(spec.users) * u64::from(worker) / u64::from(spec.workers)) as u32
            };
            let places = share(worker)..share(worker + 1);
            let recorder = Arc::new(Recorder::new(kinds, places.len()));
            load.recorders.push(Arc::clone(&recorder));
            let thread = spawn(Arc::clone(&load.control), recorder, places)?;
            load.threads.push(thread);
        }
        Ok(load)
    }

    /// Waits until every user has its connection.
    fn connected(
        mut self,
        stop: &Stop,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Self, LoadError> {
        loop {
            let open = self.control.connected.load(Ordering::Relaxed);
            tell(Event::Connecting {
                open,
                users: self.spec.users,
            });
            if open == self.spec.users {
                return Ok(self);
            }
            let refused = self.control.failure().map(LoadError::Connect);
            let stopped = stop.is_interrupted().then_some(LoadError::Interrupted);
            self.look_at_workers();
            if let Some(error) = refused.or(stopped).or_else(|| self.died.take()) {
                return Err(error);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Waits for the loads that are to begin with this one.
    fn together(&self, barrier: &Barrier, stop: &Stop) -> Result<Instant, LoadError> {
        barrier.wait(stop).map_err(|_| match stop.is_interrupted() {
            true => LoadError::Interrupted,
            false => LoadError::Alone,
        })
    }

    /// Joins the workers that have ended, and keeps the first failure.
    fn look_at_workers(&mut self) {
        while let Some(place) = self.threads.iter().position(JoinHandle::is_finished) {
            let failed = failure_of(self.threads.swap_remove(place));
            self.died = self.died.take().or(failed);
        }
    }

    /// Lets the transactions begin; their clock says `start`.
    fn begin(&mut self, start: Instant) {
        let start_ns = self.control.time_ns(start);
        if let Pace::Open { per_s, arrivals } = self.spec.pace {
            let arrivals = Queue::new(arrivals, per_s, start_ns, self.spec.seed);
            self.control.open(arrivals);
        }
        self.cutter.begin(&self.recorders, start_ns);
        self.control.advance(Stage::Run);
    }

    /// From now on only so many transactions start.
    fn limit(&self) {
        if let Some(events) = self.spec.events {
            self.control.limit(events);
        }
    }

    /// Lets time pass and cuts it into seconds, until the phase is over.
    fn phase(
        &mut self,
        phase: Phase,
        length: Option<Duration>,
        stop: &Stop,
        tell: &mut dyn FnMut(Event<'_>),
    ) {
        let begin = self.control.instant(self.cutter.last_ns());
        let end = length.map(|length| begin + length);
        let mut next_cut = begin + SECOND;
        loop {
            let now = Instant::now();
            let over = end.is_some_and(|end| now >= end) || self.is_over(stop);
            if over || now >= next_cut {
                // A phase of no length leaves no trace.
                if end != Some(begin) {
                    let second = self.cut(phase);
                    tell(Event::Second(&second));
                }
                next_cut += SECOND;
            }
            if over {
                return;
            }
            let wake = end.map_or(next_cut, |end| end.min(next_cut));
            let pause = wake.saturating_duration_since(Instant::now());
            std::thread::sleep(pause.min(LOOK));
        }
    }

    fn is_over(&mut self, stop: &Stop) -> bool {
        self.look_at_workers();
        let has_failed = self.died.is_some() || self.control.failure().is_some();
        stop.is_asked() || has_failed || self.all_ended()
    }

    fn all_ended(&self) -> bool {
        self.control.ended.load(Ordering::Acquire) >= self.spec.users
    }

    fn cut(&mut self, phase: Phase) -> Second {
        let now_ns = self.control.now_ns();
        let backlog = self.control.backlog(now_ns);
        self.cutter.cut(&self.recorders, phase, now_ns, backlog)
    }

    /// Ends the load on transaction boundaries, or cancels what takes too long.
    fn stop(
        mut self,
        stop: &Stop,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<LoadOutcome, LoadError> {
        let stopped_ns = self.control.now_ns();
        let running: Vec<u64> = self.running().collect();
        let oldest = running.iter().min();
        let mut unfinished = Unfinished {
            count: running.len() as u64,
            oldest_ms: oldest.map(|start_ns| stopped_ns.saturating_sub(*start_ns) as f64 / 1e6),
            cancelled: 0,
        };
        self.control.advance(Stage::Stop);
        let deadline = Instant::now() + self.spec.grace;
        while !self.all_ended() && Instant::now() < deadline {
            tell(Event::Draining {
                running: self.running().count(),
            });
            std::thread::sleep(LOOK);
        }
        unfinished.cancelled = self.running().count() as u64;
        if unfinished.count > 0 {
            let drained = self.cut(Phase::Drain);
            tell(Event::Second(&drained));
        }
        self.cancel();
        if let Some(error) = self.died.take() {
            return Err(error);
        }
        let end = match self.control.failure() {
            Some(error) => End::Failed(error),
            None if stop.is_interrupted() => End::Interrupted,
            None => End::Completed,
        };
        Ok(LoadOutcome { end, unfinished })
    }

    fn running(&self) -> impl Iterator<Item = u64> {
        self.recorders
            .iter()
            .flat_map(|recorder| recorder.running())
    }

    /// Has the workers drop what they do, and waits a moment until they have.
    fn cancel(&mut self) {
        self.control.advance(Stage::Cancel);
        let deadline = Instant::now() + CANCEL_LIMIT;
        self.look_at_workers();
        while !self.threads.is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            self.look_at_workers();
        }
        self.threads.clear();
    }
}

/// However a load ends, its workers do, too.
impl Drop for Load<'_> {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Why a thread that has ended did not do so well.
fn failure_of(ended: JoinHandle<std::io::Result<()>>) -> Option<LoadError> {
    match ended.join() {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(LoadError::Worker(error)),
        Err(payload) => Some(LoadError::panicked(&*payload)),
    }
}
