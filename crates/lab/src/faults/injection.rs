//! The injection of a fault in one instance: it takes effect, is healed, and is reported.

use std::path::PathBuf;
use std::sync::MutexGuard;
use std::thread::sleep;
use std::time::{Duration, Instant};

use measure::fault::{Crash, FaultRecord};
use plan::{ActsOn, Ends, Fault, FaultRules, FaultTarget, FaultVolume};

use super::active::{ActiveFault, Healing};
use super::context::{FaultContext, find};
use super::effect::Effect;
use super::{Schedule, operator};
use crate::drive::trial_loop::TrialMessage;
use crate::failure::canceled;
use crate::observe::watch::Watch;
use crate::{Cluster, Failure, Instance, Member};

/// How often to check whether a server has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How long no member may have the role of a fault's target, and how often they are asked.
const ROLE_LIMIT: Duration = Duration::from_secs(30);
const ROLE_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How long a load without a limit of time is taken to last.
const UNKNOWN_TIME: Duration = Duration::from_secs(3600);

pub(super) struct Injection<'a> {
    pub(super) schedule: Schedule<'a>,
    /// Its place in the schedule, from 1.
    pub(super) number: u32,
    /// Which part of a fault that is done in parts, from 1; 0: all of it.
    pub(super) step: u32,
    pub(super) fault: Fault,
    /// When it is injected, in the measurement.
    pub(super) at: Duration,
    pub(super) instance_number: u32,
    pub(super) instance: &'a Instance,
    pub(super) watch: &'a Watch,
}

