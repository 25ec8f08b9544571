//! Follows the loads, the monitors and the servers of a running trial, and ends the trial when
//! one of them fails.

mod results;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use load::{Barrier, End, LoadError, LoadOutcome, Stop};
use measure::event::{Happening, NodeEvent};
use measure::gather::Gather;
use measure::metric::{Metrics, MonitorPoint};
use measure::setup::{Outcome, StatementKind, server_lost};
use measure::slice::{Phase, Second};

use crate::Database;
use crate::early_stop::EarlyStop;
use crate::failure::{Cause, Failure};
use crate::merge::Merger;
use crate::monitors::{self, Monitors, SampleClock};
use crate::observer::Observer;
use crate::rig::Rig;
use crate::trial::Trial;

pub(crate) use results::LoadResults;

/// How often to check whether the servers are alive, and whether the user interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A message to the trial's thread.
pub(crate) enum TrialMessage {
    /// From an instance's load, by its index from 0.
    Load(usize, LoadMessage),
    Monitored(MonitorPoint),
    /// Something that the study did to a node, and why that failed.
    Event(NodeEvent, Option<Failure>),
}

/// A message from a load.
pub(crate) enum LoadMessage {
    /// The number of open connections.
    Connecting(u32),
    Second(Box<Second>),
    /// The number of running transactions after the load's end.
    Draining(usize),
    Ended(Result<LoadOutcome, LoadError>),
}

/// What is known of a running trial.
pub(crate) struct TrialMonitor<'a> {
    trial: &'a Trial,
    rig: &'a Rig,
    barrier: &'a Barrier,
    observer: &'a mut dyn Observer,
    kinds: Vec<StatementKind>,
    loads: Vec<LoadState>,
    merger: Merger,
    gather: Gather,
    started_at: String,
    has_measured: bool,
    monitoring: Monitoring,
    early_stop: EarlyStop,
    stop: &'a Stop,
    /// What ended the trial too early, and its outcome.
    ended_by: Option<(Outcome, Failure)>,
    events: Vec<NodeEvent>,
}

/// What is known of one load.
struct LoadState {
    gather: Gather,
    open: u32,
    running: usize,
    ended: Option<Result<LoadOutcome, LoadError>>,
}

/// The state of the monitors.
enum Monitoring {
    /// They start when the load does.
    Waiting,
    Running(Monitors),
    Over(Metrics),
}

impl<'a> TrialMonitor<'a> {
    pub(crate) fn new(
        trial: &'a Trial,
        rig: &'a Rig,
        barrier: &'a Barrier,
        stop: &'a Stop,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let kinds = trial.statement_kinds();
        let initial = |_| LoadState {
            gather: Gather::new(&kinds),
            open: 0,
            running: 0,
            ended: None,
        };
        let loads: Vec<LoadState> = rig.databases().map(initial).collect();
        Self {
            merger: Merger::new(loads.len()),
            gather: Gather::new(&kinds),
            started_at: wall_clock_of(barrier.origin()),
            has_measured: false,
            monitoring: match trial.planned.monitors {
                true => Monitoring::Waiting,
                false => Monitoring::Over(Metrics::new()),
            },
            early_stop: EarlyStop::new(trial),
            stop,
            ended_by: None,
            events: Vec::new(),
            trial,
            rig,
            barrier,
            observer,
            kinds,
            loads,
        }
    }

    /// Runs until every load has ended.
    pub(crate) fn run(
        &mut self,
        messages: &Receiver<TrialMessage>,
        sender: &Sender<TrialMessage>,
        interrupted: &AtomicBool,
    ) {
        while self.loads.iter().any(|load| load.ended.is_none()) {
            // The sender lives as long as this call.
            if let Ok(message) = messages.recv_timeout(POLL_INTERVAL) {
                self.receive(message);
            }
            self.start_monitors(sender);
            if self.ended_by.is_none() {
                self.ended_by = self.death(false);
            }
            if self.ended_by.is_some() || interrupted.load(Ordering::Relaxed) {
                self.stop.interrupt();
            }
        }
        self.stop_monitors();
    }

