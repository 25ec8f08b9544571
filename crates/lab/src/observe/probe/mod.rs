//! Probes the members of a cluster: who accepts writes, which virtual users follow, and how members
//! behave around faults.
//!
//! Each member has a thread that probes it: seldom while the primary is known and answers, at once
//! when a user loses its connection or a fault is requested, and otherwise every 10 ms. The threads
//! probe in parallel, so that finding the next primary takes no measurable time.

mod alert;
mod decision;
mod member_probe;
mod primary;
mod prober;

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use client::route::Route;
use engine::replication::Role;
use measure::instance::{NodeEvent, NodeEventKind};
use measure::recovery::Probe;
use plan::Follow;
use workload::session::SessionError;

use crate::drive::clock::Clock;
use crate::drive::threads;
use crate::drive::trial_loop::TrialMessage;
use crate::failure::Failure;
use crate::observe::watch::Watch;
use crate::setup::cluster::Cluster;

pub(crate) use alert::{Alert, Level};
use decision::{Decision, Rules};
pub(crate) use member_probe::{MemberProbe, view_of};
pub(crate) use primary::{clean_up, find_primary, prepare, wait_for_tables};
use prober::Prober;

/// The probers of an instance.
pub(crate) struct Probers<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) follow: Follow,
    pub(crate) route: Arc<Route>,
    /// `None` in a trial without faults.
    pub(crate) watch: Option<&'a Watch>,
    pub(crate) clock: Clock<'a>,
    pub(crate) sender: Sender<TrialMessage>,
}

/// Threads that return what they found around faults.
pub(crate) type Threads<'scope> = Vec<ScopedJoinHandle<'scope, Vec<Probe>>>;

/// What the probers of an instance share.
struct Shared<'a> {
    probers: Probers<'a>,
    decision: Mutex<Decision>,
}

impl<'a> Probers<'a> {
    /// One thread for each member, until the trial is over; none if nobody needs to know.
    pub(crate) fn spawn<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<Threads<'scope>, Failure>
    where
        'a: 'scope,
    {
        let cluster = self.cluster;
        if !cluster.is_replicated() && self.watch.is_none() {
            return Ok(Vec::new());
        }
        let rules = Rules {
            elects: cluster.elects(),
            has_many: cluster.has_many_primaries(),
        };
        let (count, primary) = (cluster.members().len(), cluster.primary_index());
        let shared = Arc::new(Shared {
            decision: Mutex::new(Decision::new(count, primary, rules, Instant::now())),
            probers: self,
        });
        let members = cluster.members().iter().enumerate();
        let spawned = members.map(|(index, member)| {
            let shared = Arc::clone(&shared);
            let name = format!("dyno-probe-{}", member.number);
            let run = move || Prober::new(shared, index, member).run();
            threads::spawn(scope, name, run)
        });
        spawned.collect()
    }
}

impl Shared<'_> {
    /// A member's answer; returns whether it becomes the primary if it accepts a write.
    fn observe(
        &self,
        index: usize,
        asked_at: Instant,
        answer: Result<Role, &SessionError>,
    ) -> bool {
        let mut decision = self.decision();
        let was_settled = decision.is_settled();
        let named = self.probers.cluster.primary_index();
        let is_next = decision.observe(index, asked_at, answer, named);
        self.reroute(&decision);
        if was_settled && !decision.is_settled() {
            // All members are probed at once.
            self.probers.route.alert();
        }
        is_next
    }

    /// A member that may become the primary has accepted a write.
    fn take(&self, index: usize) {
        let cluster = self.probers.cluster;
        let mut decision = self.decision();
        if decision.take(index, cluster.primary_index()).is_none() {
            return;
        }
        // An operator may have named it already.
        let before = decision.announce(index);
        cluster.set_primary(index);
        self.reroute(&decision);
        let number = |index: usize| cluster.members().get(index).map(|one| one.number);
        match (number(before), number(index)) {
            (Some(before), Some(now)) if before != now => self.tell(before, now),
            _ => {}
        }
    }

    fn reroute(&self, decision: &Decision) {
        let Probers { cluster, route, .. } = &self.probers;
        let now = Instant::now();
        match self.probers.follow {
            _ if !cluster.is_replicated() => {}
            Follow::Primary => route.set(|index| decision.primary() == Some(index)),
            Follow::Any => route.set(|index| decision.is_usable(index, now)),
            Follow::Hosts | Follow::Fixed => {}
        }
    }

    fn tell(&self, before: u32, node: u32) {
        let event = NodeEvent {
            at_s: self.probers.clock.seconds(Instant::now()),
            node,
            what: NodeEventKind::BecamePrimary,
            reason: format!("server {before} was the primary"),
        };
        // Without a receiver, the trial is over.
        let _ = self.probers.sender.send(TrialMessage::Event(event));
    }

    /// Whether a working primary is being searched for.
    fn searches(&self) -> bool {
        self.probers.cluster.is_replicated() && !self.decision().is_settled()
    }

    fn decision(&self) -> MutexGuard<'_, Decision> {
        self.decision.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