impl<'a> Injection<'a> {
    /// Injects the fault, and heals it when that is due; `None` if it did not take effect.
    pub(super) fn run(self) -> Option<Effect<'a>> {
        self.watch.asked();
        let mut record = self.record();
        let (roles, aimed) = self.find_target();
        let lasts = self.lasts();
        let aim = |context| Effect::aim(self.number, &self.fault, lasts, self.output(), context);
        let mut effect = match aimed.and_then(aim) {
            Ok(aimed) => aimed,
            Err(error) => {
                self.has_no_effect(record, error, true);
                return None;
            }
        };
        record.node = effect.context.member().ok().map(|member| member.number);
        self.begin(&effect.sides.lost);
        let failover = self.failover(&effect.sides.lost);
        let injected = effect.inject();
        drop(roles);
        match injected {
            Ok(since) => {
                self.watch.took_effect(since, self.schedule.clock);
                record.effect_s = Some(self.schedule.clock.seconds(since));
                let quorum = self.quorum();
                self.report(&mut record, quorum, !self.fault.expect_outage);
                self.after(since, failover, &mut effect, &mut record);
                Some(effect)
            }
            Err(error) => {
                // Some of it may have been done.
                effect.end(self.schedule.interrupted);
                let is_vital = !self.is_moot(&record);
                self.has_no_effect(record, error, is_vital);
                None
            }
        }
    }

    /// Finds the member to hit, and takes the turn to change roles if that is the fault. If no member has the
    /// target's role, waits up to [`ROLE_LIMIT`] for one.
    fn find_target(
        &self,
    ) -> (
        Option<MutexGuard<'a, ()>>,
        Result<FaultContext<'a>, Failure>,
    ) {
        let deadline = Instant::now() + ROLE_LIMIT;
        loop {
            let roles = self.roles();
            if roles.is_some() && self.schedule.clock.is_over() {
                // It would leave the members halfway through.
                return (roles, Err(canceled()));
            }
            let aimed = self.context();
            let waits = self.schedule.trial.planned.chaos.is_none() && Instant::now() < deadline;
            if aimed.is_ok() || !waits {
                return (roles, aimed);
            }
            drop(roles);
            if self.schedule.clock.is_over() {
                return (None, Err(canceled()));
            }
            sleep(ROLE_POLL_INTERVAL);
        }
    }

    /// Notes which nodes may be lost; without one, that the instance suffers from it.
    fn begin(&self, hit: &[usize]) {
        let members = self.instance.cluster.members();
        let node = |index: usize| members.get(index).map(|member| member.number);
        let mut nodes: Vec<_> = hit.iter().map(|index| node(*index)).collect();
        if nodes.is_empty() {
            nodes.push(None);
        }
        for node in nodes {
            self.instance.faults.begin(ActiveFault {
                fault: self.number,
                acts_on: self.rules().acts_on,
                isolates: self.fault.isolates(),
                node,
                explains_end: !self.spares_server(),
                healing: match self.heals_after() {
                    Some(_) => Healing::Later,
                    None => Healing::Never,
                },
            });
        }
    }

    /// The turn to change who is the primary, if that is the fault: roles are looked up once every
    /// earlier switchover is over, which includes that the old primary is a replica again.
    fn roles(&self) -> Option<MutexGuard<'a, ()>> {
        if self.rules().acts_on != ActsOn::Roles {
            return None;
        }
        loop {
            let roles = self.instance.cluster.lock_roles();
            let active = self.instance.faults.active();
            let is_free = active.iter().all(|hit| hit.acts_on != ActsOn::Roles);
            if is_free || self.schedule.clock.is_over() {
                return Some(roles);
            }
            drop(roles);
            sleep(POLL_INTERVAL);
        }
    }

    fn has_no_effect(&self, mut record: FaultRecord, error: Failure, is_vital: bool) {
        if error.is_interrupted() {
            record.error = Some("the load ended before it took effect".to_owned());
        }
        self.report(&mut record, Err(error), is_vital);
    }

    /// Reports that the fault was not injected, and why.
    pub(super) fn omit(&self, why: &str) {
        let mut record = self.record();
        let why = format!("it was not injected: {why}");
        self.report(&mut record, Err(Failure::server(why)), false);
    }

    /// What follows the effect: another primary, healing, and that the node joins again.
    fn after(
        &self,
        since: Instant,
        failover: Option<Duration>,
        effect: &mut Effect<'_>,
        record: &mut FaultRecord,
    ) {
        // It lasts as long as planned, even if it took effect late.
        let from = self.schedule.measured(since).unwrap_or(self.at);
        let heal_at = self.heals_after().map(|after| from + after);
        let is_of_volume = self.fault.kind().lasts() && self.fault.kind().is_of_volume();
        let fails_over_at = failover.and_then(|after| self.schedule.measured(since + after));
        if is_of_volume {
            let until = fails_over_at.into_iter().chain(heal_at).min();
            self.watch_for_crash(&effect.context, until, record);
        }
        if let Some(at) = fails_over_at
            && heal_at.is_none_or(|heal_at| heal_at > at)
            && self.schedule.wait(at)
            && (!is_of_volume || operator::is_lost(&effect.context))
        {
            let followed = self.fail_over(&effect.sides.lost, record);
            self.report(record, followed, false);
        }
        if is_of_volume && record.crash.is_none() {
            self.watch_for_crash(&effect.context, heal_at, record);
        }
        match heal_at {
            Some(at) if self.schedule.wait(at) => self.heal(effect, record),
            None if self.rules().acts_on == ActsOn::Roles => self.rejoin(effect, record),
            _ => {}
        }
    }

    /// Reports how the server ends because of its volume, if it does until this time of the measurement
    /// and the end of the load.
    fn watch_for_crash(
        &self,
        context: &FaultContext<'_>,
        until: Option<Duration>,
        record: &mut FaultRecord,
    ) {
        let is_over = || {
            let now = self.schedule.measured(Instant::now());
            self.schedule.clock.is_over() || until.is_some_and(|until| now >= Some(until))
        };
        while !is_over() {
            if let Some(reason) = context.ended() {
                let at_s = self.schedule.clock.now_s();
                record.crash = Some(Crash { at_s, reason });
                return self.report(record, Ok(()), false);
            }
            sleep(POLL_INTERVAL);
        }
    }

    pub(super) fn rules(&self) -> FaultRules {
        self.fault.kind().rules()
    }

    /// Whether a device no longer has what the server wrote to it.
    fn fails_device(&self) -> bool {
        self.rules().acts_on == ActsOn::Devices && self.rules().loses_primary
    }

    /// Whether data is lost with the device that fails.
    fn loses_data(&self) -> bool {
        let node = &self.schedule.trial.planned.topology.node;
        let volume = match self.fault.action.options().volume {
            FaultVolume::Data => Some(&node.volume),
            FaultVolume::Log => node.log_volume.as_ref(),
        };
        let made = volume.and_then(|volume| volume.file_system.as_ref());
        let is_redundant = made.is_some_and(|made| made.profile.is_redundant());
        self.fails_device() && !is_redundant
    }

    /// Whether it is work on a volume that an earlier fault has made useless.
    fn is_moot(&self, record: &FaultRecord) -> bool {
        let is_lost = |node| self.instance.faults.explains_end(node);
        self.rules().ends == Ends::Done && record.node.is_some_and(is_lost)
    }

    /// Whether the server must survive it, unlike most faults.
    fn spares_server(&self) -> bool {
        self.rules().acts_on == ActsOn::Devices && !self.loses_data() && !self.fault.expect_outage
    }

    /// Whether enough members are left to accept commits.
    fn quorum(&self) -> Result<(), Failure> {
        let Some(replication) = self.instance.cluster.replication else {
            return Ok(());
        };
        let members = self.instance.cluster.members();
        let isolation = |member: &Member| self.instance.faults.isolation(member.number);
        let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let isolated = members.iter().map(isolation);
        let quorum = replication.traits().cluster.quorum;
        let lost = quorum.lost(count, replication.elects(), isolated);
        let Some(lost) = lost else { return Ok(()) };
        let failure = Failure::server(format!(
            "quorum lost: {} of {} members are connected, and a commit needs {}",
            lost.connected, lost.size, lost.needed
        ));
        Err(failure.remedy(
            "break fewer members at once, or add expect_outage = true to the fault if that is what the study is about",
        ))
    }

    fn output(&self) -> PathBuf {
        let name = format!("fault-{}-{}.log", self.number, self.instance_number);
        self.schedule.outputs.join(name)
    }

    fn heal(&self, effect: &mut Effect<'_>, record: &mut FaultRecord) {
        record.heal_asked_s = Some(self.schedule.clock.now_s());
        self.instance.faults.heal(self.number);
        match effect.heal() {
            Ok(healed) => {
                record.healed_s = Some(self.schedule.clock.seconds(healed));
                record.scrub = effect.found;
                self.report(record, Ok(()), false);
                self.rejoin(effect, record);
            }
            Err(error) => {
                if error.is_interrupted() && effect.is_away() {
                    record.error = Some("its host was not back when the load ended".to_owned());
                } else if error.is_interrupted() && self.rules().ends == Ends::Done {
                    record.error = Some("it was not done when the load ended".to_owned());
                }
                // Only a cluster goes on without the node, unless the study is about its loss.
                let is_alone = self.instance.cluster.replication.is_none();
                let is_expected = self.fails_device() && !self.spares_server();
                let is_vital = is_alone && !is_expected && !self.is_moot(record);
                self.report(record, Err(error), is_vital);
            }
        }
    }

    fn rejoin(&self, effect: &mut Effect<'_>, record: &mut FaultRecord) {
        let rejoined = effect.rejoin();
        self.instance.faults.end(self.number);
        if rejoined.is_err() {
            self.report(record, rejoined, false);
        }
    }

    fn record(&self) -> FaultRecord {
        let asked_s = self.schedule.clock.now_s();
        let record = FaultRecord::new(&self.fault, self.number, self.instance_number, asked_s);
        match self.step {
            0 => record,
            step => FaultRecord {
                step,
                target: FaultTarget::All.to_string(),
                ..record
            },
        }
    }

    fn context(&self) -> Result<FaultContext<'a>, Failure> {
        let switches = self.rules().acts_on == ActsOn::Roles;
        let mut context = FaultContext {
            instance: self.instance,
            index: None,
            was_primary: false,
            over: match switches {
                // A switchover that is cut short leaves no primary, or the old primary shut down.
                true => self.schedule.interrupted,
                false => self.schedule.clock.over,
            },
        };
        let cluster = &self.instance.cluster;
        if cluster.is_started() {
            let is_out = |node| {
                // The primary cannot take over from itself.
                let is_primary = cluster.primary().number == node;
                self.instance.faults.hits(node) || (switches && is_primary)
            };
            let index = match self.successor(cluster)? {
                Some(index) => index,
                None => find(self.fault.target, cluster, is_out, &[])?,
            };
            context.index = Some(index);
            context.was_primary = index == cluster.primary_index();
        }
        Ok(context)
    }

    /// The only replica that the primary would switch over to, if that is the fault.
    fn successor(&self, cluster: &Cluster) -> Result<Option<usize>, Failure> {
        let is_free = self.fault.target == FaultTarget::Replica;
        match is_free && self.rules().acts_on == ActsOn::Roles {
            true => cluster.primary().lock()?.successor(),
            false => Ok(None),
        }
    }

    /// At most; the time left if it is not healed.
    fn lasts(&self) -> Duration {
        let longest = self.schedule.trial.planned.load.longest();
        let left = longest.map_or(UNKNOWN_TIME, |time| time.saturating_sub(self.at));
        self.fault.heal.unwrap_or(left)
    }

    /// How long after it took effect it is healed.
    fn heals_after(&self) -> Option<Duration> {
        match self.rules().ends {
            Ends::AtOnce | Ends::Done => Some(Duration::ZERO),
            Ends::Healed | Ends::Over => self.fault.heal,
        }
    }

    /// Sends the record; what failed ends the trial if it `is_vital`, unless the end of the trial is
    /// why it failed.
    pub(super) fn report(
        &self,
        record: &mut FaultRecord,
        done: Result<(), Failure>,
        is_vital: bool,
    ) {
        let mut failure = None;
        if let Err(error) = done
            && !error.is_interrupted()
        {
            record.error = Some(error.to_string());
            let (number, kind) = (self.number, self.fault.kind());
            let message = format!("fault {number} ({kind}) failed: {error}");
            let failed = Failure::server(message).perhaps(error.remedy);
            // A random schedule may meet a cluster that has nobody left for the role.
            failure = (is_vital && self.schedule.trial.planned.chaos.is_none()).then_some(failed);
        }
        let message = TrialMessage::Fault(Box::new(record.clone()), failure);
        // Without a receiver the trial is over.
        let _ = self.schedule.sender.send(message);
    }
}
