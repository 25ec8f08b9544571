//! What each kind of fault does, what heals it, and what must not outlive the load.

mod host;
mod volumes;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use measure::fault::Scrub;
use plan::{Fault, FaultKind, FaultOptions, FaultTarget};

use super::context::FaultContext;
use super::links::{BrokenLinks, Lost, Sides};
use super::operator::switch_over;
use super::program::run_program;
use crate::hosts::Away;
use crate::servers::Services;
use crate::{Fact, Failure, Instance};

/// Does something, and returns when it was done.
type Step<'a> = fn(&mut Effect<'a>) -> Result<Instant, Failure>;
/// Has the nodes that it took away join their cluster.
type Rejoin<'a> = fn(&mut Effect<'a>) -> Result<(), Failure>;

/// How a kind of fault is injected and healed, and what follows.
type Steps<'a> = (Step<'a>, Step<'a>, Rejoin<'a>);

fn steps<'a>(kind: FaultKind) -> Steps<'a> {
    match kind {
        FaultKind::Kill => (Effect::kill, Effect::start, join),
        FaultKind::Stop => (Effect::shut_down, Effect::start, join),
        FaultKind::Restart => (Effect::shut_down_unless_dead, Effect::start, join),
        FaultKind::Pause => (Effect::pause, Effect::resume, return_to_cluster),
        FaultKind::Partition => cut(|effect| effect.separate(Lost::Both)),
        FaultKind::Drop => cut(|effect| effect.separate(Lost::Sent)),
        FaultKind::CutClients => cut(|effect| effect.separate(Lost::ToClients)),
        FaultKind::SlowLink => (Effect::slow_link, Effect::undo, stay),
        FaultKind::FillDisk => (Effect::fill_disk, Effect::free_disk, join_revived),
        FaultKind::FailDevice => (Effect::fail_device, Effect::restore_device, join_revived),
        FaultKind::SlowDevice => (Effect::slow_device, Effect::speed_up_device, stay),
        FaultKind::ReplaceDevice => (Effect::replace_device, Effect::finish_job, stay),
        FaultKind::Scrub => (Effect::scrub, Effect::finish_job, stay),
        FaultKind::FailHost => (Effect::fail_host, Effect::restore_host, host::join),
        FaultKind::Silence => (Effect::fall_silent, Effect::undo, return_to_cluster),
        FaultKind::Reboot | FaultKind::CutPower => {
            (Effect::reboot, Effect::return_to_host, host::join)
        }
        FaultKind::Switchover => (Effect::switch_over, Effect::undo, start_old_primary),
        FaultKind::Command => (Effect::run_command, Effect::undo, stay),
    }
}

fn cut(inject: Step<'_>) -> Steps<'_> {
    (inject, Effect::undo, return_to_cluster)
}

/// A fault of the study, done to one target.
pub(super) struct Effect<'a> {
    /// The place of the fault in the schedule, from 1.
    number: u32,
    pub(super) context: FaultContext<'a>,
    kind: FaultKind,
    options: FaultOptions,
    /// Until it is healed, or the load ends.
    lasts: Duration,
    hits_coordinator: bool,
    output: PathBuf,
    pub(super) sides: Sides,
    undo: Option<Undo>,
    /// A restarting host on which dyno still has files.
    away: Option<Away>,
    /// The index of a primary that was shut down for a switchover.
    old_primary: Option<usize>,
    /// Whether healing had to start the server again.
    has_restarted: bool,
    /// What a scrub found, once it has been healed.
    pub(super) found: Option<Scrub>,
}

/// What remains to be undone when the load ends.
enum Undo {
    Repair(BrokenLinks),
    /// A paused server can neither be asked nor shut down.
    Resume,
    Hear,
    FreeDisk,
    CancelJob,
    Run(Vec<String>),
}

impl<'a> Effect<'a> {
    /// Chooses what the fault hits.
    pub(super) fn aim(
        number: u32,
        fault: &Fault,
        lasts: Duration,
        output: PathBuf,
        context: FaultContext<'a>,
    ) -> Result<Self, Failure> {
        let options = fault.action.options();
        Ok(Self {
            number,
            context,
            kind: fault.kind(),
            hits_coordinator: fault.target == FaultTarget::Coordinator,
            output,
            sides: Sides::choose(fault.kind(), &options, &context)?,
            options,
            lasts,
            undo: None,
            away: None,
            old_primary: None,
            has_restarted: false,
            found: None,
        })
    }

    /// Breaks it; returns when that took effect.
    pub(super) fn inject(&mut self) -> Result<Instant, Failure> {
        let (inject, ..) = steps(self.kind);
        inject(self)
    }

    /// Heals it; returns when it was healed.
    pub(super) fn heal(&mut self) -> Result<Instant, Failure> {
        let (_, heal, _) = steps(self.kind);
        heal(self)
    }

    /// What remains to be done once it has been healed, or once it took effect if it does not last:
    /// the node joins its cluster.
    pub(super) fn rejoin(&mut self) -> Result<(), Failure> {
        // The coordinator is no member.
        if self.hits_coordinator {
            return Ok(());
        }
        let (.., rejoin) = steps(self.kind);
        rejoin(self)
    }

