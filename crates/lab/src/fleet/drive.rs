//! The coordinator's side: one load that runs in parts on agents.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fleet::agent::CUT_LIMIT;
use fleet::{Drive, Ending, Identity, Receipt, failed};
use load::{End, LoadError, LoadEvent, LoadOutcome};
use measure::agent::{AgentSummary, AgentTotals};
use measure::clock::Offsets;
use measure::setup::Unfinished;
use measure::slice::Second;

use super::message::{Ended, PulseReport, Report};
use crate::Failure;
use crate::drive::clock::seconds;
use crate::drive::merge::Merger;
use crate::drive::trial_loop::TrialMessage;

/// How long to wait for a report before looking at what else has changed.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long an agent may be silent while the nats-server is there: a network that was cut for 5 s,
/// and a new connection.
const SILENCE_LIMIT: Duration = Duration::from_secs(8);
/// How long an agent may answer without reporting a second. What was lost on its way comes again
/// after 10 s, and a nats-server that stores nothing, or a load that hangs, may never send one.
const STALL_LIMIT: Duration = Duration::from_secs(20);
/// More than anything can happen in a second, and so little that sums cannot overflow.
const COUNT_LIMIT: u64 = 1 << 40;
/// How far an agent's clock may run ahead over a trial.
const CLOCK_ERROR_LIMIT: Duration = Duration::from_secs(10);
/// How far ahead the start is set, besides some round trips.
const LEAD: Duration = Duration::from_millis(200);
const LEAD_ROUND_TRIPS: u32 = 4;
const LOOK_AT_ALL: &str = "look at the output of the agents, and at that of the nats-server, which may be down, unreachable, or out of disk space";

pub(super) struct FleetLoad<'a, 'l> {
    drive: Drive<'a>,
    agents: Vec<AgentState>,
    merger: Merger,
    /// Of reports whose seconds may not be stored yet, with the number of merged seconds before them.
    receipts: VecDeque<(u64, Receipt)>,
    merged: u64,
    /// Whether the connection to the nats-server was lost at the last check.
    is_cut: bool,
    /// How the load is to end for reasons of its own.
    ending: Ending,
    index: usize,
    load: engine::Load<'l>,
    send: &'a dyn Fn(TrialMessage),
}

struct AgentState {
    identity: Identity,
    offsets: Offsets,
    open: u32,
    is_ready: bool,
    /// The number of its running transactions, once its load has ended.
    running: Option<usize>,
    ended: Option<Ended>,
    missing_since_ns: Option<u64>,
    /// The end of its last second.
    last_ns: u64,
    /// When its load last reported connections, a second, or that it was ending.
    progress: Instant,
    pulse: PulseReport,
    totals: AgentTotals,
}

impl AgentState {
    fn new((identity, offsets): &(Identity, Offsets)) -> Self {
        Self {
            identity: identity.clone(),
            offsets: *offsets,
            open: 0,
            is_ready: false,
            running: None,
            ended: None,
            missing_since_ns: None,
            last_ns: 0,
            progress: Instant::now(),
            pulse: PulseReport::default(),
            totals: AgentTotals::default(),
        }
    }

    fn is_over(&self) -> bool {
        self.ended.is_some() || self.missing_since_ns.is_some()
    }

    fn summary(&self, index: usize, start_ns: u64) -> AgentSummary {
        let Offsets { steady, wall } = self.offsets;
        let began_ns = self.ended.as_ref().and_then(|ended| ended.began_ns);
        self.totals.finish(AgentSummary {
            label: self.identity.label.clone(),
            server: index as u32 + 1,
            cpus: self.identity.cpus,
            clock_ahead_ms: wall.ahead_ns as f64 / 1e6,
            round_trip_ms: steady.round_trip_ns as f64 / 1e6,
            late_start_ms: began_ns.map(|ns| (ns as f64 - start_ns as f64) / 1e6),
            missing_since_s: self.missing_since_ns.map(seconds),
            ..AgentSummary::default()
        })
    }
}

