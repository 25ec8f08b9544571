//! Faults of the host that a node runs on, with all members of its cluster there.

use std::time::{Duration, Instant};

use plan::FaultProcess;

use super::{Effect, Undo};
use crate::Failure;
use crate::faults::context::FaultContext;
use crate::faults::links::Lost;

/// By how much the kernel of a silent host waits longer than dyno until it ends that.
const GRACE: Duration = Duration::from_secs(5);

impl<'a> Effect<'a> {
    /// On this host, only the links of the node.
    pub(super) fn fail_host(&mut self) -> Result<Instant, Failure> {
        let silent_at = match self.sides.is_host {
            true => self.fall_silent()?,
            false => self.separate(Lost::All)?,
        };
        let killed = self
            .hit()
            .map(|member| member.node()?.kill_process(FaultProcess::Both));
        let killed: Vec<Instant> = killed.collect::<Result<_, _>>()?;
        Ok(killed.into_iter().fold(silent_at, Instant::max))
    }

    pub(super) fn restore_host(&mut self) -> Result<Instant, Failure> {
        let heard_at = self.undo()?;
        let started = self.hit().map(|member| member.start());
        let started: Vec<Instant> = started.collect::<Result<_, _>>()?;
        Ok(started.into_iter().fold(heard_at, Instant::max))
    }

    pub(super) fn reboot(&mut self) -> Result<Instant, Failure> {
        let (away, since) = self.context.node()?.reboot()?;
        self.away = Some(away);
        Ok(since)
    }

    /// Whether the host has restarted, and dyno has not connected to it again.
    pub(in crate::faults) fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// Starts the servers once the host is back.
    pub(super) fn return_to_host(&mut self) -> Result<Instant, Failure> {
        if let Some(host) = self.away.take() {
            let returned = host.return_to(true, self.context.over);
            // A host that has not returned in time is not waited for again.
            if returned.as_ref().is_err_and(Failure::is_interrupted) {
                self.away = Some(host);
            }
            returned?;
        }
        self.hit()
            .try_for_each(|member| member.node()?.taken_over())?;
        self.restore_host()
    }

    pub(super) fn fall_silent(&mut self) -> Result<Instant, Failure> {
        let limit = self.lasts + GRACE;
        let silent_at = self.context.node()?.fall_silent(limit)?;
        self.undo = Some(Undo::Hear);
        Ok(silent_at)
    }

    /// The members that the fault has ended.
    pub(super) fn hit(&self) -> impl Iterator<Item = FaultContext<'a>> + use<'a> {
        let (context, primary) = (self.context, self.sides.primary);
        let hit = match self.sides.is_host {
            true => self.sides.lost.clone(),
            false => context.index.into_iter().collect(),
        };
        hit.into_iter()
            .map(move |index| context.of(index, index == primary))
    }
}

pub(super) fn join(effect: &mut Effect<'_>) -> Result<(), Failure> {
    effect.hit().try_for_each(|member| member.join())
}
