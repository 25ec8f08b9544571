//! Breaks what a study asks to break, and puts it right again. Each kind of fault is one file.

mod disturbance;
mod kill;
mod pause;
mod schedule;
mod stop;
mod strike;
mod target;

use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use plan::FaultKind;

use crate::cluster::{Cluster, Member};
use crate::error::LabError;
use crate::failure::{Cause, Failure};
use crate::instance::Instance;
use crate::rig::Rig;
use crate::servers::Node;
use crate::trial::Trial;

pub(crate) use disturbance::Disturbance;
pub(crate) use schedule::{Schedule, spawn};

/// Something that is broken. It is made for one target.
trait Fault: Send {
    /// Whether it can be done to an instance.
    ///
    /// # Errors
    /// Why it cannot.
    fn check(&self, instance: &Instance) -> Result<(), LabError>;

    /// Breaks it; returns when that took effect.
    ///
    /// # Errors
    /// Why it could not be done; some of it may have been.
    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError>;

    /// Puts it right again; returns when it was.
    ///
    /// # Errors
    /// Why it could not be done.
    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError>;

    /// Has a node that is right again join its cluster.
    ///
    /// # Errors
    /// Why it does not.
    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), LabError> {
        let _ = scene;
        Ok(())
    }

    /// Ends what must not outlive the load, after the last of the others.
    fn end(&mut self, scene: &Scene<'_>) {
        let _ = scene;
    }
}

/// Where a fault strikes.
#[derive(Clone, Copy)]
struct Scene<'a> {
    instance: &'a Instance,
    /// The node that is hit; `None` if dyno did not start the server.
    member: Option<&'a Member>,
    /// Becomes true when the loads have ended.
    over: &'a AtomicBool,
}

impl<'a> Scene<'a> {
    fn node(&self) -> Result<MutexGuard<'a, Node>, LabError> {
        self.member.map(Member::lock).ok_or_else(not_started)
    }
}

/// The fault of a study, before it strikes.
fn planned(fault: &plan::Fault) -> Result<Box<dyn Fault>, LabError> {
    Ok(match fault.kind {
        FaultKind::Kill => Box::new(kill::Kill),
        FaultKind::Stop | FaultKind::Restart => Box::new(stop::Stop::new(fault.kind)),
        FaultKind::Pause => Box::new(pause::Pause),
        kind => {
            let message = format!("this version of dyno has no fault `{kind}` yet");
            return Err(LabError::Impossible(message));
        }
    })
}

/// Checks that all faults of a trial can be done to its instances.
///
/// # Errors
/// The first that cannot.
pub(crate) fn check(trial: &Trial, rig: &Rig) -> Result<(), Failure> {
    for (number, fault) in (1..).zip(&trial.planned.topology.faults) {
        let checked = planned(fault).and_then(|planned| {
            let mut instances = target::instances(fault.target, rig);
            instances.try_for_each(|(_, instance)| planned.check(instance))
        });
        checked.map_err(|error| {
            let message = format!("fault {number} ({}) cannot be done: {error}", fault.kind);
            Failure::new(Cause::Usage, message).remedy(error.remedy())
        })?;
    }
    Ok(())
}

/// The nodes of an instance.
///
/// # Errors
/// When dyno did not start them.
fn nodes(instance: &Instance) -> Result<&Cluster, LabError> {
    instance.cluster.as_ref().ok_or_else(not_started)
}

fn not_started() -> LabError {
    let message = "dyno breaks only servers that it has started; for others, the study names a \
                   command";
    LabError::Impossible(message.to_owned())
}
