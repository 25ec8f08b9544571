//! Breaks what a study asks to break, and heals it.

mod active;
mod command;
mod context;
mod effect;
mod fill_disk;
mod injection;
mod partition;
mod promotion;
mod regroup;
mod rolling;
mod schedule;
mod switchover;
mod target;

use std::path::PathBuf;

use plan::ActsOn;

use crate::failure::Failure;
use crate::observer::Observer;
use crate::rig::Rig;
use crate::trial::Trial;

pub(crate) use active::ActiveFaults;
use context::FaultContext;
use effect::Effect;
pub(crate) use schedule::{Schedule, spawn};

/// Checks that all faults of a trial can be done to its instances.
pub(crate) fn check(trial: &Trial, rig: &Rig) -> Result<(), Failure> {
    for (number, fault) in (1..).zip(&trial.planned.topology.faults) {
        let effect = Effect::new(fault, PathBuf::new());
        let mut instances = target::instances(fault.target, rig);
        let checked = instances.try_for_each(|(_, instance)| effect.check(instance));
        checked.map_err(|error| {
            let kind = fault.kind();
            let message = format!("fault {number} ({kind}) cannot be done: {error}");
            Failure::usage(message).perhaps(error.remedy)
        })?;
    }
    Ok(())
}

/// The directory of the result for the output of commands; none if the trial runs no command.
pub(crate) fn outputs(trial: &Trial, observer: &mut dyn Observer) -> Result<PathBuf, Failure> {
    let mut faults = trial.planned.topology.faults.iter();
    match faults.any(|fault| fault.kind().rules().acts_on == ActsOn::Anything) {
        true => observer.server_dir(1),
        false => Ok(PathBuf::new()),
    }
}
