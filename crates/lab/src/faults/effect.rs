//! What each kind of fault does, what heals it, and what must not outlive the load.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use measure::fault::Scrub;
use plan::{DiskLimits, FaultAction, FaultProcess, FaultTarget, FaultVolume};

use super::context::{FaultContext, made};
use super::partition::Sides;
use super::{command, fill_disk, switchover};
use crate::failure::{Fact, Failure, not_running};
use crate::faults::broken_links::{BrokenLinks, Lost};
use crate::setup::instance::Instance;
use crate::setup::servers::{Node, Services};
use crate::site::Power;
use crate::volume::{Job, Made};

/// A fault of the study, done to one target.
pub(super) struct Effect {
    action: FaultAction,
    hits_coordinator: bool,
    /// The file for the output of commands.
    output: PathBuf,
    sides: Sides,
    undo: Undo,
    /// The index of a primary that was shut down for a switchover.
    old_primary: Option<usize>,
    /// Whether healing had to start the server again.
    has_restarted: bool,
    /// What a scrub found, once it has been healed.
    pub(super) found: Option<Scrub>,
}

/// What remains to be undone when the load ends.
#[derive(Default)]
enum Undo {
    #[default]
    Nothing,
    Repair(BrokenLinks),
    /// A paused server can neither be asked nor shut down.
    Resume,
    /// Removes the file that fills a disk.
    Remove(PathBuf),
    Cancel(Job),
    Run(Vec<String>),
}

impl Effect {
    pub(super) fn new(fault: &plan::Fault, output: PathBuf) -> Self {
        Self {
            action: fault.action.clone(),
            hits_coordinator: fault.target == FaultTarget::Coordinator,
            output,
            sides: Sides::default(),
            undo: Undo::Nothing,
            old_primary: None,
            has_restarted: false,
            found: None,
        }
    }

    /// Chooses what else it hits; returns the indexes of the nodes that may be lost because of it.
    pub(super) fn aim(&mut self, context: &FaultContext<'_>) -> Result<Vec<usize>, Failure> {
        match &self.action {
            FaultAction::Partition { .. } | FaultAction::Drop | FaultAction::CutClients => {
                self.sides = Sides::choose(&self.action.options(), context)?;
                Ok(self.sides.lost.clone())
            }
            _ => Ok(context.index.into_iter().collect()),
        }
    }

    /// Breaks it; returns when that took effect.
    pub(super) fn inject(&mut self, context: &FaultContext<'_>) -> Result<Instant, Failure> {
        match &self.action {
            FaultAction::Kill { .. } if self.hits_coordinator => {
                Ok(services(context.instance)?.kill())
            }
            FaultAction::Kill { process } => kill(&mut *context.node()?, *process),
            FaultAction::Stop { .. } => context.node()?.shut_down(context.over),
            FaultAction::Restart => shut_down_unless_dead(context),
            FaultAction::Pause { process } => {
                self.undo = Undo::Resume;
                context.node()?.pause(*process)
            }
            FaultAction::Partition { .. } => self.separate(context, Lost::Both),
            FaultAction::Drop => self.separate(context, Lost::Sent),
            FaultAction::CutClients => self.separate(context, Lost::ToClients),
            FaultAction::SlowLink { link } => {
                let slow = context.cluster().slow_down(context.index()?, link)?;
                Ok(self.broke(slow))
            }
            FaultAction::FillDisk { volume } => {
                let path = context.node()?.filler(*volume)?;
                let path = path.ok_or_else(fill_disk::no_disk)?;
                self.undo = Undo::Remove(path.clone());
                fill_disk::fill(&path, context.over)?;
                Ok(Instant::now())
            }
            FaultAction::FailDevice { volume, device } => {
                with_volume(context, *volume, |made| made.fail(number(*device)))
            }
            FaultAction::SlowDevice {
                volume,
                device,
                limits,
            } => limit(context, *volume, *device, limits),
            FaultAction::ReplaceDevice { volume, device } => {
                let (volume, device) = (*volume, number(*device));
                self.begin_job(context, volume, |made| made.replace(device))
            }
            FaultAction::Scrub { volume } => {
                let volume = *volume;
                self.begin_job(context, volume, Made::scrub)
            }
            FaultAction::FailHost => {
                let mut node = context.node()?;
                let cut = context.cluster().cut_off(context.index()?, Lost::All)?;
                self.broke(cut);
                kill(&mut node, FaultProcess::Both)
            }
            FaultAction::CutPower => cut_power(context),
            FaultAction::Switchover => {
                let done = switchover::switch_over(context)?;
                self.old_primary = done.shut_down;
                Ok(done.refuses_at)
            }
            FaultAction::Command {
                command,
                heal_command,
            } => {
                if !heal_command.is_empty() {
                    self.undo = Undo::Run(heal_command.clone());
                }
                command::run(command, &self.output, context, context.over)
            }
        }
    }

