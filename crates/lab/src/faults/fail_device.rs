//! Fails a device of a volume. It returns with what it had, so what was written meanwhile is missing
//! there until it is read, scrubbed, or replaced.

use std::time::Instant;

use plan::FaultVolume;

use super::{Fault, Scene, each_volume, made};
use crate::failure::Failure;
use crate::instance::Instance;

pub(super) struct FailDevice {
    volume: FaultVolume,
    device: u32,
    /// Whether the server had to be started again.
    has_restarted: bool,
}

impl FailDevice {
    pub(super) fn new(fault: &plan::Fault) -> Self {
        Self {
            volume: fault.volume,
            device: fault.device.unwrap_or(1),
            has_restarted: false,
        }
    }
}

impl Fault for FailDevice {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        each_volume(instance, self.volume, |made| {
            made.numbers(self.device).map(drop)
        })
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        made(&*scene.volume(self.volume)?)?.fail(self.device)
    }

    /// A server that lost data may have ended, and is started again.
    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let restored_at = made(&*scene.volume(self.volume)?)?.restore(self.device)?;
        let (at, has_restarted) = scene.revive(restored_at)?;
        self.has_restarted = has_restarted;
        Ok(at)
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        scene.join_revived(self.has_restarted)
    }
}