    /// Ends what must not outlive the load, after the last of the others.
    pub(super) fn end(&mut self, interrupted: &AtomicBool) {
        // The trial is over, and what is left ends with its servers.
        let _ = self.undo();
        if let Some(host) = self.away.take() {
            let _ = host.return_to(false, interrupted);
        }
        self.context.instance.faults.end(self.number);
    }

    /// Undoes the effect, and returns when it is undone.
    fn undo(&mut self) -> Result<Instant, Failure> {
        let context = self.context;
        match self.undo.take() {
            None => Ok(Instant::now()),
            Some(Undo::Repair(links)) => links.heal(),
            Some(Undo::Hear) => context.node()?.be_heard(),
            Some(Undo::Resume) => context.node()?.resume(),
            Some(Undo::FreeDisk) => context.node()?.free_disk(self.options.volume),
            Some(Undo::CancelJob) => {
                context.node()?.cancel_job(self.options.volume)?;
                Ok(Instant::now())
            }
            // What was broken must not stay so because the load ends meanwhile.
            Some(Undo::Run(program)) => {
                run_program(&program, &self.output, &context, &AtomicBool::new(false))
            }
        }
    }
}

/// Servers, hosts, and roles.
impl Effect<'_> {
    fn kill(&mut self) -> Result<Instant, Failure> {
        match self.hits_coordinator {
            true => Ok(services(self.context.instance)?.kill()),
            false => self.context.node()?.kill_process(self.options.process),
        }
    }

    fn start(&mut self) -> Result<Instant, Failure> {
        match self.hits_coordinator {
            true => services(self.context.instance)?.start_again(self.context.over),
            false => self.context.start(),
        }
    }

    fn shut_down(&mut self) -> Result<Instant, Failure> {
        self.context.node()?.shut_down(self.context.over)
    }

    /// A node that was killed before is started again without it.
    fn shut_down_unless_dead(&mut self) -> Result<Instant, Failure> {
        match self.shut_down() {
            Err(error) if error.is(Fact::NotRunning) => Ok(Instant::now()),
            stopped => stopped,
        }
    }

    fn pause(&mut self) -> Result<Instant, Failure> {
        self.undo = Some(Undo::Resume);
        self.context.node()?.pause(self.options.process)
    }

    /// A server that does not resume in time is resumed again when the load ends.
    fn resume(&mut self) -> Result<Instant, Failure> {
        let at = self.context.node()?.resume()?;
        self.undo = None;
        Ok(at)
    }

    fn switch_over(&mut self) -> Result<Instant, Failure> {
        let (refuses_at, shut_down) = switch_over(&self.context)?;
        self.old_primary = shut_down;
        Ok(refuses_at)
    }

    fn run_command(&mut self) -> Result<Instant, Failure> {
        let (options, context) = (&self.options, self.context);
        if !options.heal_command.is_empty() {
            self.undo = Some(Undo::Run(options.heal_command.clone()));
        }
        run_program(&options.command, &self.output, &context, context.over)
    }
}

/// Links.
impl Effect<'_> {
    fn broke(&mut self, links: BrokenLinks) -> Instant {
        let since = links.since;
        self.undo = Some(Undo::Repair(links));
        since
    }

    fn separate(&mut self, lost: Lost) -> Result<Instant, Failure> {
        let (cluster, sides) = (self.context.cluster(), &self.sides);
        let broken = cluster.separate(&sides.cut_off, &sides.spared, lost)?;
        Ok(self.broke(broken))
    }

    fn slow_link(&mut self) -> Result<Instant, Failure> {
        let (cluster, index) = (self.context.cluster(), self.context.index()?);
        let slow = cluster.slow_down(index, &self.options.link)?;
        Ok(self.broke(slow))
    }
}

fn join(effect: &mut Effect<'_>) -> Result<(), Failure> {
    effect.context.join()
}

fn join_revived(effect: &mut Effect<'_>) -> Result<(), Failure> {
    match effect.has_restarted {
        true => join(effect),
        false => return_to_cluster(effect),
    }
}

fn return_to_cluster(effect: &mut Effect<'_>) -> Result<(), Failure> {
    effect.sides.return_to_cluster(&effect.context)
}

fn start_old_primary(effect: &mut Effect<'_>) -> Result<(), Failure> {
    let Some(index) = effect.old_primary else {
        return Ok(());
    };
    let old = effect.context.of(index, true);
    old.start()?;
    old.join()
}

/// Nothing that dyno has to undo took the node out of its cluster.
fn stay(_: &mut Effect<'_>) -> Result<(), Failure> {
    Ok(())
}

fn services(instance: &Instance) -> Result<&Services, Failure> {
    let services = instance.cluster.services.as_ref();
    services.ok_or_else(|| Failure::server("the members of this cluster share no service"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plan::FaultAction;

    use super::*;

    #[test]
    fn what_a_program_broke_is_healed_once_even_if_the_load_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let healed = dir.path().join("healed");
        let text = format!("sleep 0.1; echo once >> {}", healed.display());
        let program = |text: &str| ["sh", "-c", text].map(str::to_owned).into();
        let fault = Fault {
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
        let mut effect = Effect::aim(1, &fault, Duration::ZERO, output, context).unwrap();
        // It is interrupted, but may have begun.
        let _ = effect.inject();
        effect.heal().unwrap();
        effect.end(&AtomicBool::new(false));
        assert_eq!(fs::read_to_string(healed).unwrap(), "once\n");
    }
}