impl<'a, 'l> FleetLoad<'a, 'l> {
    pub(super) fn new(
        drive: Drive<'a>,
        index: usize,
        load: engine::Load<'l>,
        send: &'a dyn Fn(TrialMessage),
    ) -> Self {
        let agents: Vec<_> = drive.agents().iter().map(AgentState::new).collect();
        Self {
            drive,
            merger: Merger::new(agents.len()),
            agents,
            receipts: VecDeque::new(),
            merged: 0,
            is_cut: false,
            ending: Ending::None,
            index,
            load,
            send,
        }
    }

    /// Waits until all users of all agents are connected.
    pub(super) fn connect(&mut self) -> Result<(), LoadError> {
        while !self.agents.iter().all(|agent| agent.is_ready) {
            self.receive();
            let open = self.agents.iter().map(|agent| agent.open);
            let open = open.fold(0, u32::saturating_add);
            (self.load.tell)(LoadEvent::Connecting { open });
            if self.load.stop.is_interrupted() {
                return Err(LoadError::Interrupted);
            }
            for (index, agent) in self.agents.iter_mut().enumerate() {
                if let Some(ended) = agent.ended.take() {
                    return Err(not_started(&agent.identity, ended));
                }
                let silence = self.drive.silence(index);
                if silence >= SILENCE_LIMIT {
                    let why = "fell silent before the load started";
                    return Err(LoadError::Agents(failed(&agent.identity, why)));
                }
                if !agent.is_ready && self.drive.since(agent.progress) >= STALL_LIMIT {
                    let why = "answers, but its reports do not arrive";
                    let failure = failed(&agent.identity, why).remedy(LOOK_AT_ALL);
                    return Err(LoadError::Agents(failure));
                }
            }
        }
        Ok(())
    }

    /// Waits for the other loads, and tells all agents when they start.
    pub(super) fn start(&mut self) -> Result<(), LoadError> {
        let trips_ns = self.agents.iter();
        let trips_ns = trips_ns.map(|agent| agent.offsets.steady.round_trip_ns);
        let longest = Duration::from_nanos(trips_ns.max().unwrap_or_default());
        let lead = LEAD + LEAD_ROUND_TRIPS * longest;
        let begun = self.load.barrier.meet(lead, self.load.stop)?;
        let start_ns = self.load.barrier.ns(begun);
        for agent in &mut self.agents {
            agent.last_ns = start_ns;
            agent.progress = begun;
        }
        self.drive
            .update(|control| control.start_ns = Some(start_ns));
        Ok(())
    }

    /// Returns when all agents have ended or are missing.
    pub(super) fn run(&mut self) {
        while !self.agents.iter().all(AgentState::is_over) {
            self.receive();
            self.merge();
            self.pass_on();
            self.find_missing();
        }
        self.merge();
        for (_, receipt) in self.receipts.drain(..) {
            (self.send)(TrialMessage::Then(receipt));
        }
    }

    fn receive(&mut self) {
        let (agent, parts) = self.drive.next(POLL_INTERVAL).unwrap_or_default();
        for part in parts {
            // What an agent says is not trusted to be a report.
            let report = part.report.map(|report| serde_json::from_slice(&report));
            if let Some(Ok(report)) = report {
                self.report(agent, report);
            }
            self.receipts.push_back((self.merged, part.receipt));
        }
        self.note_cut();
    }

    /// Notes, once for all loads, when the connection to the nats-server is lost or restored.
    fn note_cut(&mut self) {
        let is_cut = self.drive.is_cut();
        if is_cut == self.is_cut || self.index > 0 {
            return;
        }
        self.is_cut = is_cut;
        let at_s = seconds(self.load.barrier.ns(Instant::now()));
        let until_s = at_s + CUT_LIMIT.as_secs_f64();
        let what = match is_cut {
            true => format!(
                "lost the connection to the nats-server; agents wait for it until {until_s:.1} s"
            ),
            false => "connected to the nats-server again".to_owned(),
        };
        (self.send)(TrialMessage::Note(format!("at {at_s:.1} s: {what}")));
    }

