//! Follows the primary of a cluster: finds the member that accepts writes by the members' own views
//! and a write, and routes virtual users to it.
//!
//! Each member has a thread that probes it. While the primary is known and answers, they look
//! seldom, and at once when a user loses its connection; otherwise every 10 ms, side by side, so
//! that finding the next primary takes no time that could be measured.

mod decision;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use client::route::Route;
use engine::replication::MemberState;
use load::Barrier;
use measure::event::{NodeEvent, NodeEventKind};
use plan::Follow;

use crate::cluster::Cluster;
use crate::failure::{Cause, Failure};
use crate::member_probe::{MemberProbe, create_table};
use crate::rig::Rig;
use crate::trial_monitor::TrialMessage;

use decision::{Decision, Rules};

/// How often members are probed while no primary is known to work, at most.
const SEARCH_INTERVAL: Duration = Duration::from_millis(10);
/// How often they are probed otherwise, unless a user loses its connection.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);
/// How long a cluster may be without a primary before the load.
const FIND_LIMIT: Duration = Duration::from_secs(30);

/// Finds the primary of each cluster, and creates the table that probes write to.
///
/// # Errors
/// When a cluster has no primary, or it refuses.
pub(crate) fn prepare(rig: &Rig) -> Result<(), Failure> {
    let clusters = rig.instances.iter().filter_map(|i| i.cluster.as_ref());
    for cluster in clusters.filter(|cluster| cluster.replication().is_some()) {
        prepare_one(cluster)?;
    }
    Ok(())
}

fn prepare_one(cluster: &Cluster) -> Result<(), Failure> {
    let failed = |error: &dyn fmt::Display| {
        let message = format!("cannot prepare to follow the primary of the cluster: {error}");
        Failure::new(Cause::Server, message)
    };
    let deadline = Instant::now() + FIND_LIMIT;
    let primary = loop {
        match find_primary(cluster) {
            Ok(primary) => break primary,
            Err(_) if Instant::now() < deadline => sleep(SEARCH_INTERVAL),
            Err(why) => return Err(failed(&why)),
        }
    };
    cluster.set_primary(primary);
    let servers = cluster.members().iter().map(|member| member.number);
    let member = cluster.primary();
    let created = member.map_or(Ok(()), |member| create_table(&member.database, servers));
    created.map_err(|error| failed(&error))
}

/// The index of the member that says it is the primary: the one that was, if there are several.
fn find_primary(cluster: &Cluster) -> Result<usize, String> {
    let mut last = "no member says that it is the primary".to_owned();
    let first = cluster.primary_index();
    let others = (0..cluster.members().len()).filter(|index| *index != first);
    for index in std::iter::once(first).chain(others) {
        let Some(member) = cluster.members().get(index) else {
            continue;
        };
        let mut probe = MemberProbe::new(
            member.database.clone(),
            cluster.replication(),
            member.number,
        );
        match probe.view() {
            Ok(view) if view.state == MemberState::Primary => return Ok(index),
            Ok(_) => {}
            Err(error) => last = format!("server {}: {error}", member.number),
        }
    }
    Err(last)
}

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
    pub(crate) fn spawn<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<Vec<ScopedJoinHandle<'scope, ()>>, Failure>
    where
        'a: 'scope,
    {
        let mut threads = Vec::new();
        let Some(replication) = self.cluster.replication() else {
            return Ok(threads);
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
            let row = member.number;
            let (database, following) = (member.database.clone(), Arc::clone(&following));
            let thread = std::thread::Builder::new()
                .name(format!("dyno-follow-{}", member.number))
                .spawn_scoped(scope, move || {
                    following.run(index, MemberProbe::new(database, Some(replication), row));
                });
            threads.push(thread.map_err(|error| Failure::new(Cause::Internal, error))?);
        }
        Ok(threads)
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
        // An operator may have named it before.
        let before = decision.announce(index);
        cluster.set_primary(index);
        self.reroute(&decision);
        if before != index {
            let number = |index: usize| cluster.members().get(index).map(|one| one.number);
            self.tell(number(before), number(index));
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
            node,
            what: NodeEventKind::BecamePrimary,
            reason: format!("server {before} was the primary"),
        };
        // Without a receiver the trial is over.
        let _ = self.follower.sender.send(TrialMessage::Event(event));
    }

    fn decision(&self) -> MutexGuard<'_, Decision> {
        self.decision.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