    /// Heals it; returns when it was healed.
    pub(super) fn heal(&mut self, context: &FaultContext<'_>) -> Result<Instant, Failure> {
        match &self.action {
            FaultAction::Kill { .. } if self.hits_coordinator => {
                services(context.instance)?.start_again(context.over)
            }
            FaultAction::Kill { .. } | FaultAction::Stop { .. } | FaultAction::Restart => {
                context.start()
            }
            FaultAction::Pause { .. } => context.node()?.resume(),
            FaultAction::Partition { .. }
            | FaultAction::Drop
            | FaultAction::CutClients
            | FaultAction::SlowLink { .. }
            | FaultAction::Command { .. } => self.undo(context),
            FaultAction::FillDisk { .. } => {
                let removed_at = self.undo(context)?;
                self.revive(context, removed_at)
            }
            FaultAction::FailDevice { volume, device } => {
                let restore = |made: &Made| made.restore(number(*device));
                let restored_at = with_volume(context, *volume, restore)?;
                self.revive(context, restored_at)
            }
            FaultAction::SlowDevice { volume, device, .. } => {
                limit(context, *volume, *device, &DiskLimits::default())
            }
            FaultAction::ReplaceDevice { volume, .. } | FaultAction::Scrub { volume } => {
                if let Undo::Cancel(job) = &mut self.undo {
                    let finish = |made: &Made| made.finish(job, context.over);
                    self.found = with_volume(context, *volume, finish)?;
                }
                self.undo = Undo::Nothing;
                Ok(Instant::now())
            }
            FaultAction::FailHost => {
                self.undo(context)?;
                context.start()
            }
            FaultAction::CutPower => {
                power(context)?.restore(context.over)?;
                context.start()
            }
            FaultAction::Switchover => Ok(Instant::now()),
        }
    }

    /// What remains to be done once it has been healed, or once it took effect if it does not last:
    /// the node joins its cluster.
    pub(super) fn rejoin(&mut self, context: &FaultContext<'_>) -> Result<(), Failure> {
        match &self.action {
            // The coordinator is no member.
            _ if self.hits_coordinator => Ok(()),
            FaultAction::Kill { .. }
            | FaultAction::Stop { .. }
            | FaultAction::Restart
            | FaultAction::FailHost
            | FaultAction::CutPower => context.join(),
            FaultAction::Pause { .. } => context.return_to_cluster(),
            FaultAction::Partition { .. } | FaultAction::Drop | FaultAction::CutClients => {
                self.sides.return_to_cluster(context)
            }
            FaultAction::FillDisk { .. } | FaultAction::FailDevice { .. } => {
                context.join_revived(self.has_restarted)
            }
            FaultAction::Switchover => match self.old_primary {
                Some(index) => context.of(index, true).start_and_join(),
                None => Ok(()),
            },
            FaultAction::SlowLink { .. }
            | FaultAction::SlowDevice { .. }
            | FaultAction::ReplaceDevice { .. }
            | FaultAction::Scrub { .. }
            | FaultAction::Command { .. } => Ok(()),
        }
    }

    /// Ends what must not outlive the load, after the last of the others.
    pub(super) fn end(&mut self, context: &FaultContext<'_>) {
        if !matches!(self.undo, Undo::Nothing) {
            // The trial is over, and what is left ends with its servers.
            let _ = self.undo(context);
        }
    }

    /// Undoes what it did itself; returns when that was done.
    fn undo(&mut self, context: &FaultContext<'_>) -> Result<Instant, Failure> {
        match mem::take(&mut self.undo) {
            Undo::Nothing => Ok(Instant::now()),
            Undo::Repair(links) => links.heal(),
            Undo::Resume => context.node()?.resume(),
            Undo::Remove(path) => remove(&path),
            Undo::Cancel(job) => {
                let volume = self.action.options().volume;
                with_volume(context, volume, |made| {
                    made.cancel(job);
                    Ok(Instant::now())
                })
            }
            // What was broken must not stay so because the load ends meanwhile.
            Undo::Run(program) => {
                command::run(&program, &self.output, context, &AtomicBool::new(false))
            }
        }
    }

    fn broke(&mut self, links: BrokenLinks) -> Instant {
        let since = links.since;
        self.undo = Undo::Repair(links);
        since
    }

