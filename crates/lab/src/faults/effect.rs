//! What each kind of fault does, what heals it, and what must not outlive the load.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::fault::Scrub;
use plan::{DiskLimits, FaultAction, FaultProcess, FaultTarget, FaultVolume};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::context::FaultContext;
use super::links::{BrokenLinks, Lost, Sides};
use super::operator::switch_over;
use crate::failure::{canceled, not_running};
use crate::servers::{Node, Services};
use crate::site::Power;
use crate::volume::{Job, Made};
use crate::{Fact, Failure, Instance, Member, process};

/// How much is allocated at once to fill a disk, at first and in the end.
const LARGEST_BYTES: u64 = 1 << 30;
const SMALLEST_BYTES: u64 = 4 << 10;

/// How long a program of the study may take.
const PROGRAM_LIMIT: Duration = Duration::from_secs(60);
/// How much of its output an error quotes.
const QUOTED_BYTES: u64 = 1000;
/// Variables of dyno's own, some of which hold passwords.
const OWN_VARIABLES: &str = "DYNO_";

/// A fault of the study, done to one target.
pub(super) struct Effect<'a> {
    /// The place of the fault in the schedule, from 1.
    number: u32,
    pub(super) context: FaultContext<'a>,
    action: FaultAction,
    hits_coordinator: bool,
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

impl<'a> Effect<'a> {
    /// Chooses what the fault hits; also returns the indexes of the nodes that may be lost because
    /// of it.
    pub(super) fn aim(
        number: u32,
        fault: &plan::Fault,
        output: PathBuf,
        context: FaultContext<'a>,
    ) -> Result<(Self, Vec<usize>), Failure> {
        let (sides, hit) = match &fault.action {
            FaultAction::Partition { .. } | FaultAction::Drop | FaultAction::CutClients => {
                let sides = Sides::choose(&fault.action.options(), &context)?;
                let lost = sides.lost.clone();
                (sides, lost)
            }
            _ => (Sides::default(), context.index.into_iter().collect()),
        };
        let effect = Self {
            number,
            context,
            action: fault.action.clone(),
            hits_coordinator: fault.target == FaultTarget::Coordinator,
            output,
            sides,
            undo: Undo::Nothing,
            old_primary: None,
            has_restarted: false,
            found: None,
        };
        Ok((effect, hit))
    }

    /// Breaks it; returns when that took effect.
    pub(super) fn inject(&mut self) -> Result<Instant, Failure> {
        let context = self.context;
        match &self.action {
            FaultAction::Kill { .. } if self.hits_coordinator => {
                Ok(services(context.instance)?.kill())
            }
            FaultAction::Kill { process } => kill(&mut *context.node()?, *process),
            FaultAction::Stop { .. } => context.node()?.shut_down(context.over),
            FaultAction::Restart => shut_down_unless_dead(&context),
            FaultAction::Pause { process } => {
                self.undo = Undo::Resume;
                context.node()?.pause(*process)
            }
            FaultAction::Partition { .. } => self.separate(Lost::Both),
            FaultAction::Drop => self.separate(Lost::Sent),
            FaultAction::CutClients => self.separate(Lost::ToClients),
            FaultAction::SlowLink { link } => {
                let slow = context.cluster().slow_down(context.index()?, link)?;
                Ok(self.broke(slow))
            }
            FaultAction::FillDisk { volume } => {
                let path = context.node()?.data().filler(*volume)?;
                let path = path.ok_or_else(no_disk)?;
                self.undo = Undo::Remove(path.clone());
                fill_disk(&path, context.over)?;
                Ok(Instant::now())
            }
            FaultAction::FailDevice { volume, device } => {
                context.with_volume(*volume, |made| made.fail(number(*device)))
            }
            FaultAction::SlowDevice {
                volume,
                device,
                limits,
            } => limit(&context, *volume, *device, limits),
            FaultAction::ReplaceDevice { volume, device } => {
                let (volume, device) = (*volume, number(*device));
                self.begin_job(volume, |made| made.replace(device))
            }
            FaultAction::Scrub { volume } => {
                let volume = *volume;
                self.begin_job(volume, Made::scrub)
            }
            FaultAction::FailHost => {
                let mut node = context.node()?;
                let cut = context.cluster().cut_off(context.index()?, Lost::All)?;
                self.broke(cut);
                kill(&mut node, FaultProcess::Both)
            }
            FaultAction::CutPower => cut_power(&context),
            FaultAction::Switchover => {
                let done = switch_over(&context)?;
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
                run_program(command, &self.output, &context, context.over)
            }
        }
    }