    /// Receives what was sent until all threads of the trial had ended.
    pub(crate) fn receive_rest(&mut self, messages: &Receiver<TrialMessage>) {
        messages
            .try_iter()
            .for_each(|message| self.receive(message));
    }

    fn receive(&mut self, message: TrialMessage) {
        match message {
            TrialMessage::Load(place, message) => self.load_message(place, message),
            TrialMessage::Monitored(point) => self.observer.monitored(&point),
            TrialMessage::Event(event, failure) => {
                self.happened(event);
                if let Some(failure) = failure {
                    self.ended_by.get_or_insert_with(|| failed(failure, None));
                }
            }
        }
    }

    fn happened(&mut self, event: NodeEvent) {
        self.observer.event(&event);
        self.events.push(event);
    }

    fn load_message(&mut self, place: usize, message: LoadMessage) {
        let Some(load) = self.loads.get_mut(place) else {
            return;
        };
        match message {
            LoadMessage::Connecting(open) => {
                load.open = open;
                let open = self.loads.iter().map(|load| load.open).sum();
                let users = self.trial.planned.load.threads * self.trial.planned.topology.instances;
                self.observer.connecting(open, users);
            }
            LoadMessage::Second(second) => self.second(place, *second),
            LoadMessage::Draining(running) => {
                load.running = running;
                self.stop_monitors();
                let running = self.loads.iter().map(|load| load.running).sum();
                self.observer.draining(running);
            }
            LoadMessage::Ended(ended) => {
                load.running = 0;
                self.merger.end(place);
                self.merged();
                self.load_ended(place, ended);
            }
        }
    }

    fn second(&mut self, place: usize, second: Second) {
        if second.phase == Phase::Drain {
            self.stop_monitors();
        }
        if self.loads.len() > 1
            && let (Some(load), Ok(number)) = (self.loads.get_mut(place), u32::try_from(place + 1))
        {
            load.gather.add(&second);
            self.observer.instance_second(number, &second, &self.kinds);
        }
        self.merger.add(place, second);
        self.merged();
    }

    fn merged(&mut self) {
        while let Some(second) = self.merger.next() {
            self.gather.add(&second);
            self.has_measured |= second.phase == Phase::Measure;
            if self.early_stop.observe(&second) {
                self.stop.enough();
            }
            self.observer.second(&second, &self.kinds);
        }
    }

    /// The first load that fails ends the trial for all.
    fn load_ended(&mut self, place: usize, ended: Result<LoadOutcome, LoadError>) {
        let database = self.rig.databases().nth(place);
        let failure = match &ended {
            Err(error) => load_failure(database, error).map(|failure| failed(failure, None)),
            Ok(LoadOutcome {
                end: End::Failed(error),
                ..
            }) => Some((
                Outcome::Stopped {
                    error: error.to_string(),
                },
                statement_failure(database, error),
            )),
            Ok(LoadOutcome {
                end: End::ServerLost { at_ns, error },
                ..
            }) if !self.is_expected_loss(place, *at_ns) => {
                let outcome = Outcome::ServerLost {
                    at_ms: at_ns / 1_000_000,
                    error: error.to_string(),
                };
                let failure = lost_failure(database, &outcome, error);
                Some((outcome, failure))
            }
            Ok(LoadOutcome {
                end: End::Completed | End::Interrupted | End::ServerLost { .. },
                ..
            }) => None,
        };
        if let (None, Some((outcome, failure))) = (&self.ended_by, failure) {
            // A server that died says more than what its load saw of that.
            self.ended_by = self.death(true).or(Some((outcome, failure)));
        }
        if let Some(load) = self.loads.get_mut(place) {
            load.ended = Some(ended);
        }
    }

    /// Whether an event of the study explains that an instance's load lost its server at `at_ns`.
    fn is_expected_loss(&self, place: usize, at_ns: u64) -> bool {
        let lost_at = self.barrier.origin() + Duration::from_nanos(at_ns);
        let instance = self.rig.instances.get(place);
        let cluster = instance.and_then(|instance| instance.cluster.as_ref());
        cluster.is_some_and(|cluster| cluster.explains_loss(lost_at))
    }

