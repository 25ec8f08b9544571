//! Limits, delays, or loses what a member sends to the others.

use std::time::Instant;

use super::{Fault, Scene, links};
use crate::broken_links::BrokenLinks;
use crate::failure::Failure;
use crate::instance::Instance;
use crate::site;

pub(super) struct SlowLink {
    how: site::SlowLink,
    broken: Option<BrokenLinks>,
}

impl SlowLink {
    pub(super) fn new(fault: &plan::Fault) -> Self {
        Self {
            how: site::SlowLink {
                bytes_per_s: fault.bytes_per_s,
                delay: fault.delay,
                loss: fault.loss,
            },
            broken: None,
        }
    }
}

impl Fault for SlowLink {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        links::check(instance)
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let broken = scene.cluster()?.slow_down(scene.index()?, &self.how)?;
        Ok(self.broken.insert(broken).since)
    }

    fn heal(&mut self, _: &Scene<'_>) -> Result<Instant, Failure> {
        links::repair(&mut self.broken)
    }

    fn end(&mut self, _: &Scene<'_>) {
        // The links end with their sites.
        let _ = links::repair(&mut self.broken);
    }
}
