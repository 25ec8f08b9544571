//! The main thread of a load: its phases from the first connection to the last.

mod turns;

use std::sync::Arc;
use std::time::Duration;

use measure::setup::Unfinished;
use measure::slice::{ErrorCount, Phase, Second};
use plan::Pace;
use workload::session::{Connect, FailureKind, SessionError};
use workload::virtual_user::Workload;

use crate::arrivals::ArrivalQueue;
use crate::barrier::Barrier;
use crate::clock::{Clock, ns};
use crate::control::{Control, Stage};
use crate::cut::Cutter;
use crate::outcome::{LoadError, LoadEvent, LoadOutcome};
use crate::pulse::Pulse;
use crate::record::Recorder;
use crate::runtime::{Runtime, Spawn, Threads};
use crate::schedule::Schedule;
use crate::spec::{End, LoadSpec};
use crate::stop::Stop;
use crate::turns::Seat;
use crate::worker::WorkerSetup;

const MS_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000 * MS_NS;
/// How often the main thread checks for requests to stop and for dead workers, which do not notify
/// it.
const POLL_INTERVAL_NS: u64 = 20 * MS_NS;
/// How late a cut may be. After a longer stall of this thread, two seconds are merged.
const LATE_CUT_NS: u64 = 100 * MS_NS;
/// Time without a completed transaction after which the server counts as lost, even if some users
/// still have connections.
const LOST_AFTER_NS: u64 = SECOND_NS;
/// How long to wait for a canceled worker before it is detached: an in-process call cannot be
/// interrupted.
const CANCEL_LIMIT_NS: u64 = SECOND_NS;

/// Runs a load: connects, waits for the other loads of its `barrier`, warms up, measures, stops.
/// `on_event` receives each second as it ends; `stop` may end the load early; `pulse` publishes its
/// progress between the seconds.
pub fn run<C, W>(
    spec: &LoadSpec,
    connector: &Arc<C>,
    workload: &W,
    barrier: &Barrier,
    stop: &Stop,
    pulse: Option<&Arc<Pulse>>,
    on_event: &mut dyn FnMut(LoadEvent),
) -> Result<LoadOutcome, LoadError>
where
    C: Connect + Send + Sync + 'static,
    C::Session: 'static,
    W: Workload,
{
    let threads = Threads::new(barrier);
    run_on(threads, spec, connector, workload, stop, pulse, on_event)
}

pub(crate) fn run_on<C, W: Workload>(
    runtime: impl Spawn<C, W::User>,
    spec: &LoadSpec,
    connector: &Arc<C>,
    workload: &W,
    stop: &Stop,
    pulse: Option<&Arc<Pulse>>,
    on_event: &mut dyn FnMut(LoadEvent),
) -> Result<LoadOutcome, LoadError> {
    let kinds = Some(workload.kinds()).filter(|kinds| *kinds > 1);
    let sizes = (workload.catalog().labels.count(), kinds.unwrap_or(0));
    let mut load = Load::new(runtime, spec, sizes, pulse);
    let connected = load
        .spawn_workers(connector, workload)
        .and_then(|()| load.connect(stop, on_event));
    connected.inspect_err(|_| load.runtime.cancel_start())?;
    let start_ns = load.runtime.start_together(stop)?;
    if spec.turn.is_some() {
        load.begin(start_ns);
        load.take_turns(stop, on_event);
        return load.stop(None, stop, on_event);
    }
    if spec.warmup.is_zero() {
        // Before the first transaction; otherwise, too many could start.
        load.limit_events();
        load.begin(start_ns);
    } else {
        load.begin(start_ns);
        let last = load.phase(Phase::Warmup, Some(spec.warmup), stop, on_event);
        if let Some(second) = last {
            on_event(LoadEvent::Second(second));
        }
        if load.is_over(stop) {
            // There would be nothing to measure.
            return load.stop(None, stop, on_event);
        }
        load.limit_events();
    }
    let last = load.phase(Phase::Measure, spec.time, stop, on_event);
    load.stop(last, stop, on_event)
}

struct Load<'a, R: Runtime> {
    runtime: R,
    spec: &'a LoadSpec,
    control: Arc<Control>,
    recorders: Vec<Arc<Recorder>>,
    /// Whether the server sent no reply for the stall limit.
    is_stalled: bool,
    worker_error: Option<LoadError>,
    cutter: Cutter,
    start_ns: u64,
    /// The load's seat if it takes turns. Dropped once the workers have ended, so that no other load
    /// runs before.
    seat: Option<Seat>,
}

