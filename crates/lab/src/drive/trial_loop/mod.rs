//! The loop of a running trial: merges what loads, servers, faults, and monitors report, and ends the
//! trial when one of them fails.

mod results;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use load::{End, LoadError, LoadEvent, LoadOutcome};
use measure::agent::AgentSummary;
use measure::fault::FaultRecord;
use measure::instance::{NodeEvent, NodeEventKind};
use measure::metric::MonitorPoint;
use measure::others;
use measure::recovery::ResponseSecond;
use measure::setup::{Outcome, StatementKind};
use measure::slice::{Phase, Second};
use measure::summarize::Summarizer;
use measure::summary::{TrialSummary, Turn};

use crate::drive::early_stop::EarlyStop;
use crate::drive::merge::Merger;
use crate::drive::start::Start;
use crate::observe::monitors::{Monitors, SampleClock};
use crate::{Failure, Observer, Progress, Rig, Trial};

use results::failed;

/// How often to check for dead servers and for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What the threads of a running trial tell its loop.
pub(crate) enum TrialMessage {
    /// From the load of the instance with this index.
    Load(usize, LoadEvent),
    LoadEnded(usize, Result<LoadOutcome, LoadError>),
    Monitored(MonitorPoint),
    /// Something that happened to a node.
    Event(NodeEvent),
    /// The latest record of a fault and, if the trial cannot continue, the reason.
    Fault(Box<FaultRecord>, Option<Failure>),
    /// The trial cannot continue.
    Failed(Failure),
    /// For the user.
    Note(String),
    /// The agents of a load that has ended.
    Agents(Vec<AgentSummary>),
    /// What to do once everything before is stored.
    Then(Box<dyn FnOnce() + Send>),
}

pub(crate) struct TrialLoop<'a> {
    trial: &'a Trial,
    rig: &'a Rig,
    start: &'a Start,
    observer: &'a mut dyn Observer,
    kinds: Vec<StatementKind>,
    loads: Vec<LoadState>,
    merger: Merger,
    gather: Summarizer,
    /// What is known of the result besides the seconds.
    summary: TrialSummary,
    /// Beginning and end of the measured seconds, on the loads' clock.
    measured_ns: Option<(u64, u64)>,
    /// `None` if nothing is monitored, or once they have stopped.
    monitors: Option<Monitors>,
    is_sampling: bool,
    early_stop: EarlyStop,
    ended_by: Option<(Outcome, Failure)>,
    told_of_others: bool,
}

struct LoadState {
    gather: Summarizer,
    /// Only in a trial with faults.
    seconds: Vec<ResponseSecond>,
    open: u32,
    running: usize,
    is_draining: bool,
    ended: Option<Result<LoadOutcome, LoadError>>,
}

impl<'a> TrialLoop<'a> {
    pub(crate) fn new(
        trial: &'a Trial,
        rig: &'a Rig,
        start: &'a Start,
        monitors: Option<Monitors>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let kinds = trial.statement_kinds();
        let initial = |_| LoadState {
            gather: Summarizer::new(&kinds),
            seconds: Vec::new(),
            open: 0,
            running: 0,
            is_draining: false,
            ended: None,
        };
        let loads: Vec<LoadState> = rig.databases().map(initial).collect();
        Self {
            merger: Merger::new(loads.len()),
            gather: Summarizer::new(&kinds).in_phases_of(&trial.planned.load),
            summary: TrialSummary {
                started_at: Some(wall_clock_of(start.barrier.origin())),
                reset: rig.reset.clone(),
                ..TrialSummary::new(trial.planned_setup())
            },
            measured_ns: None,
            monitors,
            is_sampling: false,
            early_stop: EarlyStop::new(trial),
            ended_by: None,
            told_of_others: false,
            trial,
            rig,
            start,
            observer,
            kinds,
            loads,
        }
    }

    /// Returns when all loads have ended.
    pub(crate) fn run(&mut self, messages: &Receiver<TrialMessage>, interrupted: &AtomicBool) {
        while self.loads.iter().any(|load| load.ended.is_none()) {
            // Never disconnected: the caller holds a sender.
            if let Ok(message) = messages.recv_timeout(POLL_INTERVAL) {
                self.receive(message);
            }
            self.begin_sampling();
            if self.ended_by.is_none() {
                self.ended_by = self.node_death(false);
            }
            if self.ended_by.is_some() || interrupted.load(Ordering::Relaxed) {
                self.start.stop.interrupt();
            }
        }
        self.stop_monitors();
    }

    pub(crate) fn receive(&mut self, message: TrialMessage) {
        match message {
            TrialMessage::Load(index, event) => self.load_event(index, event),
            TrialMessage::LoadEnded(index, ended) => {
                self.loads[index].running = 0;
                self.merger.end(index);
                self.take_merged();
                self.load_ended(index, ended);
            }
            TrialMessage::Monitored(point) => {
                self.tell_of_others(&point);
                self.observer.progress(Progress::Monitored(&point));
            }
            TrialMessage::Event(event) => self.record_event(event),
            TrialMessage::Fault(fault, failure) => {
                self.record_fault(*fault);
                failure.into_iter().for_each(|failure| self.fail(failure));
            }
            TrialMessage::Failed(failure) => self.fail(failure),
            TrialMessage::Note(note) => self.observer.note(&note),
            TrialMessage::Agents(agents) => self.summary.agents.extend(agents),
            TrialMessage::Then(then) => then(),
        }
    }