    fn report(&mut self, index: usize, report: Report) {
        let latest_ns = self.load.barrier.ns(Instant::now() + CLOCK_ERROR_LIMIT);
        let agent = &mut self.agents[index];
        if agent.is_over() {
            return;
        }
        match report {
            Report::Event(LoadEvent::Connecting { open }) => {
                agent.open = open;
                agent.progress = Instant::now();
            }
            // Its times would shift those of the others.
            Report::Event(LoadEvent::Second(second)) if !is_plausible(&second, latest_ns) => {}
            Report::Event(LoadEvent::Second(second)) => {
                agent.last_ns = second.end_ns;
                agent.progress = Instant::now();
                agent.totals.add(&second);
                self.merger.add(index, *second);
            }
            Report::Event(LoadEvent::Draining { running }) => {
                agent.running = Some(running);
                agent.progress = Instant::now();
                self.tell_draining();
            }
            Report::Ready => agent.is_ready = true,
            Report::Alert => self.load.route.alert(),
            Report::Pulse(pulse) => self.pulse(index, pulse),
            Report::Ended(ended) => self.ended(index, ended),
        }
    }

    /// Once no agent is measuring.
    fn tell_draining(&mut self) {
        let agents = self.agents.iter().filter(|agent| !agent.is_over());
        let running: Option<Vec<usize>> = agents.map(|agent| agent.running).collect();
        if let Some(running) = running {
            let running = running.into_iter().fold(0, usize::saturating_add);
            (self.load.tell)(LoadEvent::Draining { running });
        }
    }

    fn pulse(&mut self, index: usize, mut pulse: PulseReport) {
        let Some(all) = self.load.pulse else {
            return;
        };
        let errors = std::mem::take(&mut pulse.errors);
        let before = std::mem::replace(&mut self.agents[index].pulse, pulse);
        let completed = self.agents[index].pulse.completed;
        let completed = completed.saturating_sub(before.completed);
        all.absorb(completed.min(COUNT_LIMIT), errors);
        for call in 0..all.firsts().len() {
            let agents = self.agents.iter();
            let firsts = agents.filter_map(|agent| *agent.pulse.firsts_ns.get(call)?);
            all.set_first(call, firsts.min());
        }
    }

    fn ended(&mut self, index: usize, ended: Ended) {
        let is_asked = self.ending != Ending::None || self.load.stop.is_interrupted();
        match &ended.how {
            // By its user.
            Ok(load) if load.end == End::Interrupted && !is_asked => self.is_missing(index),
            Ok(LoadOutcome {
                end: End::Failed(_),
                ..
            })
            | Err(_) => self.ending = Ending::Interrupt,
            Ok(_) => {}
        }
        self.merger.end(index);
        self.agents[index].ended = Some(ended);
    }

    /// Passes on what the rest of the trial has decided.
    fn pass_on(&mut self) {
        let (load, own) = (&self.load, self.ending);
        let asked = match (load.stop.is_interrupted(), load.stop.is_requested()) {
            (true, _) => Ending::Interrupt,
            (_, true) => Ending::Enough,
            (false, false) => Ending::None,
        };
        let open = load.route.open();
        let firsts = load.pulse.map(|pulse| pulse.firsts()).unwrap_or_default();
        self.drive.update(|control| {
            control.ending = own.max(asked);
            control.open = open;
            control.awaited_ns = firsts.iter().map(|first| first.since_ns).collect();
        });
    }

    fn find_missing(&mut self) {
        for index in 0..self.agents.len() {
            let agent = &self.agents[index];
            let is_silent = || self.drive.silence(index) >= SILENCE_LIMIT;
            let is_stalled = || self.drive.since(agent.progress) >= STALL_LIMIT;
            if !agent.is_over() && (is_silent() || is_stalled()) {
                self.is_missing(index);
                self.merger.end(index);
            }
        }
    }

    /// Goes on without an agent. What it did after its last second is unknown.
    fn is_missing(&mut self, index: usize) {
        let agent = &mut self.agents[index];
        agent.missing_since_ns = Some(agent.last_ns);
        let agent = &self.agents[index];
        let Identity { id, label, .. } = &agent.identity;
        let at_s = seconds(agent.last_ns);
        let rest = match self.agents.iter().all(AgentState::is_over) {
            true => "no agent is left",
            false => "the others go on",
        };
        let note = format!("at {at_s:.1} s: agent {label} is missing; {rest}");
        (self.send)(TrialMessage::Note(note));
        self.drive
            .update(|control| control.missing.push(id.clone()));
        self.tell_draining();
    }

