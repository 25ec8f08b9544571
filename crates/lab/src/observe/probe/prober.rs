//! Probes one member while the load runs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::replication::{Role, View};
use measure::recovery::{Probe, ProbedView, ProbedWrite};

use super::Shared;
use super::alert::Level;
use super::member_probe::{MemberProbe, Probed, Write};
use crate::drive::clock::Clock;
use crate::observe::watch::Watch;
use crate::setup::cluster::Member;

/// Maximum number of probes that are kept for a member; after that, only probes that show a change.
const MAX_PROBES: usize = 200_000;
/// The probe interval while no working primary is known, and after a fault.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// The probe interval otherwise.
fn interval(level: Level) -> Duration {
    match level {
        Level::Quiet => Duration::from_millis(200),
        Level::Recovering => Duration::from_millis(100),
        Level::Alert => SHORTEST_INTERVAL,
    }
}

pub(super) struct Prober<'a> {
    shared: Arc<Shared<'a>>,
    /// The member's index in its cluster.
    index: usize,
    probe: MemberProbe<'a>,
    kept: Kept,
}

impl<'a> Prober<'a> {
    pub(super) fn new(shared: Arc<Shared<'a>>, index: usize, member: &'a Member) -> Self {
        let cluster = shared.probers.cluster;
        Self {
            shared,
            index,
            probe: MemberProbe::new(cluster, member),
            kept: Kept {
                server: member.number,
                probes: Vec::new(),
                repeated: None,
            },
        }
    }

    /// Probes until the load has ended; returns the probes of a load that is watched.
    pub(super) fn run(mut self) -> Vec<Probe> {
        let clock = self.shared.probers.clock;
        let mut alerts = 0;
        while !clock.is_over() {
            let begun = Instant::now();
            // Only what happens under load is measured.
            let watch = self.shared.probers.watch;
            let watch = watch.filter(|_| clock.barrier.begun().is_some());
            let probed = self.probe(watch.is_some());
            if let Some(watch) = watch {
                self.keep(&probed, watch, clock);
            }
            alerts = self.wait(begun, alerts);
        }
        self.kept.probes.extend(self.kept.repeated);
        self.kept.probes
    }

    /// Asks for the member's view, and writes only if it claims to accept writes: another member
    /// could accept a write and be damaged by it.
    fn probe(&mut self, is_watched: bool) -> Probed {
        let asked_at = Instant::now();
        let view = self.probe.view();
        let answered_at = Instant::now();
        let role = view.as_ref().map(|view| view.state);
        let is_next = self.shared.observe(self.index, asked_at, role);
        let is_written = is_next || (is_watched && role == Ok(Role::Primary));
        let probed = Probed {
            asked_at,
            answered_at,
            write: is_written.then(|| self.probe.write()),
            view,
        };
        if is_next && probed.has_accepted() {
            self.shared.take(self.index);
        }
        probed
    }

    fn keep(&mut self, probed: &Probed, watch: &Watch, clock: Clock<'_>) {
        if let Some(write) = probed.write.as_ref().filter(|_| probed.has_accepted()) {
            watch.alert.written(write.sent_at);
        }
        let is_close = watch.alert.level() == Level::Alert;
        self.kept.add(probed, is_close, clock);
    }

    /// Waits until the next probe is due, or something alerts all probers of the cluster.
    fn wait(&self, begun: Instant, alerts: u64) -> u64 {
        sleep(SHORTEST_INTERVAL.saturating_sub(begun.elapsed()));
        let probers = &self.shared.probers;
        let level = probers.watch.map_or(Level::Quiet, |one| one.alert.level());
        let interval = match self.shared.searches() {
            true => SHORTEST_INTERVAL,
            false => interval(level),
        };
        let rest = interval.saturating_sub(begun.elapsed());
        probers.route.wait_for_alert(alerts, rest)
    }
}

/// The probes of a member. Of equal results in quiet periods, only the first and the last are kept.
struct Kept {
    server: u32,
    probes: Vec<Probe>,
    /// The last probe, if its result equals that of the one before: the end of an unchanged period.
    repeated: Option<Probe>,
}

impl Kept {
    fn add(&mut self, probed: &Probed, is_close: bool, clock: Clock<'_>) {
        let seconds = |at| clock.seconds(at);
        let write = |write: &Write| ProbedWrite {
            sent_s: seconds(write.sent_at),
            answered_s: seconds(write.answered_at),
            is_accepted: write.accepted.is_ok(),
        };
        let probe = Probe {
            server: self.server,
            asked_s: seconds(probed.asked_at),
            answered_s: seconds(probed.answered_at),
            view: probed.view.as_ref().ok().map(view),
            write: probed.write.as_ref().map(write),
        };
        let has_changed = self.probes.last().is_none_or(|last| differ(last, &probe));
        if (is_close && self.probes.len() < MAX_PROBES) || has_changed {
            self.probes.extend(self.repeated.take());
            self.probes.push(probe);
        } else {
            self.repeated = Some(probe);
        }
    }
}

fn differ(one: &Probe, other: &Probe) -> bool {
    let accepted = |probe: &Probe| probe.write.map(|write| write.is_accepted);
    one.view != other.view || accepted(one) != accepted(other)
}

fn view(view: &View) -> ProbedView {
    let mut hasher = DefaultHasher::new();
    view.others.hash(&mut hasher);
    ProbedView {
        role: view.state,
        others: hasher.finish(),
    }
}
