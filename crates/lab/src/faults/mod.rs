//! Breaks what a study asks to break, and heals it. Each kind of fault is one file.

mod command;
mod coordinator;
mod cut_power;
mod disturbance;
mod fail_device;
mod fail_host;
mod fill_disk;
mod job;
mod kill;
mod links;
mod partition;
mod pause;
mod quorum;
mod regroup;
mod rolling;
mod scene;
mod schedule;
mod slow_device;
mod slow_link;
mod stop;
mod strike;
mod succession;
mod switchover;
mod target;

use std::path::PathBuf;
use std::time::Instant;

use measure::fault::Scrub;
use plan::{FaultKind, FaultTarget, FaultVolume};

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::instance::Instance;
use crate::observer::Observer;
use crate::rig::Rig;
use crate::trial::Trial;
use crate::volume::{Made, Volume};

pub(crate) use disturbance::Disturbance;
use scene::Scene;
pub(crate) use schedule::{Schedule, spawn};

/// Something that is broken. It is made for one target.
trait Fault: Send {
    /// Whether it can be done to an instance.
    fn check(&self, instance: &Instance) -> Result<(), Failure>;

    /// Chooses what else it hits; returns the indexes of the nodes that may be lost because of it.
    fn aim(&mut self, scene: &Scene<'_>) -> Result<Vec<usize>, Failure> {
        Ok(scene.index.into_iter().collect())
    }

    /// Breaks it; returns when that took effect.
    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure>;

    /// Heals it; returns when it was healed.
    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure>;

    /// What it found, once it has been healed.
    fn found(&self) -> Option<Scrub> {
        None
    }

    /// What remains to be done once it has been healed, or once it took effect if it does not last:
    /// the node joins its cluster.
    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        let _ = scene;
        Ok(())
    }

    /// Ends what must not outlive the load, after the last of the others.
    fn end(&mut self, scene: &Scene<'_>) {
        let _ = scene;
    }
}

/// The fault of a study, before it strikes. The output of a command goes to `output`.
fn planned(fault: &plan::Fault, output: PathBuf) -> Box<dyn Fault> {
    match fault.kind {
        FaultKind::Kill if fault.target == FaultTarget::Coordinator => {
            Box::new(coordinator::KillCoordinator)
        }
        FaultKind::Kill => Box::new(kill::Kill {
            process: fault.process,
        }),
        FaultKind::Stop | FaultKind::Restart => Box::new(stop::Stop::new(fault.kind)),
        FaultKind::Pause => Box::new(pause::Pause {
            process: fault.process,
        }),
        FaultKind::Partition | FaultKind::Drop | FaultKind::CutClients => {
            Box::new(partition::Partition::new(fault))
        }
        FaultKind::SlowLink => Box::new(slow_link::SlowLink::new(fault)),
        FaultKind::FillDisk => Box::new(fill_disk::FillDisk::new(fault)),
        FaultKind::FailDevice => Box::new(fail_device::FailDevice::new(fault)),
        FaultKind::SlowDevice => Box::new(slow_device::SlowDevice::new(fault)),
        FaultKind::ReplaceDevice | FaultKind::Scrub => Box::new(job::VolumeJob::new(fault)),
        FaultKind::FailHost => Box::new(fail_host::FailHost::default()),
        FaultKind::CutPower => Box::new(cut_power::CutPower),
        FaultKind::Switchover => Box::new(switchover::Switchover::default()),
        FaultKind::Command => Box::new(command::RunCommand::new(fault, output)),
    }
}

/// Checks that all faults of a trial can be done to its instances.
pub(crate) fn check(trial: &Trial, rig: &Rig) -> Result<(), Failure> {
    for (number, fault) in (1..).zip(&trial.planned.topology.faults) {
        let planned = planned(fault, PathBuf::new());
        let mut instances = target::instances(fault.target, rig);
        let checked = instances.try_for_each(|(_, instance)| planned.check(instance));
        checked.map_err(|error| {
            let message = format!("fault {number} ({}) cannot be done: {error}", fault.kind);
            Failure::usage(message).perhaps(error.remedy)
        })?;
    }
    Ok(())
}

/// The directory of the result for the output of commands; none if the trial runs no command.
pub(crate) fn outputs(trial: &Trial, observer: &mut dyn Observer) -> Result<PathBuf, Failure> {
    let mut faults = trial.planned.topology.faults.iter();
    match faults.any(|fault| fault.kind == FaultKind::Command) {
        true => observer.server_dir(1),
        false => Ok(PathBuf::new()),
    }
}

fn nodes(instance: &Instance) -> Result<&Cluster, Failure> {
    instance.cluster.as_ref().ok_or_else(not_started)
}

/// Does something with the made volume of each member of an instance.
fn each_volume(
    instance: &Instance,
    which: FaultVolume,
    mut work: impl FnMut(&Made) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut members = nodes(instance)?.members().iter();
    members.try_for_each(|member| {
        let volume = member.lock().volume(which).ok_or_else(no_log)?;
        work(made(&*volume)?)
    })
}

/// The file system that was made for a volume.
fn made(volume: &dyn Volume) -> Result<&Made, Failure> {
    volume.made().ok_or_else(|| {
        let message = "only a volume that dyno makes has devices that can fail: use \
                       volume.filesystem";
        Failure::server(message)
    })
}

fn no_log() -> Failure {
    Failure::server("the log has no volume of its own: use [log_volume]")
}

fn not_started() -> Failure {
    let message = "dyno breaks only servers that it has started; for others, the study names a \
                   command";
    Failure::server(message)
}