impl<'a, R: Runtime> Load<'a, R> {
    /// `sizes` are those of recorders.
    fn new(
        runtime: R,
        spec: &'a LoadSpec,
        sizes: (usize, usize),
        pulse: Option<&Arc<Pulse>>,
    ) -> Self {
        let recorders = (0..spec.workers).map(|worker| {
            let users = spec.users_of(worker);
            let tally = spec.tally.clone().map(|tally| (tally, users.clone()));
            Arc::new(Recorder::new(sizes, users.len(), pulse.cloned(), tally))
        });
        let control = Arc::new(Control::new(
            spec.own_users().len() as u32,
            spec.turn.is_some(),
        ));
        let turn = spec.turn.as_ref();
        Self {
            runtime,
            spec,
            seat: turn.map(|turn| Seat::take(turn, &control)),
            control,
            recorders: recorders.collect(),
            is_stalled: false,
            worker_error: None,
            cutter: Cutter::default(),
            start_ns: 0,
        }
    }

    /// Starts the workers, each with its share of the users.
    fn spawn_workers<C, W>(&mut self, connector: &Arc<C>, workload: &W) -> Result<(), LoadError>
    where
        R: Spawn<C, W::User>,
        W: Workload,
    {
        let spec = self.spec;
        for (worker, recorder) in (0..).zip(&self.recorders) {
            let indexes = spec.users_of(worker);
            let connect_limit = spec.share(spec.connect_limit, worker).len();
            let seed = spec.seed.wrapping_add(u64::from(indexes.start));
            self.runtime.spawn(WorkerSetup {
                number: worker,
                control: Arc::clone(&self.control),
                recorder: Arc::clone(recorder),
                connector: Arc::clone(connector),
                catalog: Arc::clone(workload.catalog()),
                users: workload.users(indexes),
                spec: LoadSpec {
                    seed,
                    // Without a permit, its users would wait forever.
                    connect_limit: connect_limit.max(1) as u32,
                    ..spec.clone()
                },
            })?;
        }
        Ok(())
    }

    fn connect(
        &mut self,
        stop: &Stop,
        on_event: &mut dyn FnMut(LoadEvent),
    ) -> Result<(), LoadError> {
        let users = self.spec.own_users().len() as u32;
        let (mut last_open, mut progress_ns) = (0, self.now_ns());
        loop {
            let open = self.control.connected();
            on_event(LoadEvent::Connecting { open });
            if open == users {
                return Ok(());
            }
            if open != last_open {
                (last_open, progress_ns) = (open, self.now_ns());
            }
            let refused = self.control.failure().map(LoadError::Connect);
            let interrupted = stop.is_interrupted().then_some(LoadError::Interrupted);
            let is_stalled = self.now_ns() - progress_ns >= ns(self.spec.stall_limit);
            let stalled = is_stalled.then(|| LoadError::Connect(stalled_error(self.spec)));
            self.check_workers();
            let worker_error = self.worker_error.take();
            if let Some(error) = refused.or(interrupted).or(worker_error).or(stalled) {
                return Err(error);
            }
            let until_ns = self.now_ns() + POLL_INTERVAL_NS;
            let control = &self.control;
            self.runtime.wait(control, until_ns, || {
                control.connected() == users || control.failure().is_some()
            });
        }
    }

    fn now_ns(&self) -> u64 {
        self.runtime.clock().now_ns()
    }

    /// Joins the workers that have ended, and keeps the first error.
    fn check_workers(&mut self) {
        while let Some(ended) = self.runtime.take_ended() {
            self.worker_error = self.worker_error.take().or(ended.err());
        }
    }

    /// Starts the transactions. Arrivals are scheduled from `start_ns` on.
    fn begin(&mut self, start_ns: u64) {
        let spec = self.spec;
        let phases = spec.phases.as_ref();
        let phases = phases.map(|phases| Schedule::of(phases, spec.warmup, start_ns));
        match (spec.pace, phases) {
            (Pace::Open { per_s, arrivals }, phases) => {
                let rate = phases.unwrap_or_else(|| Schedule::constant(per_s, start_ns));
                let arrivals = ArrivalQueue::new(arrivals, rate, spec.seed, spec.part);
                self.control.open(arrivals);
            }
            (Pace::Closed, Some(users)) => self.control.activate(users),
            (Pace::Closed, None) => {}
        }
        self.start_ns = start_ns;
        self.cutter.begin(&self.recorders, start_ns);
        self.control.advance(Stage::Run);
    }

