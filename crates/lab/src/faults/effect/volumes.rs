//! Faults of the volumes of a node and their devices.

use std::thread::sleep;
use std::time::Instant;

use plan::DiskLimits;

use super::{Effect, Undo};
use crate::Failure;
use crate::failure::unless_canceled;
use crate::process::POLL_INTERVAL;

impl Effect<'_> {
    pub(super) fn fill_disk(&mut self) -> Result<Instant, Failure> {
        let (volume, over) = (self.options.volume, self.context.over);
        let full_at = self.context.node()?.fill_disk(volume, over)?;
        self.undo = Some(Undo::FreeDisk);
        Ok(full_at)
    }

    pub(super) fn free_disk(&mut self) -> Result<Instant, Failure> {
        let removed_at = self.undo()?;
        self.revive(removed_at)
    }

    pub(super) fn fail_device(&mut self) -> Result<Instant, Failure> {
        let device = self.device();
        let mut node = self.context.node()?;
        node.fail_device(self.options.volume, device)
    }

    pub(super) fn restore_device(&mut self) -> Result<Instant, Failure> {
        let (volume, device) = (self.options.volume, self.device());
        let restored_at = self.context.node()?.restore_device(volume, device)?;
        self.revive(restored_at)
    }

    /// A server that could not read or write may have ended, and is started again.
    fn revive(&mut self, since: Instant) -> Result<Instant, Failure> {
        self.has_restarted = self.context.node()?.revive()?;
        match self.has_restarted {
            true => self.context.start(),
            false => Ok(since),
        }
    }

    pub(super) fn slow_device(&mut self) -> Result<Instant, Failure> {
        self.limit_device(self.options.limits)
    }

    pub(super) fn speed_up_device(&mut self) -> Result<Instant, Failure> {
        self.limit_device(DiskLimits::default())
    }

    fn limit_device(&self, limits: DiskLimits) -> Result<Instant, Failure> {
        let mut node = self.context.node()?;
        node.limit_device(self.options.volume, self.device(), limits)
    }

    pub(super) fn replace_device(&mut self) -> Result<Instant, Failure> {
        self.begin_job(Some(self.device()))
    }

    pub(super) fn scrub(&mut self) -> Result<Instant, Failure> {
        self.begin_job(None)
    }

    fn begin_job(&mut self, replaced: Option<u32>) -> Result<Instant, Failure> {
        let volume = self.options.volume;
        let began_at = self.context.node()?.begin_job(volume, replaced)?;
        self.undo = Some(Undo::CancelJob);
        Ok(began_at)
    }

    pub(super) fn finish_job(&mut self) -> Result<Instant, Failure> {
        let volume = self.options.volume;
        while self.undo.is_some() {
            let (is_done, found) = self.context.node()?.try_finish_job(volume)?;
            if is_done {
                self.found = found;
                self.undo = None;
                break;
            }
            unless_canceled(self.context.over)?;
            sleep(POLL_INTERVAL);
        }
        Ok(Instant::now())
    }

    /// The first device unless the study names one.
    fn device(&self) -> u32 {
        self.options.device.unwrap_or(1)
    }
}
