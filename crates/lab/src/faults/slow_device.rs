//! Limits how much a device of a volume does for a server.

use std::time::Instant;

use plan::{DiskLimits, FaultVolume};

use super::{Fault, Scene, each_volume, made};
use crate::failure::Failure;
use crate::instance::Instance;

pub(super) struct SlowDevice {
    volume: FaultVolume,
    device: u32,
    limits: DiskLimits,
}

impl SlowDevice {
    pub(super) fn new(fault: &plan::Fault) -> Self {
        Self {
            volume: fault.volume,
            device: fault.device.unwrap_or(1),
            limits: fault.limits,
        }
    }
}

impl Fault for SlowDevice {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        each_volume(instance, self.volume, |made| {
            made.numbers(self.device).map(drop)
        })
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let volume = scene.volume(self.volume)?;
        let made = made(&*volume)?;
        let limits = self.limits.or(made.limits());
        let device = made.numbers(self.device)?;
        scene.member()?.site.limit_io(&[device], &limits)?;
        Ok(Instant::now())
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let volume = scene.volume(self.volume)?;
        let made = made(&*volume)?;
        let device = made.numbers(self.device)?;
        scene.member()?.site.limit_io(&[device], made.limits())?;
        Ok(Instant::now())
    }
}
