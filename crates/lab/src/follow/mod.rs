//! Follows the primary of a cluster: finds the member that accepts writes, by the members' own
//! views and by a write, and routes virtual users to it.
//!
//! Each member has a thread that probes it: seldom while the primary is known and answers, at once
//! when a user loses its connection, and otherwise every 10 ms. The threads probe in parallel, so
//! that finding the next primary takes no measurable time.

mod decision;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use client::route::Route;
use engine::replication::Role;
use measure::event::{NodeEvent, NodeEventKind};
use plan::Follow;

use crate::Database;
use crate::clock::Clock;
use crate::failure::{Failure, canceled};
use crate::group::Group;
use crate::instance::Instance;
use crate::member_probe::{self, MemberProbe, create_table, drop_table};
use crate::rig::Rig;
use crate::threads;
use crate::trial::Trial;
use crate::trial_monitor::TrialMessage;

use decision::{Decision, Rules};

/// The probe interval while no working primary is known.
const SEARCH_INTERVAL: Duration = Duration::from_millis(10);
/// The probe interval otherwise, until a user loses its connection.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);
/// How long a cluster may be without a primary before the load.
const FIND_LIMIT: Duration = Duration::from_secs(30);
/// How long replicas may take to receive the tables of a load, and how often dyno asks.
const TABLES_LIMIT: Duration = Duration::from_secs(600);
const TABLES_INTERVAL: Duration = Duration::from_millis(100);

/// Finds the primary of each cluster, and creates the table that probes write to.
pub(crate) fn prepare(rig: &Rig, interrupted: &AtomicBool) -> Result<(), Failure> {
    for group in rig.instances.iter().filter_map(Instance::as_group) {
        find_primary(&group, interrupted)?;
        let servers = group.members.iter().map(|(number, _)| *number);
        if let Some((_, database)) = group.primary() {
            create_table(database, servers).map_err(|error| unprepared(&error))?;
        }
    }
    Ok(())
}

/// Drops the table of probes from servers that dyno did not start.
pub(crate) fn clean_up(trial: &Trial, rig: &Rig) {
    let has_faults = !trial.planned.topology.faults.is_empty();
    let is_left = |one: &&Instance| one.cluster.is_none() && (one.running.is_some() || has_faults);
    for instance in rig.instances.iter().filter(is_left) {
        let group = instance.as_group();
        let primary = match &group {
            Some(group) => ask_members(group).primary(group).and_then(|index| {
                let (_, database) = group.members.get(index)?;
                Some(*database)
            }),
            None => Some(&instance.endpoint.database),
        };
        // Without a primary, the table stays; it is small, and the next load replaces it.
        let _ = primary.map(drop_table);
    }
}

fn unprepared(error: &dyn fmt::Display) -> Failure {
    let message = format!("cannot follow the primary of the cluster: {error}");
    Failure::server(message)
}

/// Finds the member that claims to be the primary, within 30 s. If several do, the previous
/// primary remains.
pub(crate) fn find_primary(group: &Group<'_>, interrupted: &AtomicBool) -> Result<(), Failure> {
    let deadline = Instant::now() + FIND_LIMIT;
    loop {
        let answers = ask_members(group);
        if let Some(many) = group.has_many_primaries {
            many.store(answers.primaries.len() > 1, Ordering::Relaxed);
        }
        match answers.primary(group) {
            Some(primary) => {
                group.primary.store(primary, Ordering::Relaxed);
                return Ok(());
            }
            None if interrupted.load(Ordering::Relaxed) => return Err(canceled()),
            None if Instant::now() < deadline => sleep(SEARCH_INTERVAL),
            None => return Err(unprepared(&answers.why_none())),
        }
    }
}

#[derive(Default)]
struct Answers {
    /// The indexes of the members that claim to be the primary.
    primaries: Vec<usize>,
    /// Why the remaining members did not answer.
    errors: Vec<String>,
}

fn ask_members(group: &Group<'_>) -> Answers {
    let mut answers = Answers::default();
    for (index, (number, database)) in group.members.iter().enumerate() {
        match member_probe::view_of(database, group.replication) {
            Ok(view) if view.state == Role::Primary => answers.primaries.push(index),
            Ok(_) => {}
            Err(error) => answers.errors.push(format!("server {number}: {error}")),
        }
    }
    answers
}

impl Answers {
    /// The index of the primary; the previous one if there are several.
    fn primary(&self, group: &Group<'_>) -> Option<usize> {
        let known = Some(group.primary_index()).filter(|known| self.primaries.contains(known));
        known.or_else(|| self.primaries.first().copied())
    }

