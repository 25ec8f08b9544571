//! The main thread of a load: its phases, from the first connection to the last.

use std::any::Any;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use measure::setup::Unfinished;
use measure::slice::{Phase, Second};
use workload::catalog::Catalog;
use workload::kind::Kind;
use workload::session::{Connect, SessionError};
use workload::user::{Shared as UserShared, User};

use crate::absence::{Progress, is_absence, stalled_error};
use crate::arrivals::Queue;
use crate::barrier::Barrier;
use crate::control::{Control, Stage};
use crate::cut::Cutter;
use crate::record::{KindIndex, Recorder};
use crate::spec::{End, LoadSpec, Pace};
use crate::stop::Stop;
use crate::worker::{self, Job};

const SECOND: Duration = Duration::from_secs(1);
/// How often the main thread looks for what nothing wakes it for: a request to stop, a
/// worker that died.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// What a second may be longer than one. After a longer stall of this thread, two are one.
const LATE_CUT: Duration = Duration::from_millis(100);
/// How long no transaction may have ended, before users that cannot reconnect mean that
/// the server is lost and not only they.
const LOST_AFTER: Duration = Duration::from_secs(1);
/// How long a cancelled worker may take to end, before it is left behind (a call
/// into a database in process cannot be dropped).
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
        let seed = spec.seed.wrapping_add(u64::from(places.start));
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
            seed,
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
    /// Nothing has come of the load for too long.
    stalled: bool,
    /// Why a worker ended before its users did.
    died: Option<LoadError>,
    cutter: Cutter,
    /// When it began, on the load's clock.
    start_ns: u64,
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
            control: Arc::new(Control::new(origin, spec.users)),
            recorders: Vec::new(),
            threads: Vec::new(),
            stalled: false,
            died: None,
            cutter: Cutter::new(kinds),
            start_ns: 0,
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
        let mut last = (0, Instant::now());
        loop {
            let open = self.control.connected();
            tell(Event::Connecting {
                open,
                users: self.spec.users,
            });
            if open == self.spec.users {
                return Ok(self);
            }
            if open != last.0 {
                last = (open, Instant::now());
            }
            let refused = self.control.failure().map(LoadError::Connect);
            let stopped = stop.is_interrupted().then_some(LoadError::Interrupted);
            let stalled = last.1.elapsed() >= self.spec.stall_limit;
            let stalled = stalled.then(|| LoadError::Connect(stalled_error(self.spec)));
            self.look_at_workers();
            if let Some(error) = refused.or(stopped).or_else(|| self.died.take()).or(stalled) {
                return Err(error);
            }
            let control = &self.control;
            control.wait(POLL_INTERVAL, || {
                control.have_all_connected() || control.failure().is_some()
            });
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
        self.start_ns = start_ns;
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
        let mut progress = Progress::new(begin);
        loop {
            let now = Instant::now();
            let over = end.is_some_and(|end| now >= end) || self.is_over(stop);
            // A phase of no length leaves no trace.
            if (over && end != Some(begin)) || (now >= next_cut && now < next_cut + LATE_CUT) {
                let second = self.cut(phase);
                tell(Event::Second(&second));
                progress.saw(&second, now);
                // A limit of time ends the load also where the server hangs.
                self.stalled = length.is_none() && self.is_stalled(&progress, now);
            }
            if over {
                return;
            }
            next_cut = next_boundary(begin, next_cut, now);
            let wake = end.map_or(next_cut, |end| end.min(next_cut));
            let pause = wake.saturating_duration_since(Instant::now());
            let control = &self.control;
            control.wait(pause.min(POLL_INTERVAL), || {
                control.have_all_ended() || control.failure().is_some()
            });
        }
    }

    fn is_over(&mut self, stop: &Stop) -> bool {
        self.look_at_workers();
        let has_failed = self.died.is_some() || self.control.failure().is_some();
        stop.is_asked() || has_failed || self.stalled || self.control.have_all_ended()
    }

    /// Whether the server does nothing; a user without work is no sign of that.
    fn is_stalled(&self, progress: &Progress, now: Instant) -> bool {
        let limit = self.spec.stall_limit;
        let now_ns = self.control.time_ns(now);
        let waits = |start_ns| Duration::from_nanos(now_ns.saturating_sub(start_ns)) >= limit;
        progress.has_none_for(limit, now) && self.running().any(waits)
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
        let lost = self.lost(stopped_ns);
        let running: Vec<u64> = self.running().collect();
        let oldest = running.iter().min();
        let mut unfinished = Unfinished {
            count: running.len() as u64,
            oldest_ms: oldest.map(|start_ns| stopped_ns.saturating_sub(*start_ns) as f64 / 1e6),
            cancelled: 0,
        };
        self.control.advance(Stage::Stop);
        let deadline = Instant::now() + self.spec.grace;
        while !self.control.have_all_ended() && Instant::now() < deadline {
            tell(Event::Draining {
                running: self.running().count(),
            });
            let control = &self.control;
            control.wait(POLL_INTERVAL, || control.have_all_ended());
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
            None => lost.unwrap_or(End::Completed),
        };
        Ok(LoadOutcome { end, unfinished })
    }

    /// Whether the server is away now, at the end of the load.
    fn lost(&self, now_ns: u64) -> Option<End> {
        let last_ends = self.recorders.iter().map(|recorder| recorder.last_end_ns());
        let at_ns = last_ends.max().unwrap_or(0).max(self.start_ns);
        let is_silent = now_ns.saturating_sub(at_ns) >= LOST_AFTER.as_nanos() as u64;
        let away = self.control.users_away();
        let error = match away {
            Some((users, error)) if users == self.spec.users => error,
            // One that refuses some users may be busy with the others.
            Some((_, error)) if is_silent && is_absence(&error) => error,
            _ if self.stalled => stalled_error(self.spec),
            _ => return None,
        };
        Some(End::ServerLost { at_ns, error })
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

/// The end of the second under way, which begins where the one that ends at `next_cut` does
/// or later: a stall of this thread makes a second longer, and none short.
fn next_boundary(begin: Instant, next_cut: Instant, now: Instant) -> Instant {
    if now < next_cut {
        return next_cut;
    }
    let whole_s = now.saturating_duration_since(begin).as_secs();
    begin + SECOND * u32::try_from(whole_s + 1).unwrap_or(u32::MAX)
}

/// Why a thread that has ended did not do so well.
fn failure_of(ended: JoinHandle<std::io::Result<()>>) -> Option<LoadError> {
    match ended.join() {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(LoadError::Worker(error)),
        Err(payload) => Some(LoadError::panicked(&*payload)),
    }
}
