//! Work on a volume while its server runs: a device is rebuilt on a new one, or all of them are
//! scrubbed. It takes effect when it begins, and is healed when it is done.

use std::time::Instant;

use measure::fault::Scrub;
use plan::FaultVolume;

use super::{Fault, Scene, each_volume, made};
use crate::failure::Failure;
use crate::instance::Instance;
use crate::volume::Job;

pub(super) struct VolumeJob {
    volume: FaultVolume,
    /// The device that is replaced; `None`: all are scrubbed.
    device: Option<u32>,
    job: Option<Job>,
    found: Option<Scrub>,
}

impl VolumeJob {
    pub(super) fn new(fault: &plan::Fault) -> Self {
        Self {
            volume: fault.volume,
            device: fault.device,
            job: None,
            found: None,
        }
    }
}

impl Fault for VolumeJob {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        each_volume(instance, self.volume, |made| match self.device {
            Some(device) => made.numbers(device).map(drop),
            None => Ok(()),
        })
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let volume = scene.volume(self.volume)?;
        let made = made(&*volume)?;
        let job = match self.device {
            Some(device) => made.replace(device)?,
            None => made.scrub()?,
        };
        let began_at = Instant::now();
        let job = self.job.insert(job);
        if let Some(device) = job.new_device()
            && !made.limits().is_none()
        {
            scene.member()?.site.limit_io(&[device?], made.limits())?;
        }
        Ok(began_at)
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let volume = scene.volume(self.volume)?;
        if let Some(job) = &mut self.job {
            self.found = made(&*volume)?.finish(job, scene.over)?;
        }
        self.job = None;
        Ok(Instant::now())
    }

    fn found(&self) -> Option<Scrub> {
        self.found
    }

    fn end(&mut self, scene: &Scene<'_>) {
        if let (Some(job), Ok(volume)) = (self.job.take(), scene.volume(self.volume))
            && let Ok(made) = made(&*volume)
        {
            made.cancel(job);
        }
    }
}