    fn merge(&mut self) {
        while let Some(second) = self.merger.next() {
            (self.load.tell)(LoadEvent::Second(Box::new(second)));
            self.merged += 1;
        }
        // A second is told when all of its parts are there, at the latest with the next one.
        while let Some((before, _)) = self.receipts.front()
            && before + 1 < self.merged
            && let Some((_, receipt)) = self.receipts.pop_front()
        {
            (self.send)(TrialMessage::Then(receipt));
        }
    }

    pub(super) fn into_outcome(self) -> Result<LoadOutcome, LoadError> {
        let barrier = self.load.barrier;
        let start_ns = barrier.begun().map_or(0, |begun| barrier.ns(begun));
        let summaries = self
            .agents
            .iter()
            .map(|agent| agent.summary(self.index, start_ns));
        (self.send)(TrialMessage::Agents(summaries.collect()));
        let mut outcomes = Vec::new();
        let mut missing = Vec::new();
        for agent in self.agents {
            match agent.ended {
                _ if agent.missing_since_ns.is_some() => {
                    missing.push(agent.identity.label);
                }
                Some(Ended {
                    how: Ok(outcome), ..
                }) => outcomes.push(outcome),
                Some(ended) => return Err(not_started(&agent.identity, ended)),
                None => {}
            }
        }
        combined(outcomes).ok_or_else(|| {
            let message = format!("no agent of the load is left: {}", missing.join(", "));
            LoadError::Agents(Failure::server(message).remedy(LOOK_AT_ALL))
        })
    }
}

/// Whether a second has passed, did not begin after its end, and has no impossible figures.
fn is_plausible(second: &Second, latest_ns: u64) -> bool {
    let slice = &second.slice;
    let counts = [
        slice.refused_stamps,
        slice.reconnects,
        slice.lookups,
        slice.misses,
        second.backlog.unwrap_or(0),
    ];
    let errors = slice.errors.values().map(|error| error.count);
    let mut counts = counts.into_iter().chain(errors);
    let workers = second.workers.iter();
    let mut shares = workers.flat_map(|one| [one.running, one.waiting]);
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    let is_past = second.start_ns <= second.end_ns && second.end_ns <= latest_ns;
    is_past && counts.all(|count| count < COUNT_LIMIT) && shares.all(is_share)
}

/// The outcome of all parts; `None` without any.
fn combined(outcomes: Vec<LoadOutcome>) -> Option<LoadOutcome> {
    let all = || outcomes.iter().map(|one| one.unfinished);
    let unfinished = Unfinished {
        count: all().map(|one| one.count).fold(0, u64::saturating_add),
        oldest_ms: all().filter_map(|one| one.oldest_ms).reduce(f64::max),
        cancelled: all().map(|one| one.cancelled).fold(0, u64::saturating_add),
    };
    // Agents that go on still have their server.
    let rank = |end: &End| match end {
        End::Failed(_) => 3,
        End::Interrupted => 2,
        End::Completed => 1,
        End::ServerLost { .. } => 0,
    };
    let ends = outcomes.into_iter().map(|one| one.end);
    let end = ends.max_by_key(rank)?;
    Some(LoadOutcome { end, unfinished })
}

fn not_started(agent: &Identity, ended: Ended) -> LoadError {
    let label = format!("agent {}", agent.label);
    match ended.how {
        Err(LoadError::Connect(mut error)) => {
            error.message = format!("{label}: {}", error.message);
            LoadError::Connect(error)
        }
        Err(LoadError::Agents(failure)) => LoadError::Agents(failure.context(label)),
        Err(LoadError::Interrupted | LoadError::OtherFailed) | Ok(_) => {
            LoadError::Agents(failed(agent, "was interrupted"))
        }
        Err(why) => LoadError::Agents(Failure::server(why).context(label)),
    }
}
