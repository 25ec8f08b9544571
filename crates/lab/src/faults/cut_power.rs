//! Switches the guest of a node off. What the guest had not written to its disk is lost with its
//! memory, whatever its server was told.

use std::time::Instant;

use super::{Fault, Scene, nodes};
use crate::error::LabError;
use crate::instance::Instance;
use crate::site::{Power, Site};

pub(super) struct CutPower;

impl Fault for CutPower {
    fn check(&self, instance: &Instance) -> Result<(), LabError> {
        let mut members = nodes(instance)?.members().iter();
        members.try_for_each(|member| power(&*member.site).map(drop))
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError> {
        let mut node = scene.node()?;
        let server = node.name();
        let cut_at = power(&*scene.member()?.site)?.cut();
        let killed = node.kill();
        killed
            .map(|_| cut_at)
            .ok_or(LabError::NotRunning { server })
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError> {
        power(&*scene.member()?.site)?.restore(scene.over)?;
        scene.start()
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), LabError> {
        scene.join()
    }
}

fn power(site: &dyn Site) -> Result<&dyn Power, LabError> {
    site.power().ok_or_else(|| {
        LabError::Impossible("only a guest can be switched off: use site.kind = \"vm\"".to_owned())
    })
}