    fn separate(&mut self, context: &FaultContext<'_>, lost: Lost) -> Result<Instant, Failure> {
        let Sides {
            cut_off, spared, ..
        } = &self.sides;
        let broken = context.cluster().separate(cut_off, spared, lost)?;
        Ok(self.broke(broken))
    }

    /// A server that could not read or write may have ended, and is started again.
    fn revive(&mut self, context: &FaultContext<'_>, since: Instant) -> Result<Instant, Failure> {
        let (at, has_restarted) = context.revive(since)?;
        self.has_restarted = has_restarted;
        Ok(at)
    }

    /// Begins work on a volume; returns when it began.
    fn begin_job(
        &mut self,
        context: &FaultContext<'_>,
        volume: FaultVolume,
        begin: impl FnOnce(&Made) -> Result<Job, Failure>,
    ) -> Result<Instant, Failure> {
        with_volume(context, volume, |made| {
            let job = begin(made)?;
            let began_at = Instant::now();
            let new_device = job.new_device();
            self.undo = Undo::Cancel(job);
            if let Some(device) = new_device
                && !made.limits().is_none()
            {
                context.site()?.limit_io(&[device?], made.limits())?;
            }
            Ok(began_at)
        })
    }
}

fn kill(node: &mut Node, process: FaultProcess) -> Result<Instant, Failure> {
    let server = node.name();
    node.kill_process(process)
        .ok_or_else(|| not_running(&server))
}

/// A node that was killed before is started again without it.
fn shut_down_unless_dead(context: &FaultContext<'_>) -> Result<Instant, Failure> {
    match context.node()?.shut_down(context.over) {
        Err(error) if error.is(Fact::NotRunning) => Ok(Instant::now()),
        stopped => stopped,
    }
}

/// What the guest had not written to its disk is lost with its memory, whatever its server was told.
fn cut_power(context: &FaultContext<'_>) -> Result<Instant, Failure> {
    let mut node = context.node()?;
    let server = node.name();
    let cut_at = power(context)?.cut();
    let killed = node.kill();
    killed.map(|_| cut_at).ok_or_else(|| not_running(&server))
}

/// Gives a device these limits, and those of its volume where these have none.
fn limit(
    context: &FaultContext<'_>,
    volume: FaultVolume,
    device: Option<u32>,
    limits: &DiskLimits,
) -> Result<Instant, Failure> {
    with_volume(context, volume, |made| {
        let device = made.numbers(number(device))?;
        let limits = limits.or(made.limits());
        context.site()?.limit_io(&[device], &limits)?;
        Ok(Instant::now())
    })
}

/// The first device unless the study names one.
fn number(device: Option<u32>) -> u32 {
    device.unwrap_or(1)
}

fn remove(path: &Path) -> Result<Instant, Failure> {
    fs::remove_file(path).map_err(Failure::at("remove", path))?;
    Ok(Instant::now())
}

fn services(instance: &Instance) -> Result<&Services, Failure> {
    let services = instance.cluster.services();
    services.ok_or_else(|| Failure::server("the members of this cluster share no service"))
}

fn power<'a>(context: &FaultContext<'a>) -> Result<&'a dyn Power, Failure> {
    let power = context.site()?.power();
    power.ok_or_else(|| Failure::server("only a guest can be switched off: use site.kind = \"vm\""))
}

/// Does something with the made volume of the node.
fn with_volume<T>(
    context: &FaultContext<'_>,
    which: FaultVolume,
    work: impl FnOnce(&Made) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let volume = context.volume(which)?;
    work(made(&*volume)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_broke_is_healed_once_even_if_the_load_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let healed = dir.path().join("healed");
        let text = format!("sleep 0.1; echo once >> {}", healed.display());
        let program = |text: &str| ["sh", "-c", text].map(str::to_owned).into();
        let fault = plan::Fault {
            at: std::time::Duration::ZERO,
            action: FaultAction::Command {
                command: program("true"),
                heal_command: program(&text),
            },
            target: FaultTarget::Primary,
            heal: None,
            expect_outage: false,
        };
        let mut effect = Effect::new(&fault, dir.path().join("output"));
        let database = crate::testing::database(dir.path());
        let instance = Instance::found(database, 1);
        let context = FaultContext {
            instance: &instance,
            index: None,
            was_primary: false,
            over: &AtomicBool::new(true),
        };
        // It is interrupted, but may have begun.
        let _ = effect.inject(&context);
        effect.heal(&context).unwrap();
        effect.end(&context);
        assert_eq!(fs::read_to_string(healed).unwrap(), "once\n");
    }
}