    /// Limits the number of transactions that start from now on, if the spec has a limit.
    fn limit_events(&self) {
        if let Some(events) = self.spec.events {
            let own = self.spec.part.range(events);
            self.control.limit(own.end - own.start);
        }
    }

    /// Cuts the running load into seconds until the phase is over. Returns the last second without
    /// passing it to `on_event`.
    fn phase(
        &mut self,
        phase: Phase,
        length: Option<Duration>,
        stop: &Stop,
        on_event: &mut dyn FnMut(LoadEvent),
    ) -> Option<Box<Second>> {
        let begin_ns = self.cutter.last_ns;
        let end_ns = length.map(|length| begin_ns.saturating_add(ns(length)));
        if let (Phase::Measure, Some(end_ns)) = (phase, end_ns) {
            // This thread may wake late, and arrivals are exactly those of the time.
            self.control.end_arrivals(end_ns);
        }
        let mut next_cut_ns = begin_ns + SECOND_NS;
        let mut replied_ns = begin_ns;
        loop {
            let now_ns = self.now_ns();
            let over = end_ns.is_some_and(|end_ns| now_ns >= end_ns) || self.is_over(stop);
            let is_cut_due = (next_cut_ns..next_cut_ns + LATE_CUT_NS).contains(&now_ns);
            // A phase of length zero has no seconds.
            if (over && end_ns != Some(begin_ns)) || is_cut_due {
                let second = Box::new(self.cut(phase));
                if has_replies(&second) {
                    replied_ns = now_ns;
                }
                // A load with a time limit ends then, even if the server hangs.
                self.is_stalled = length.is_none() && self.has_stalled(replied_ns, now_ns);
                if over {
                    return Some(second);
                }
                on_event(LoadEvent::Second(second));
            }
            if over {
                return None;
            }
            next_cut_ns = next_boundary_ns(begin_ns, next_cut_ns, now_ns);
            let wake_ns = end_ns.map_or(next_cut_ns, |end_ns| end_ns.min(next_cut_ns));
            let poll_ns = self.now_ns() + POLL_INTERVAL_NS;
            let control = &self.control;
            self.runtime.wait(control, wake_ns.min(poll_ns), || {
                control.have_all_ended() || control.failure().is_some()
            });
        }
    }

    fn is_over(&mut self, stop: &Stop) -> bool {
        self.check_workers();
        let has_failed = self.worker_error.is_some() || self.control.failure().is_some();
        stop.is_requested() || has_failed || self.is_stalled || self.control.have_all_ended()
    }

    /// Whether the server has not replied since `replied_ns` although transactions are running.
    fn has_stalled(&self, replied_ns: u64, now_ns: u64) -> bool {
        let limit_ns = ns(self.spec.stall_limit);
        let is_too_long = |since_ns| now_ns.saturating_sub(since_ns) >= limit_ns;
        is_too_long(replied_ns) && self.running().any(is_too_long)
    }

    fn cut(&mut self, phase: Phase) -> Second {
        let now_ns = self.now_ns();
        let backlog = self.control.backlog(now_ns);
        self.cutter.cut(&self.recorders, phase, now_ns, backlog)
    }

    /// Lets running transactions complete, and cancels those that take too long. `last` is the last
    /// second of the measurement.
    fn stop(
        mut self,
        last: Option<Box<Second>>,
        stop: &Stop,
        on_event: &mut dyn FnMut(LoadEvent),
    ) -> Result<LoadOutcome, LoadError> {
        let stopped_ns = self.now_ns();
        let lost = self.lost(stopped_ns);
        let mut unfinished = self.unfinished(stopped_ns);
        self.control.advance(Stage::Stop);
        // Only now: before the stop, transactions would start while the caller handles it.
        if let Some(second) = last {
            on_event(LoadEvent::Second(second));
        }
        self.drain(on_event);
        unfinished.cancelled = self.running().count() as u64;
        let drained = self.cut(Phase::Drain);
        // Users that were idle may have had something to finish.
        if unfinished.count > 0 || has_replies(&drained) {
            on_event(LoadEvent::Second(Box::new(drained)));
        }
        self.cancel();
        if let Some(error) = self.worker_error.take() {
            return Err(error);
        }
        let end = match self.control.failure() {
            Some(error) => End::Failed(error),
            None if stop.is_interrupted() => End::Interrupted,
            None => lost.unwrap_or(End::Completed),
        };
        Ok(LoadOutcome { end, unfinished })
    }