    /// Heals it; returns when it was healed.
    pub(super) fn heal(&mut self) -> Result<Instant, Failure> {
        let context = self.context;
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
            | FaultAction::Command { .. } => self.undo(),
            FaultAction::FillDisk { .. } => {
                let removed_at = self.undo()?;
                self.revive(removed_at)
            }
            FaultAction::FailDevice { volume, device } => {
                let restore = |made: &Made| made.restore(number(*device));
                let restored_at = context.with_volume(*volume, restore)?;
                self.revive(restored_at)
            }
            FaultAction::SlowDevice { volume, device, .. } => {
                limit(&context, *volume, *device, &DiskLimits::default())
            }
            FaultAction::ReplaceDevice { volume, .. } | FaultAction::Scrub { volume } => {
                if let Undo::Cancel(job) = &mut self.undo {
                    let finish = |made: &Made| made.finish(job, context.over);
                    self.found = context.with_volume(*volume, finish)?;
                }
                self.undo = Undo::Nothing;
                Ok(Instant::now())
            }
            FaultAction::FailHost => {
                self.undo()?;
                context.start()
            }
            FaultAction::CutPower => {
                power(&context)?.restore(context.over)?;
                context.start()
            }
            FaultAction::Switchover => Ok(Instant::now()),
        }
    }

    /// What remains to be done once it has been healed, or once it took effect if it does not last:
    /// the node joins its cluster.
    pub(super) fn rejoin(&mut self) -> Result<(), Failure> {
        let context = self.context;
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
                self.sides.return_to_cluster(&context)
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
    pub(super) fn end(&mut self) {
        if !matches!(self.undo, Undo::Nothing) {
            // The trial is over, and what is left ends with its servers.
            let _ = self.undo();
        }
        self.context.instance.faults.end(self.number);
    }

    /// Undoes the effect, and returns when it is undone.
    fn undo(&mut self) -> Result<Instant, Failure> {
        let context = self.context;
        match mem::take(&mut self.undo) {
            Undo::Nothing => Ok(Instant::now()),
            Undo::Repair(links) => links.heal(),
            Undo::Resume => context.node()?.resume(),
            Undo::Remove(path) => remove(&path),
            Undo::Cancel(job) => {
                let volume = self.action.options().volume;
                context.with_volume(volume, |made| {
                    made.cancel(job);
                    Ok(Instant::now())
                })
            }
            // What was broken must not stay so because the load ends meanwhile.
            Undo::Run(program) => {
                run_program(&program, &self.output, &context, &AtomicBool::new(false))
            }
        }
    }

    fn broke(&mut self, links: BrokenLinks) -> Instant {
        let since = links.since;
        self.undo = Undo::Repair(links);
        since
    }

    fn separate(&mut self, lost: Lost) -> Result<Instant, Failure> {
        let Sides {
            cut_off, spared, ..
        } = &self.sides;
        let broken = self.context.cluster().separate(cut_off, spared, lost)?;
        Ok(self.broke(broken))
    }

    /// A server that could not read or write may have ended, and is started again.
    fn revive(&mut self, since: Instant) -> Result<Instant, Failure> {
        let (at, has_restarted) = self.context.revive(since)?;
        self.has_restarted = has_restarted;
        Ok(at)
    }

    /// Begins work on a volume; returns when it began.
    fn begin_job(
        &mut self,
        volume: FaultVolume,
        begin: impl FnOnce(&Made) -> Result<Job, Failure>,
    ) -> Result<Instant, Failure> {
        let context = self.context;
        context.with_volume(volume, |made| {
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
    context.with_volume(volume, |made| {
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

/// Fills a file system with a new file, in ever smaller parts.
fn fill_disk(path: &Path, over: &AtomicBool) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::at("fill the disk with", path)(error);
    let mut file = File::create_new(path).map_err(failed)?;
    let (mut length, mut part) = (0, LARGEST_BYTES);
    while part >= SMALLEST_BYTES {
        if over.load(Ordering::Relaxed) {
            return Err(canceled());
        }
        match fallocate(&file, FallocateFlags::empty(), length, part) {
            Ok(()) => length += part,
            Err(Errno::INTR) => {}
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => part /= 2,
            Err(Errno::OPNOTSUPP) => return write_zeros(&mut file, over).map_err(failed),
            Err(error) => return Err(failed(error.into())),
        }
    }
    Ok(())
}

/// For file systems that cannot allocate space without writing.
fn write_zeros(file: &mut File, over: &AtomicBool) -> std::io::Result<()> {
    let zeros = vec![0; 1 << 20];
    while !over.load(Ordering::Relaxed) {
        match file.write(&zeros) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => break,
                _ => return Err(error),
            },
        }
    }
    Ok(())
}

fn no_disk() -> Failure {
    let message = "dyno fills only a disk that the study names: make one with volume.filesystem, or set \
                   volume.directory to a directory on a disk of its own";
    Failure::server(message)
}

/// Runs a program without a shell, with its output appended to a file; returns when it ended.
fn run_program(
    command: &[String],
    output: &Path,
    context: &FaultContext<'_>,
    over: &AtomicBool,
) -> Result<Instant, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Failure::server("no program is named"));
    };
    let mut prepared = process::own_command(Path::new(program));
    prepared.args(arguments);
    without_secrets(&mut prepared);
    prepared.envs(about(context));
    let write = Failure::at("write", output);
    let log = File::options().append(true).create(true).open(output);
    let log = log.map_err(write)?;
    prepared.stdout(log.try_clone().map_err(write)?).stderr(log);
    let how = match process::run(prepared, PROGRAM_LIMIT, over)? {
        Some(status) if status.success() => return Ok(Instant::now()),
        Some(status) => process::how_it_ended(status),
        None => format!("did not end within {} s", PROGRAM_LIMIT.as_secs()),
    };
    let quoted = quoted(output);
    let message = format!("{program} {how}; its output ends:\n{quoted}");
    Err(Failure::server(message))
}

