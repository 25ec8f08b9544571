//! A fault in one instance: it strikes, is healed, and is reported.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use measure::fault::FaultRecord;
use plan::FaultKind;

use super::schedule::Schedule;
use super::{Fault, Scene, planned, target};
use crate::cluster::Member;
use crate::error::LabError;
use crate::failure::{Cause, Failure};
use crate::instance::Instance;
use crate::trial_monitor::TrialMessage;
use crate::watch::Watch;

/// A fault that is due in an instance.
pub(super) struct Strike<'a> {
    pub(super) schedule: Schedule<'a>,
    /// Its place in the schedule, from 1.
    pub(super) number: u32,
    pub(super) fault: &'a plan::Fault,
    pub(super) instance_number: u32,
    pub(super) instance: &'a Instance,
    pub(super) watch: Option<&'a Watch>,
    pub(super) sender: Sender<TrialMessage>,
}

/// A fault that has struck, for the end of the trial.
pub(super) struct Struck<'a> {
    fault: Option<Box<dyn Fault>>,
    scene: Scene<'a>,
}

impl Struck<'_> {
    /// Ends what must not outlive the load.
    pub(super) fn end(self) {
        if let Some(mut fault) = self.fault {
            fault.end(&self.scene);
        }
    }
}

impl<'a> Strike<'a> {
    /// Has the fault strike, and heals it when that is due.
    pub(super) fn run(self) -> Struck<'a> {
        self.watch.into_iter().for_each(Watch::asked);
        let mut record = self.record();
        let mut scene = Scene {
            instance: self.instance,
            member: None,
            over: self.schedule.over,
        };
        let found = planned(self.fault).and_then(|fault| Ok((fault, self.member()?)));
        let (mut fault, member) = match found {
            Ok(found) => found,
            Err(error) => {
                self.report(&mut record, Err(error), true);
                return Struck { fault: None, scene };
            }
        };
        scene.member = member;
        record.node = member.map(|member| member.number);
        self.instance.disturbance.begin(self.number, record.node);
        let struck = fault.strike(&scene);
        record.effect_s = self.time(&struck);
        if let (Some(watch), Ok(at)) = (self.watch, &struck) {
            watch.took_effect(*at, self.schedule.barrier);
        }
        let had_effect = struck.is_ok();
        self.report(&mut record, struck.map(drop), true);
        if had_effect
            && let Some(after) = self.heals_after()
            && self.schedule.wait(self.fault.at + after)
        {
            self.heal(&mut *fault, &scene, &mut record);
        }
        if !had_effect {
            self.instance.disturbance.end(self.number);
        }
        Struck {
            fault: Some(fault),
            scene,
        }
    }

    fn heal(&self, fault: &mut dyn Fault, scene: &Scene<'_>, record: &mut FaultRecord) {
        record.heal_asked_s = Some(self.schedule.seconds(Instant::now()));
        let healed = fault.heal(scene);
        record.healed_s = self.time(&healed);
        if healed.is_err() {
            // Only a cluster goes on without the node.
            let cluster = self.instance.cluster.as_ref();
            let is_vital = cluster.is_none_or(|cluster| cluster.replication().is_none());
            return self.report(record, healed.map(drop), is_vital);
        }
        self.instance.disturbance.end(self.number);
        self.report(record, Ok(()), false);
        let rejoined = fault.rejoin(scene);
        if rejoined.is_err() {
            self.report(record, rejoined, false);
        }
    }

    fn record(&self) -> FaultRecord {
        FaultRecord {
            number: self.number,
            kind: self.fault.kind,
            target: self.fault.target.to_string(),
            instance: self.instance_number,
            node: None,
            asked_s: self.schedule.seconds(Instant::now()),
            effect_s: None,
            heal_asked_s: None,
            healed_s: None,
            error: None,
            recovery: None,
        }
    }

    /// The node that is hit; `None` if dyno did not start the server.
    fn member(&self) -> Result<Option<&'a Member>, LabError> {
        let Some(cluster) = &self.instance.cluster else {
            return Ok(None);
        };
        let is_hit = |node| self.instance.disturbance.hits(node);
        let found = target::find(self.fault.target, cluster, is_hit);
        found.map(Some)
    }

    /// How long after it was due it is healed.
    fn heals_after(&self) -> Option<Duration> {
        match self.fault.kind {
            FaultKind::Restart => Some(Duration::ZERO),
            _ => self.fault.heal,
        }
    }

    fn time(&self, done: &Result<Instant, LabError>) -> Option<f64> {
        let at = done.as_ref().ok()?;
        Some(self.schedule.seconds(*at))
    }

    /// Sends the record; what failed ends the trial if it `is_vital`, unless the end of the trial is
    /// why it failed.
    fn report(&self, record: &mut FaultRecord, done: Result<(), LabError>, is_vital: bool) {
        let mut failure = None;
        if let Err(error) = done
            && !matches!(error, LabError::Interrupted)
        {
            record.error = Some(error.to_string());
            let number = self.number;
            let kind = self.fault.kind;
            let message = format!("fault {number} ({kind}) failed: {error}");
            let failed = Failure::new(Cause::Server, message).remedy(error.remedy());
            // A random schedule may meet a cluster that has nobody left for the role.
            failure = (is_vital && self.schedule.trial.planned.chaos.is_none()).then_some(failed);
        }
        // Without a receiver the trial is over.
        let _ = self
            .sender
            .send(TrialMessage::Fault(Box::new(record.clone()), failure));
    }
}
