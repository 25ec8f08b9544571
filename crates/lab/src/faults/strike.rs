//! A fault in one instance: it strikes, is healed, and is reported.

use std::path::PathBuf;
use std::sync::MutexGuard;
use std::sync::mpsc::Sender;
use std::thread::sleep;
use std::time::{Duration, Instant};

use measure::fault::{Crash, FaultRecord, Promotion};
use plan::{FaultKind, FaultTarget, FaultVolume};

use super::disturbance::{Healing, Hit};
use super::schedule::Schedule;
use super::{Fault, Scene, planned, quorum, succession, target};
use crate::cluster::{Cluster, Member};
use crate::failure::{Failure, canceled};
use crate::instance::Instance;
use crate::member_probe::{self, MemberProbe};
use crate::trial_monitor::TrialMessage;
use crate::watch::Watch;

/// How often to check whether a server has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A fault that is due in an instance.
pub(super) struct Strike<'a> {
    pub(super) schedule: Schedule<'a>,
    /// Its place in the schedule, from 1.
    pub(super) number: u32,
    /// Which part of a fault that is done in parts, from 1; 0: all of it.
    pub(super) step: u32,
    pub(super) fault: plan::Fault,
    /// When it strikes, in the measurement.
    pub(super) at: Duration,
    pub(super) instance_number: u32,
    pub(super) instance: &'a Instance,
    pub(super) watch: Option<&'a Watch>,
    pub(super) sender: Sender<TrialMessage>,
}

/// Why a fault did not strike.
const LOAD_ENDED: &str = "the load ended before it took effect";

/// A fault that has struck, for the end of the trial.
pub(super) struct Struck<'a> {
    number: u32,
    fault: Box<dyn Fault>,
    pub(super) scene: Scene<'a>,
}

impl Struck<'_> {
    /// Ends what must not outlive the load.
    pub(super) fn end(mut self) {
        self.fault.end(&self.scene);
        self.scene.instance.disturbance.end(self.number);
    }
}