    fn why_none(&self) -> String {
        match self.errors.as_slice() {
            [] => "no member says that it is the primary".to_owned(),
            errors => errors.join("; "),
        }
    }
}

/// Waits at most 10 minutes until every member has the primary's tables.
pub(crate) fn wait_for_tables(group: &Group<'_>, interrupted: &AtomicBool) -> Result<(), Failure> {
    let deadline = Instant::now() + TABLES_LIMIT;
    let Some((_, primary)) = group.primary() else {
        return Ok(());
    };
    let wanted = primary.checksum()?;
    for (number, database) in &group.members {
        while !database.checksum().is_ok_and(|checksum| checksum == wanted) {
            if interrupted.load(Ordering::Relaxed) {
                return Err(canceled());
            }
            if Instant::now() > deadline {
                let message = format!("server {number} does not have the tables of the primary");
                let remedy = "check whether it replicates, and its lag";
                return Err(Failure::server(message).remedy(remedy));
            }
            sleep(TABLES_INTERVAL);
        }
    }
    Ok(())
}

pub(crate) struct Follower<'a> {
    pub(crate) group: Group<'a>,
    pub(crate) follow: Follow,
    pub(crate) route: Arc<Route>,
    pub(crate) clock: Clock<'a>,
    pub(crate) sender: Sender<TrialMessage>,
}

/// A follower, and what its threads share.
struct Following<'a> {
    follower: Follower<'a>,
    decision: Mutex<Decision>,
}

impl<'a> Follower<'a> {
    /// One thread for each member, until the trial is over.
    pub(crate) fn spawn<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<Vec<ScopedJoinHandle<'scope, ()>>, Failure>
    where
        'a: 'scope,
    {
        let mut threads = Vec::new();
        let rules = Rules {
            elects: self.group.elects(),
            has_many: self.group.has_many_primaries(),
        };
        let (count, primary) = (self.group.members.len(), self.group.primary_index());
        let decision = Decision::new(count, primary, rules, Instant::now());
        let following = Arc::new(Following {
            decision: Mutex::new(decision),
            follower: self,
        });
        let replication = following.follower.group.replication;
        for (index, (number, database)) in following.follower.group.members.iter().enumerate() {
            let (number, database) = (*number, Database::clone(database));
            let following = Arc::clone(&following);
            let run = move || {
                following.run(index, MemberProbe::new(database, replication, number));
            };
            threads.push(threads::spawn(scope, format!("dyno-follow-{number}"), run)?);
        }
        Ok(threads)
    }
}

impl Following<'_> {
    fn run(&self, index: usize, mut probe: MemberProbe) {
        let mut alerts = 0;
        while !self.follower.clock.is_over() {
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

    /// Asks a member for its view; returns whether it becomes the primary if it accepts a write.
    fn probe(&self, index: usize, probe: &mut MemberProbe) -> bool {
        let asked_at = Instant::now();
        let state = probe.view().map(|view| view.state);
        let mut decision = self.decision();
        let was_settled = decision.is_settled();
        let named = self.follower.group.primary_index();
        let is_next = decision.observe(index, asked_at, &state, named);
        self.reroute(&decision);
        if was_settled && !decision.is_settled() {
            // All members are probed at once.
            self.follower.route.alert();
        }
        is_next
    }

    fn take(&self, index: usize) {
        let group = &self.follower.group;
        let mut decision = self.decision();
        if decision.take(index, group.primary_index()).is_none() {
            return;
        }
        // An operator may have named it already.
        let before = decision.announce(index);
        group.primary.store(index, Ordering::Relaxed);
        self.reroute(&decision);
        let number = |index: usize| group.members.get(index).map(|one| one.0);
        match (number(before), number(index)) {
            (Some(before), Some(now)) if before != now => self.tell(before, now),
            _ => {}
        }
    }

    fn reroute(&self, decision: &Decision) {
        let (route, now) = (&self.follower.route, Instant::now());
        match self.follower.follow {
            Follow::Primary => route.set(|index| decision.primary() == Some(index)),
            Follow::Any => route.set(|index| decision.is_usable(index, now)),
            Follow::Hosts | Follow::Fixed => {}
        }
    }

    fn tell(&self, before: u32, node: u32) {
        let event = NodeEvent {
            at_s: self.follower.clock.seconds(Instant::now()),
            node,
            what: NodeEventKind::BecamePrimary,
            reason: format!("server {before} was the primary"),
        };
        // Without a receiver, the trial is over.
        let _ = self.follower.sender.send(TrialMessage::Event(event));
    }

    fn decision(&self) -> MutexGuard<'_, Decision> {
        self.decision.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