    /// The first death of a node that the study did not ask for.
    fn death(&mut self, is_likely: bool) -> Option<(Outcome, Failure)> {
        let (node, failure) = self.rig.death(is_likely)?;
        if self.barrier.begun().is_none() {
            return Some(failed(failure, None));
        }
        let at = self.barrier.origin().elapsed();
        self.happened(NodeEvent {
            at_s: at.as_secs_f64(),
            done_s: None,
            node,
            what: Happening::Died,
            reason: failure
                .message
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        });
        Some(failed(failure, Some(at)))
    }

    /// Starts the monitors as soon as the loads have begun.
    fn start_monitors(&mut self, sender: &Sender<TrialMessage>) {
        let (Monitoring::Waiting, Some(begin)) = (&self.monitoring, self.barrier.begun()) else {
            return;
        };
        let clock = SampleClock {
            origin: self.barrier.origin(),
            begin,
            measure: begin + self.trial.planned.load.warmup,
        };
        let sender = sender.clone();
        // The trial may end before the monitor does.
        let tell = Box::new(move |point| drop(sender.send(TrialMessage::Monitored(point))));
        self.monitoring = match monitors::start(self.rig.monitored(), clock, tell) {
            Ok(monitors) => Monitoring::Running(monitors),
            Err(error) => {
                self.observer
                    .note(&format!("cannot monitor host and servers: {error}"));
                Monitoring::Over(Metrics::new())
            }
        };
    }

    /// The measure phase is over.
    fn stop_monitors(&mut self) {
        let over = Monitoring::Over(Metrics::new());
        self.monitoring = match std::mem::replace(&mut self.monitoring, over) {
            Monitoring::Running(monitors) => Monitoring::Over(monitors.stop()),
            waiting_or_over => waiting_or_over,
        };
    }
}

/// The wall-clock time of a past instant, in UTC.
fn wall_clock_of(instant: Instant) -> String {
    let time = jiff::Timestamp::now() - instant.elapsed();
    time.strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string()
}

/// The outcome of a failure, which may be of a server that was lost at a time of the trial.
fn failed(failure: Failure, lost_at: Option<Duration>) -> (Outcome, Failure) {
    let reason = match lost_at {
        Some(at) => format!("{}: {}", server_lost(at), failure.message),
        None => failure.message.clone(),
    };
    (Outcome::Failed { reason }, failure)
}

/// Why a load could not begin or go on; `None` when that is not its own fault.
fn load_failure(database: Option<&Database>, error: &LoadError) -> Option<Failure> {
    match error {
        LoadError::Connect(error) => {
            let remedy = database.and_then(|database| database.remedy(error));
            let message = format!("cannot open the load's connections: {error}");
            Some(Failure::new(Cause::Server, message).remedy(remedy))
        }
        LoadError::Worker(_) | LoadError::Panicked(_) => Some(Failure::new(Cause::Internal, error)),
        LoadError::Interrupted | LoadError::Alone => None,
    }
}

fn statement_failure(
    database: Option<&Database>,
    error: &workload::session::SessionError,
) -> Failure {
    let message = format!("the load was stopped by the server's {error}");
    let known = database.and_then(|database| database.remedy(error));
    let remedy = known.map(str::to_owned).unwrap_or_else(|| {
        format!(
            "to continue despite this error, use --ignore-errors {}",
            error.code()
        )
    });
    Failure::new(Cause::Interrupted, message).remedy(Some(remedy))
}

fn lost_failure(
    database: Option<&Database>,
    outcome: &Outcome,
    error: &workload::session::SessionError,
) -> Failure {
    let message = format!("{outcome}; what was measured until then is kept");
    let remedy = database.and_then(|database| database.remedy(error));
    Failure::new(Cause::Interrupted, message).remedy(remedy)
}
