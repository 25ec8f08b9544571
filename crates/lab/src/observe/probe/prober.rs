//! The probers of an instance: one thread for each member while the load runs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::sync::mpsc::Sender;
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use engine::replication::{Role, View};
use measure::instance::{NodeEvent, NodeEventKind};
use measure::recovery::{Probe, ProbedView, ProbedWrite};
use plan::Follow;
use workload::session::SessionError;

use super::decision::{Decision, Rules};
use super::member::MemberProbe;
use crate::drive::clock::Clock;
use crate::drive::trial_loop::TrialMessage;
use crate::observe::watch::{Level, Watch};
use crate::{Cluster, Failure, Member, Trial, locked, threads};

/// Maximum number of probes that are kept for a member; after that, only probes that show a change.
const MAX_PROBES: usize = 200_000;
/// The probe interval while no working primary is known, and after a fault.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

fn interval(level: Level) -> Duration {
    match level {
        Level::Quiet => Duration::from_millis(200),
        Level::Recovering => Duration::from_millis(100),
        Level::Alert => SHORTEST_INTERVAL,
    }
}

/// What the probers of an instance share.
pub(crate) struct Probers<'a> {
    cluster: &'a Cluster,
    follow: Follow,
    watch: &'a Watch,
    /// Whether the probes are kept: in a trial with faults.
    is_watched: bool,
    clock: Clock<'a>,
    sender: Sender<TrialMessage>,
    decision: Mutex<Decision>,
}

impl<'a> Probers<'a> {
    pub(crate) fn new(
        trial: &Trial,
        cluster: &'a Cluster,
        watch: &'a Watch,
        clock: Clock<'a>,
        sender: Sender<TrialMessage>,
    ) -> Self {
        let rules = Rules {
            elects: cluster.elects(),
            has_many: cluster.has_many_primaries(),
        };
        let (count, primary) = (cluster.members().len(), cluster.primary_index());
        Self {
            cluster,
            follow: trial.planned.topology.follow,
            watch,
            is_watched: trial.has_faults(),
            clock,
            sender,
            decision: Mutex::new(Decision::new(count, primary, rules, Instant::now())),
        }
    }

    /// Starts the threads, which probe until the trial is over and return what they found around
    /// faults; none if nobody needs to know.
    pub(crate) fn spawn<'scope>(
        &'a self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<Vec<ScopedJoinHandle<'scope, Vec<Probe>>>, Failure>
    where
        'a: 'scope,
    {
        if !self.cluster.is_replicated() && !self.is_watched {
            return Ok(Vec::new());
        }
        let members = self.cluster.members().iter().enumerate();
        let spawned = members.map(|(index, member)| {
            let name = format!("dyno-probe-{}", member.number);
            let run = move || Prober::new(self, index, member).run();
            threads::spawn(scope, name, run)
        });
        spawned.collect()
    }

    /// A member's answer; returns whether it becomes the primary if it accepts a write.
    fn observe(
        &self,
        index: usize,
        asked_at: Instant,
        answer: Result<Role, &SessionError>,
    ) -> bool {
        let mut decision = locked(&self.decision);
        let was_settled = decision.is_settled();
        let named = self.cluster.primary_index();
        let is_next = decision.observe(index, asked_at, answer, named);
        self.reroute(&decision);
        if was_settled && !decision.is_settled() {
            // All members are probed at once.
            self.watch.route.alert();
        }
        is_next
    }

    /// A member that may become the primary has accepted a write.
    fn take(&self, index: usize) {
        let mut decision = locked(&self.decision);
        let Some(before) = decision.take(index, self.cluster.primary_index()) else {
            return;
        };
        self.cluster.set_primary(index);
        self.reroute(&decision);
        // An operator may have named it already.
        if before != index {
            let number = |index: usize| self.cluster.members()[index].number;
            let event = NodeEvent {
                at_s: self.clock.seconds(Instant::now()),
                node: number(index),
                what: NodeEventKind::BecamePrimary,
                reason: format!("server {} was the primary", number(before)),
            };
            // Without a receiver, the trial is over.
            let _ = self.sender.send(TrialMessage::Event(event));
        }
    }