    /// Reports, once per trial, that other programs use CPU time, while the user can still stop
    /// them.
    fn tell_of_others(&mut self, point: &MonitorPoint) {
        let metrics = point.values.iter();
        let metrics = metrics.map(|(name, value)| (name.as_str(), *value));
        if let Some((share, busiest)) = others::distorting(metrics).filter(|_| !self.told_of_others)
        {
            self.told_of_others = true;
            let share = share * 100.0;
            self.observer.note(&format!(
                "other programs use {share:.0} % of the CPUs: {busiest}"
            ));
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.ended_by.get_or_insert_with(|| failed(failure, None));
    }

    fn record_event(&mut self, event: NodeEvent) {
        self.observer.progress(Progress::Event(&event));
        self.summary.events.push(event);
    }

    /// Replaces an earlier record of the fault.
    fn record_fault(&mut self, fault: FaultRecord) {
        self.observer.progress(Progress::Fault(&fault));
        let mut faults = self.summary.faults.iter_mut();
        match faults.find(|one| one.place() == fault.place()) {
            Some(before) => *before = fault,
            None => self.summary.faults.push(fault),
        }
    }

    fn load_event(&mut self, index: usize, event: LoadEvent) {
        match event {
            LoadEvent::Connecting { open } => {
                self.loads[index].open = open;
                let open = self.loads.iter().map(|load| load.open).sum();
                let users = self.trial.planned.load.threads * self.trial.planned.topology.instances;
                self.observer.progress(Progress::Connecting { open, users });
            }
            LoadEvent::Second(second) => self.second(index, *second),
            LoadEvent::Draining { running } => {
                self.loads[index].running = running;
                self.load_drains(index);
                let running = self.loads.iter().map(|load| load.running).sum();
                self.observer.progress(Progress::Draining { running });
            }
        }
    }

    fn second(&mut self, index: usize, second: Second) {
        if second.phase == Phase::Drain {
            self.load_drains(index);
        }
        if self.trial.has_faults() {
            let seconds = &mut self.loads[index].seconds;
            seconds.push(ResponseSecond::from(&second));
        }
        if self.loads.len() > 1 {
            self.loads[index].gather.add(&second);
            let number = index as u32 + 1;
            let news = Progress::InstanceSecond(number, &second, &self.kinds);
            self.observer.progress(news);
        }
        self.merger.add(index, second);
        self.take_merged();
    }

    /// Stops the monitors once no load is measured any more: with a limited number of transactions,
    /// some loads end before others.
    fn load_drains(&mut self, index: usize) {
        self.loads[index].is_draining = true;
        let is_over = |load: &LoadState| load.is_draining || load.ended.is_some();
        if self.loads.iter().all(is_over) {
            self.stop_monitors();
        }
    }

    fn take_merged(&mut self) {
        while let Some(second) = self.merger.next() {
            self.gather.add(&second);
            if second.phase == Phase::Measure {
                let (begin_ns, _) = self.measured_ns.unwrap_or((second.start_ns, 0));
                self.measured_ns = Some((begin_ns, second.end_ns));
                let turn = self.start.turn.as_ref().map(|_| Turn::from(&second));
                self.summary.turns.extend(turn);
            }
            if self.early_stop.observe(&second) {
                self.start.stop.enough();
            }
            let news = Progress::Second(&second, &self.kinds);
            self.observer.progress(news);
        }
    }

    /// The first load that fails ends the trial.
    fn load_ended(&mut self, index: usize, ended: Result<LoadOutcome, LoadError>) {
        let failure = match &ended {
            Ok(load) if self.is_expected(index, &load.end) => None,
            ended => results::failure_of_load(&self.rig.instances[index].database, ended),
        };
        if let (None, Some((outcome, failure))) = (&self.ended_by, failure) {
            // The death of the server explains more than its load's error.
            self.ended_by = self.node_death(true).or(Some((outcome, failure)));
        }
        self.loads[index].ended = Some(ended);
    }

    /// Whether a fault of the study explains that an instance's load lost its server.
    fn is_expected(&self, index: usize, end: &End) -> bool {
        let End::ServerLost { at_ns, .. } = end else {
            return false;
        };
        let lost_at = self.start.barrier.origin() + Duration::from_nanos(*at_ns);
        self.rig.instances[index].faults.explains_loss(lost_at)
    }

    /// The first death of a node that no fault of the study caused.
    fn node_death(&mut self, is_likely: bool) -> Option<(Outcome, Failure)> {
        let (node, failure) = self.rig.death(is_likely)?;
        if self.start.barrier.begun().is_none() {
            return Some(failed(failure, None));
        }
        let at = self.start.barrier.origin().elapsed();
        let reason = failure.message.lines().next().unwrap_or_default();
        let event = NodeEvent {
            at_s: at.as_secs_f64(),
            node,
            what: NodeEventKind::Died,
            reason: reason.to_owned(),
        };
        self.record_event(event);
        Some(failed(failure, Some(at)))
    }

    /// Starts the monitors' clock once the loads have begun.
    fn begin_sampling(&mut self) {
        if let (Some(begin), Some(monitors), false) =
            (self.start.barrier.begun(), &self.monitors, self.is_sampling)
        {
            self.is_sampling = true;
            monitors.begin(SampleClock {
                origin: self.start.barrier.origin(),
                begin,
                measure: begin + self.start.warmup(self.trial),
            });
        }
    }

    /// Takes the last sample, unless that has happened.
    fn stop_monitors(&mut self) {
        if let Some(monitors) = self.monitors.take() {
            self.summary.metrics = monitors.stop();
        }
    }
}

/// The wall-clock time of a past instant, in UTC.
fn wall_clock_of(instant: Instant) -> String {
    let time = jiff::Timestamp::now() - instant.elapsed();
    time.strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string()
}
