//! Probes one member of a cluster while its load runs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use engine::replication::View;
use measure::recovery::{Probe, ProbedView, ProbedWrite};

use super::Server;
use super::alert::{Alert, Level};
use crate::clock::Clock;
use crate::member_probe::{self, MemberProbe, Probed, Write};

/// Maximum number of probes that are kept for a member; after that, only probes that show a change.
const MAX_PROBES: usize = 200_000;

/// The probe interval.
fn interval(level: Level) -> Duration {
    Duration::from_millis(match level {
        Level::Quiet => 200,
        Level::Recovering => 100,
        Level::Alert => 10,
    })
}

pub(super) struct Prober<'a> {
    server: u32,
    probe: MemberProbe,
    alert: &'a Alert,
    clock: Clock<'a>,
    probes: Vec<Probe>,
    /// The last probe, if its result equals that of the one before: the end of an unchanged period.
    repeated: Option<Probe>,
}

impl<'a> Prober<'a> {
    pub(super) fn new(server: &Server<'_>, alert: &'a Alert, clock: Clock<'a>) -> Self {
        let row = member_probe::row_of_watch(server.number);
        Self {
            server: server.number,
            probe: MemberProbe::new(server.database.clone(), server.replication, row),
            alert,
            clock,
            probes: Vec::new(),
            repeated: None,
        }
    }

    /// Probes until the load has ended. Of equal results in quiet periods, only the first and the
    /// last are returned.
    pub(super) fn run(mut self) -> Vec<Probe> {
        if self.clock.begun().is_none() {
            return Vec::new();
        }
        while !self.clock.is_over() {
            let begun = Instant::now();
            let probed = self.probe.probe();
            if let Some(write) = probed.write.as_ref().filter(|_| probed.has_accepted()) {
                self.alert.written(write.sent_at);
            }
            self.keep(&probed);
            self.alert.wait(begun, interval);
        }
        self.probes.extend(self.repeated);
        self.probes
    }

    fn keep(&mut self, probed: &Probed) {
        let seconds = |at| self.clock.seconds(at);
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
        let is_close = self.alert.level() == Level::Alert && self.probes.len() < MAX_PROBES;
        let has_changed = self.probes.last().is_none_or(|last| differ(last, &probe));
        if is_close || has_changed {
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