impl<'a> Strike<'a> {
    /// Has the fault strike, and heals it when that is due; `None` if it did not take effect.
    pub(super) fn run(self) -> Option<Struck<'a>> {
        self.watch.into_iter().for_each(Watch::asked);
        let mut record = self.record();
        let mut fault = planned(&self.fault, self.output());
        let roles = self.roles();
        if roles.is_some() && self.schedule.clock.is_over() {
            // It would leave the members halfway through.
            record.error = Some(LOAD_ENDED.to_owned());
            self.report(&mut record, Err(canceled()), false);
            return None;
        }
        let aimed = self.scene();
        let aimed = aimed.and_then(|scene| Ok((scene, fault.aim(&scene)?)));
        let (scene, hit) = match aimed {
            Ok(aimed) => aimed,
            Err(error) => {
                self.report(&mut record, Err(error), true);
                return None;
            }
        };
        record.node = scene.member().ok().map(|member| member.number);
        self.begin(&hit);
        let loses_primary = self.loses_primary(&hit);
        let struck = fault.strike(&scene);
        drop(roles);
        match struck {
            Ok(effect) => {
                if let Some(watch) = self.watch {
                    watch.took_effect(effect, self.schedule.clock);
                }
                record.effect_s = Some(self.schedule.seconds(effect));
                let quorum = self.quorum();
                self.report(&mut record, quorum, !self.fault.expect_outage);
                self.after(effect, loses_primary, &mut *fault, &scene, &mut record);
                let number = self.number;
                Some(Struck {
                    number,
                    fault,
                    scene,
                })
            }
            Err(error) => {
                // Some of it may have been done.
                fault.end(&scene);
                self.instance.disturbance.end(self.number);
                if error.is_interrupted() {
                    record.error = Some(LOAD_ENDED.to_owned());
                }
                let is_vital = !self.is_moot(&record);
                self.report(&mut record, Err(error), is_vital);
                None
            }
        }
    }

    /// Notes which nodes may be lost; without one, that the instance is disturbed.
    fn begin(&self, hit: &[usize]) {
        let cluster = self.instance.cluster.as_ref();
        let members = cluster.map_or(&[][..], Cluster::members);
        let node = |index: usize| members.get(index).map(|member| member.number);
        let mut nodes: Vec<_> = hit.iter().map(|index| node(*index)).collect();
        if nodes.is_empty() {
            nodes.push(None);
        }
        for node in nodes {
            self.instance.disturbance.begin(Hit {
                fault: self.number,
                kind: self.fault.kind,
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
        let cluster = self.instance.cluster.as_ref();
        let cluster = cluster.filter(|_| self.fault.kind == FaultKind::Switchover)?;
        loop {
            let roles = cluster.lock_roles();
            let active = self.instance.disturbance.active();
            let is_free = active.iter().all(|hit| hit.kind != FaultKind::Switchover);
            if is_free || self.schedule.clock.is_over() {
                return Some(roles);
            }
            drop(roles);
            sleep(POLL_INTERVAL);
        }
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
        effect: Instant,
        loses_primary: bool,
        fault: &mut dyn Fault,
        scene: &Scene<'_>,
        record: &mut FaultRecord,
    ) {
        let heal_at = self.heals_after().map(|after| self.at + after);
        let is_of_volume = self.fault.kind.lasts() && self.fault.kind.is_of_volume();
        let fails_over_at = self.fails_over_at(effect).filter(|_| loses_primary);
        if is_of_volume {
            let until = fails_over_at.into_iter().chain(heal_at).min();
            self.watch_for_crash(scene, until, record);
        }
        if let Some(at) = fails_over_at
            && heal_at.is_none_or(|heal_at| heal_at > at)
            && self.schedule.wait(at)
            && (!is_of_volume || is_lost(scene))
        {
            let followed = self.fail_over(scene, record);
            self.report(record, followed, false);
        }
        if is_of_volume && record.crash.is_none() {
            self.watch_for_crash(scene, heal_at, record);
        }
        match heal_at {
            Some(at) if self.schedule.wait(at) => self.heal(fault, scene, record),
            None if self.fault.kind == FaultKind::Switchover => self.rejoin(fault, scene, record),
            _ => {}
        }
    }

    /// Reports how the server ends because of its volume, if it does until then.
    fn watch_for_crash(
        &self,
        scene: &Scene<'_>,
        until: Option<Duration>,
        record: &mut FaultRecord,
    ) {
        record.crash = self.crash(scene, until);
        if record.crash.is_some() {
            self.report(record, Ok(()), false);
        }
    }

    /// Whether data is lost with the device that fails.
    fn loses_data(&self) -> bool {
        let node = &self.schedule.trial.planned.topology.node;
        let volume = match self.fault.volume {
            FaultVolume::Data => Some(&node.volume),
            FaultVolume::Log => node.log_volume.as_ref(),
        };
        let made = volume.and_then(|volume| volume.file_system.as_ref());
        let is_redundant = made.is_some_and(|made| made.profile.is_redundant());
        self.fault.kind == FaultKind::FailDevice && !is_redundant
    }

    /// Whether it is work on a volume that an earlier fault has made useless.
    fn is_moot(&self, record: &FaultRecord) -> bool {
        let is_lost = |node| self.instance.disturbance.explains_end(node);
        self.fault.kind.is_job() && record.node.is_some_and(is_lost)
    }

    /// Whether the server must survive it, unlike most faults.
    fn spares_server(&self) -> bool {
        let kind = self.fault.kind;
        let is_of_devices = kind.is_of_volume() && kind != FaultKind::FillDisk;
        is_of_devices && !self.loses_data() && !self.fault.expect_outage
    }

    /// How the server ends because of a device that stores its data, until this time of the measurement or
    /// the end of the load; `None` if it does not.
    fn crash(&self, scene: &Scene<'_>, until: Option<Duration>) -> Option<Crash> {
        let is_over = || {
            let now = self.schedule.measured(Instant::now());
            self.schedule.clock.is_over() || until.is_some_and(|until| now >= Some(until))
        };
        while !is_over() {
            if let Some(reason) = scene.ended() {
                let at_s = self.schedule.seconds(Instant::now());
                return Some(Crash { at_s, reason });
            }
            sleep(POLL_INTERVAL);
        }
        None
    }

    /// Whether enough members are left to accept commits.
    fn quorum(&self) -> Result<(), Failure> {
        let cluster = self.instance.cluster.as_ref();
        let lost = cluster.and_then(|one| quorum::lost(one, &self.instance.disturbance.active()));
        lost.map_or(Ok(()), |lost| Err(quorum_lost(&lost)))
    }

    /// The file for the output of a command.
    fn output(&self) -> PathBuf {
        let name = format!("fault-{}-{}.log", self.number, self.instance_number);
        self.schedule.outputs.join(name)
    }

    /// Whether the primary is gone, and its cluster elects no other.
    fn loses_primary(&self, hit: &[usize]) -> bool {
        let cluster = self.instance.cluster.as_ref();
        let replication = cluster.and_then(Cluster::replication);
        let elects = replication.is_none_or(|kind| kind.elects() || kind.has_many_primaries());
        let is_cut_off = [
            FaultKind::Kill,
            FaultKind::Stop,
            FaultKind::Pause,
            FaultKind::Partition,
            FaultKind::FailHost,
            FaultKind::CutPower,
            FaultKind::CutClients,
            FaultKind::FillDisk,
            FaultKind::FailDevice,
        ];
        let was_primary = cluster.is_some_and(|cluster| hit.contains(&cluster.primary_index()));
        was_primary && !elects && is_cut_off.contains(&self.fault.kind)
    }

    /// When dyno promotes a replica in place of a primary that was lost then; `None`: never.
    fn fails_over_at(&self, effect: Instant) -> Option<Duration> {
        let topology = &self.schedule.trial.planned.topology;
        let delay = topology.cluster.as_ref()?.failover?;
        self.schedule.measured(effect + delay)
    }

    /// Makes a replica the primary, and reports how far that is; the others follow it.
    fn fail_over(&self, scene: &Scene<'_>, record: &mut FaultRecord) -> Result<(), Failure> {
        let cluster = scene.cluster()?;
        let _roles = cluster.lock_roles();
        let lost = cluster.primary().map(|member| member.number);
        let is_away = |node| Some(node) == lost || self.instance.disturbance.hits(node);
        let mut promotion = Promotion {
            node: None,
            asked_s: self.schedule.seconds(Instant::now()),
            done_s: None,
            error: None,
        };
        let promoted = succession::successor(cluster, is_away).and_then(|successor| {
            promotion.node = Some(cluster.members()[successor].number);
            record.promotion = Some(promotion.clone());
            self.report(record, Ok(()), false);
            succession::promote(cluster, successor)
        });
        match &promoted {
            Ok(()) => promotion.done_s = Some(self.schedule.seconds(Instant::now())),
            Err(error) => promotion.error = Some(error.to_string()),
        }
        record.promotion = Some(promotion);
        if promoted.is_err() {
            return Ok(());
        }
        self.report(record, Ok(()), false);
        succession::follow(cluster, is_away)
    }

    fn heal(&self, fault: &mut dyn Fault, scene: &Scene<'_>, record: &mut FaultRecord) {
        record.heal_asked_s = Some(self.schedule.seconds(Instant::now()));
        self.instance.disturbance.heal(self.number);
        match fault.heal(scene) {
            Ok(healed) => {
                record.healed_s = Some(self.schedule.seconds(healed));
                record.scrub = fault.found();
                self.report(record, Ok(()), false);
                self.rejoin(fault, scene, record);
            }
            Err(error) => {
                if self.fault.kind.is_job() && error.is_interrupted() {
                    record.error = Some("it was not done when the load ended".to_owned());
                }
                // Only a cluster goes on without the node, unless the study is about its loss.
                let cluster = self.instance.cluster.as_ref();
                let is_alone = cluster.is_none_or(|cluster| cluster.replication().is_none());
                let is_expected = self.fault.kind == FaultKind::FailDevice && !self.spares_server();
                let is_vital = is_alone && !is_expected && !self.is_moot(record);
                self.report(record, Err(error), is_vital);
            }
        }
    }

    fn rejoin(&self, fault: &mut dyn Fault, scene: &Scene<'_>, record: &mut FaultRecord) {
        // The coordinator is no member.
        let rejoined = match self.fault.target {
            FaultTarget::Coordinator => Ok(()),
            _ => fault.rejoin(scene),
        };
        self.instance.disturbance.end(self.number);
        if rejoined.is_err() {
            self.report(record, rejoined, false);
        }
    }

    fn record(&self) -> FaultRecord {
        FaultRecord {
            number: self.number,
            kind: self.fault.kind,
            target: match self.step {
                0 => self.fault.target_words(),
                _ => FaultTarget::All.to_string(),
            },
            instance: self.instance_number,
            step: self.step,
            node: None,
            asked_s: self.schedule.seconds(Instant::now()),
            effect_s: None,
            heal_asked_s: None,
            healed_s: None,
            error: None,
            volume: self.fault.volume,
            device: self.fault.device,
            crash: None,
            scrub: None,
            promotion: None,
            recovery: None,
        }
    }

    /// Where it strikes now.
    fn scene(&self) -> Result<Scene<'a>, Failure> {
        let switches = self.fault.kind == FaultKind::Switchover;
        let mut scene = Scene {
            instance: self.instance,
            index: None,
            was_primary: false,
            over: match switches {
                // A switchover that is cut short leaves no primary, or the old primary shut down.
                true => self.schedule.interrupted,
                false => self.schedule.clock.over,
            },
        };
        if let Some(cluster) = &self.instance.cluster {
            let is_out = |node| {
                // The primary cannot take over from itself.
                let is_primary = cluster.primary().is_some_and(|one| one.number == node);
                self.instance.disturbance.hits(node) || (switches && is_primary)
            };
            let index = match self.successor(cluster)? {
                Some(index) => index,
                None => target::find(self.fault.target, cluster, is_out, &[])?,
            };
            scene.index = Some(index);
            scene.was_primary = index == cluster.primary_index();
        }
        Ok(scene)
    }

    /// The only replica that the primary would switch over to, if that is the fault.
    fn successor(&self, cluster: &Cluster) -> Result<Option<usize>, Failure> {
        let is_free = self.fault.target == FaultTarget::Replica;
        match cluster.primary() {
            Some(primary) if is_free && self.fault.kind == FaultKind::Switchover => {
                primary.lock().successor()
            }
            _ => Ok(None),
        }
    }

    /// How long after it was due it is healed.
    fn heals_after(&self) -> Option<Duration> {
        match self.fault.kind {
            FaultKind::Restart => Some(Duration::ZERO),
            kind if kind.is_job() => Some(Duration::ZERO),
            _ => self.fault.heal,
        }
    }

    /// Sends the record; what failed ends the trial if it `is_vital`, unless the end of the trial is
    /// why it failed.
    fn report(&self, record: &mut FaultRecord, done: Result<(), Failure>, is_vital: bool) {
        let mut failure = None;
        if let Err(error) = done
            && !error.is_interrupted()
        {
            record.error = Some(error.to_string());
            let (number, kind) = (self.number, self.fault.kind);
            let message = format!("fault {number} ({kind}) failed: {error}");
            let failed = Failure::server(message).perhaps(error.remedy);
            // A random schedule may meet a cluster that has nobody left for the role.
            failure = (is_vital && self.schedule.trial.planned.chaos.is_none()).then_some(failed);
        }
        let message = TrialMessage::Fault(Box::new(record.clone()), failure);
        // Without a receiver the trial is over.
        let _ = self.sender.send(message);
    }
}

fn quorum_lost(how: &str) -> Failure {
    Failure::server(how).remedy("break fewer members at once, or add expect_outage = true to the fault if that is what the study is about")
}

/// Whether a member accepts no writes, as far as a client can tell.
fn is_lost(scene: &Scene<'_>) -> bool {
    let accepts = |member: &Member| {
        let row = member_probe::row_of_watch(member.number);
        let replication = scene.cluster().ok().and_then(Cluster::replication);
        let mut probe = MemberProbe::new(member.database.clone(), replication, row);
        // The first one may only miss its limit.
        (0..3).any(|_| probe.probe().has_accepted())
    };
    !scene.member().is_ok_and(accepts)
}
