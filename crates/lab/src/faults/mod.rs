//! Breaks what a study asks to break, and heals it.

mod active;
pub(crate) mod broken_links;
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
use crate::trial::Trial;

pub(crate) use active::ActiveFaults;
pub(crate) use schedule::{Schedule, spawn};

/// The directory of the result for the output of commands; none if the trial runs no command.
pub(crate) fn outputs(trial: &Trial, observer: &mut dyn Observer) -> Result<PathBuf, Failure> {
    let mut faults = trial.planned.topology.faults.iter();
    match faults.any(|fault| fault.kind().rules().acts_on == ActsOn::Anything) {
        true => observer.server_dir(1),
        false => Ok(PathBuf::new()),
    }
}
