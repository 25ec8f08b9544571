//! Follows the primary of a cluster: finds the member that accepts writes by the members' own views
//! and a write, and routes virtual users to it.
//!
//! Each member has a thread that probes it. While the primary is known and answers, they look
//! seldom, and at once when a user loses its connection; otherwise every 10 ms, side by side, so
//! that finding the next primary takes no time that could be measured.

mod decision;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, sleep};
use std::time::{Duration, Instant};

use client::route::Route;
use load::Barrier;
use measure::event::{NodeEvent, NodeEventKind};
use plan::Follow;

use crate::cluster::Cluster;
use crate::failure::{Cause, Failure};
use crate::member_probe::MemberProbe;
use crate::trial_monitor::TrialMessage;

use decision::{Decision, Rules};

/// How often members are probed while no primary is known to work, at most.
const SEARCH_INTERVAL: Duration = Duration::from_millis(10);
/// How often they are probed otherwise, unless a user loses its connection.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);

/// Follows the primary of one cluster.
pub(crate) struct Follower<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) follow: Follow,
    pub(crate) route: Arc<Route>,
    pub(crate) barrier: &'a Barrier,
    /// Becomes true when the loads have ended.
    pub(crate) over: &'a AtomicBool,
    pub(crate) sender: Sender<TrialMessage>,
}

/// A follower with what its threads share.
struct Following<'a> {
    follower: Follower<'a>,
    decision: Mutex<Decision>,
}

impl<'a> Follower<'a> {
    /// Starts a thread for each member; they end once the trial is over.
    ///
    /// # Errors
    /// When the operating system refuses a thread.
    pub(crate) fn spawn<'scope>(self, scope: &'scope Scope<'scope, '_>) -> Result<(), Failure>
    where
        'a: 'scope,
    {
        let Some(replication) = self.cluster.replication() else {
            return Ok(());
        };
        let rules = Rules {
            elects: replication.elects(),
            has_many: replication.has_many_primaries(),
        };
        let (count, primary) = (self.cluster.members().len(), self.cluster.primary_index());
        let decision = Decision::new(count, primary, rules, Instant::now());
        let following = Arc::new(Following {
            decision: Mutex::new(decision),
            follower: self,
        });
        for (index, member) in following.follower.cluster.members().iter().enumerate() {
            let (database, row) = (member.database.clone(), index + 1);
            let probe = MemberProbe::new(database, Some(replication), row);
            let following = Arc::clone(&following);
            std::thread::Builder::new()
                .name(format!("dyno-follow-{}", member.number))
                .spawn_scoped(scope, move || following.run(index, probe))
                .map_err(|error| Failure::new(Cause::Internal, error))?;
        }
        Ok(())
    }
}

impl Following<'_> {
    fn run(&self, index: usize, mut probe: MemberProbe) {
        let mut alerts = 0;
        while !self.follower.over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let is_next = self.probe(index, &mut probe);
            if is_next && probe.write().accepted.is_ok() {
                self.take(index);
            }
            let is_settled = self.decision().is_settled();
            sleep(SEARCH_INTERVAL.saturating_sub(begun.elapsed()));
            if is_settled {
                alerts = self.follower.route.wait_for_alert(alerts, WATCH_INTERVAL);
            }
        }
    }

    /// Asks a member for its view; returns whether it is the next primary if it accepts a write.
    fn probe(&self, index: usize, probe: &mut MemberProbe) -> bool {
        let asked_at = Instant::now();
        let state = probe.view().map(|view| view.state);
        let mut decision = self.decision();
        let was_settled = decision.is_settled();
        let named = self.follower.cluster.primary_index();
        let is_next = decision.observe(index, asked_at, &state, named);
        self.reroute(&decision);
        if was_settled && !decision.is_settled() {
            // Every member is to be probed at once.
            self.follower.route.alert();
        }
        is_next
    }

    /// Makes a member that has accepted a write the primary.
    fn take(&self, index: usize) {
        let cluster = self.follower.cluster;
        let mut decision = self.decision();
        if decision.take(index, cluster.primary_index()).is_none() {
            return;
        }
        let before = cluster.primary().map(|member| member.number);
        cluster.set_primary(index);
        self.reroute(&decision);
        let now = cluster.primary().map(|member| member.number);
        if before != now {
            self.tell(before, now);
        }
    }

    fn reroute(&self, decision: &Decision) {
        let (route, now) = (&self.follower.route, Instant::now());
        match self.follower.follow {
            Follow::Primary => route.set(|index| decision.primary() == Some(index)),
            Follow::Any => route.set(|index| decision.is_usable(index, now)),
            Follow::Fixed => {}
        }
    }

    fn tell(&self, before: Option<u32>, now: Option<u32>) {
        let (Some(before), Some(node)) = (before, now) else {
            return;
        };
        let event = NodeEvent {
            at_s: self.follower.barrier.origin().elapsed().as_secs_f64(),
            done_s: None,
            node,
            what: NodeEventKind::BecamePrimary,
            reason: format!("server {before} was the primary"),
        };
        // Without a receiver the trial is over.
        let _ = self.follower.sender.send(TrialMessage::Event(event, None));
    }

    fn decision(&self) -> MutexGuard<'_, Decision> {
        self.decision.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