    /// The transactions that are running at the end of the load.
    fn unfinished(&self, stopped_ns: u64) -> Unfinished {
        let oldest_ns = self.running().min();
        Unfinished {
            count: self.running().count() as u64,
            oldest_ms: oldest_ns.map(|start_ns| stopped_ns.saturating_sub(start_ns) as f64 / 1e6),
            cancelled: 0,
        }
    }

    /// Waits for running transactions, within the grace period.
    fn drain(&mut self, on_event: &mut dyn FnMut(LoadEvent)) {
        let deadline_ns = self.now_ns().saturating_add(ns(self.spec.grace));
        while !self.control.have_all_ended() && self.now_ns() < deadline_ns {
            on_event(LoadEvent::Draining {
                running: self.running().count(),
            });
            let until_ns = self.now_ns() + POLL_INTERVAL_NS;
            let control = &self.control;
            self.runtime
                .wait(control, until_ns, || control.have_all_ended());
        }
    }

    /// The end of a load that has lost its server.
    fn lost(&self, now_ns: u64) -> Option<End> {
        let last_ends = self.recorders.iter().map(|recorder| recorder.last_end_ns());
        let at_ns = last_ends.max().unwrap_or(0).max(self.start_ns);
        let is_silent = now_ns.saturating_sub(at_ns) >= LOST_AFTER_NS;
        let away = self.control.users_away();
        let error = match away {
            Some((users, error)) if users as usize == self.spec.own_users().len() => error,
            // A server that rejects some users may be serving the others.
            Some((_, error)) if is_silent && is_unreachable(&error) => error,
            _ if self.is_stalled => stalled_error(self.spec),
            _ => return None,
        };
        Some(End::ServerLost { at_ns, error })
    }

    /// The intended starts of all running transactions.
    fn running(&self) -> impl Iterator<Item = u64> {
        self.recorders
            .iter()
            .flat_map(|recorder| recorder.running())
    }

    /// Cancels the workers' tasks, and waits for the workers to end within a limit.
    fn cancel(&mut self) {
        self.control.advance(Stage::Cancel);
        let deadline_ns = self.now_ns() + CANCEL_LIMIT_NS;
        self.check_workers();
        while self.runtime.has_workers() && self.now_ns() < deadline_ns {
            let until_ns = self.now_ns() + MS_NS;
            self.runtime.wait(&self.control, until_ns, || false);
            self.check_workers();
        }
    }
}

/// Ends the workers, however the load ends. Workers that hang are detached.
impl<R: Runtime> Drop for Load<'_, R> {
    fn drop(&mut self) {
        if !self.control.reached(Stage::Cancel) {
            self.cancel();
        }
    }
}

/// When the next second ends. A stall of this thread makes one second longer, but never the next
/// one shorter.
fn next_boundary_ns(begin_ns: u64, next_cut_ns: u64, now_ns: u64) -> u64 {
    if now_ns < next_cut_ns {
        return next_cut_ns;
    }
    let whole_s = now_ns.saturating_sub(begin_ns) / SECOND_NS;
    begin_ns + (whole_s + 1) * SECOND_NS
}

/// Whether there were replies. An error that the load ignores is one; a failed attempt to reconnect
/// is not.
fn has_replies(second: &Second) -> bool {
    let slice = &second.slice;
    let is_reply = |error: &ErrorCount| error.action != "reconnected";
    let has_any = slice.response.count() + slice.statement_count() > 0;
    has_any || slice.errors.values().any(is_reply)
}

/// Whether an error means that the server cannot be reached, rather than being its reply.
fn is_unreachable(error: &SessionError) -> bool {
    !error.is_from_server() || error.kind == FailureKind::Away
}

/// The error for a server that sent no reply within the load's limit.
fn stalled_error(spec: &LoadSpec) -> SessionError {
    SessionError {
        kind: FailureKind::Lost,
        sqlstate: None,
        number: None,
        message: format!("no reply for {} s", spec.stall_limit.as_secs_f64()),
        statement: None,
    }
}