    fn reroute(&self, decision: &Decision) {
        let (route, now) = (&self.watch.route, Instant::now());
        match self.follow {
            _ if !self.cluster.is_replicated() => {}
            Follow::Primary => route.set(|index| decision.primary == Some(index)),
            Follow::Any => route.set(|index| decision.is_usable(index, now)),
            Follow::Hosts | Follow::Fixed => {}
        }
    }

    /// Whether a working primary is being searched for.
    fn searches(&self) -> bool {
        self.cluster.is_replicated() && !locked(&self.decision).is_settled()
    }
}

struct Prober<'a> {
    shared: &'a Probers<'a>,
    index: usize,
    server: u32,
    member: MemberProbe<'a>,
    /// Of equal results in quiet periods, only the first and the last.
    kept: Vec<Probe>,
    /// The last probe, if its result equals that of the one before: the end of an unchanged period.
    repeated: Option<Probe>,
}

impl<'a> Prober<'a> {
    fn new(shared: &'a Probers<'a>, index: usize, member: &'a Member) -> Self {
        Self {
            shared,
            index,
            server: member.number,
            member: MemberProbe::new(shared.cluster, member),
            kept: Vec::new(),
            repeated: None,
        }
    }

    /// Probes until the load has ended.
    fn run(mut self) -> Vec<Probe> {
        let clock = self.shared.clock;
        let mut alerts = 0;
        while !clock.is_over() {
            let begun = Instant::now();
            // Only what happens under load is measured.
            let is_measured = self.shared.is_watched && clock.barrier.begun().is_some();
            let probe = self.probe(is_measured);
            if is_measured {
                self.keep(probe);
            }
            alerts = self.wait(begun, alerts);
        }
        self.kept.extend(self.repeated);
        self.kept
    }

    /// Asks for the member's view, and writes only if it claims to accept writes: another member
    /// could accept a write and be damaged by it.
    fn probe(&mut self, is_measured: bool) -> Probe {
        let asked_at = Instant::now();
        let view = self.member.view();
        let answered_at = Instant::now();
        let role = view.as_ref().map(|view| view.state);
        let is_next = self.shared.observe(self.index, asked_at, role);
        let is_written = is_next || (is_measured && role == Ok(Role::Primary));
        let write = is_written.then(|| self.write(is_measured));
        if is_next && write.is_some_and(|write| write.is_accepted) {
            self.shared.take(self.index);
        }
        Probe {
            server: self.server,
            asked_s: self.shared.clock.seconds(asked_at),
            answered_s: self.shared.clock.seconds(answered_at),
            view: view.as_ref().ok().map(probed),
            write,
        }
    }

    fn write(&mut self, is_measured: bool) -> ProbedWrite {
        let sent_at = Instant::now();
        let is_accepted = self.member.write().is_ok();
        let answered_at = Instant::now();
        if is_accepted && is_measured {
            self.shared.watch.written(sent_at);
        }
        ProbedWrite {
            sent_s: self.shared.clock.seconds(sent_at),
            answered_s: self.shared.clock.seconds(answered_at),
            is_accepted,
        }
    }

    fn keep(&mut self, probe: Probe) {
        let is_close = self.shared.watch.level() == Level::Alert;
        let has_changed = self.kept.last().is_none_or(|last| differ(last, &probe));
        if (is_close && self.kept.len() < MAX_PROBES) || has_changed {
            self.kept.extend(self.repeated.take());
            self.kept.push(probe);
        } else {
            self.repeated = Some(probe);
        }
    }

    /// Waits until the next probe is due, or something alerts all probers of the cluster.
    fn wait(&self, begun: Instant, alerts: u64) -> u64 {
        sleep(SHORTEST_INTERVAL.saturating_sub(begun.elapsed()));
        let interval = match self.shared.searches() {
            true => SHORTEST_INTERVAL,
            false => interval(self.shared.watch.level()),
        };
        let rest = interval.saturating_sub(begun.elapsed());
        self.shared.watch.route.wait_for_alert(alerts, rest)
    }
}

fn differ(one: &Probe, other: &Probe) -> bool {
    let accepted = |probe: &Probe| probe.write.map(|write| write.is_accepted);
    one.view != other.view || accepted(one) != accepted(other)
}

fn probed(view: &View) -> ProbedView {
    let mut hasher = DefaultHasher::new();
    view.others.hash(&mut hasher);
    ProbedView {
        role: view.state,
        others: hasher.finish(),
    }
}