/// The end of the output.
fn quoted(output: &Path) -> String {
    let read = || {
        let mut file = File::open(output)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(QUOTED_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(QUOTED_BYTES).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    let bytes = read().unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// What a program is told of its target; of a server that runs already, dyno knows nothing.
fn about(context: &FaultContext<'_>) -> Vec<(&'static str, String)> {
    let Some(node) = context.member().ok().and_then(Member::try_lock) else {
        return Vec::new();
    };
    let address = node.address();
    let role = match context.was_primary {
        true => "primary",
        false => "replica",
    };
    let process = node.pid().map(|pid| ("TARGET_PID", pid.to_string()));
    let known = [
        ("TARGET_HOST", address.ip().to_string()),
        ("TARGET_PORT", address.port().to_string()),
        ("TARGET_ROLE", role.to_owned()),
    ];
    known.into_iter().chain(process).collect()
}

fn without_secrets(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(OWN_VARIABLES) {
            command.env_remove(name);
        }
    }
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
        let database = crate::for_tests::database(dir.path());
        let instance = Instance::found(database, 1);
        let context = FaultContext {
            instance: &instance,
            index: None,
            was_primary: false,
            over: &AtomicBool::new(true),
        };
        let output = dir.path().join("output");
        let (mut effect, _) = Effect::aim(1, &fault, output, context).unwrap();
        // It is interrupted, but may have begun.
        let _ = effect.inject();
        effect.heal().unwrap();
        effect.end();
        assert_eq!(fs::read_to_string(healed).unwrap(), "once\n");
    }
}
