//! Switches the guest of a node off. What the guest had not written to its disk is lost with its
//! memory, whatever its server was told.

use std::time::Instant;

use super::{Fault, Scene, nodes};
use crate::failure::{Failure, not_running};
use crate::instance::Instance;
use crate::site::{Power, Site};

pub(super) struct CutPower;

impl Fault for CutPower {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        let mut members = nodes(instance)?.members().iter();
        members.try_for_each(|member| power(&*member.site).map(drop))
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let mut node = scene.node()?;
        let server = node.name();
        let cut_at = power(&*scene.member()?.site)?.cut();
        let killed = node.kill();
        killed.map(|_| cut_at).ok_or_else(|| not_running(&server))
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        power(&*scene.member()?.site)?.restore(scene.over)?;
        scene.start()
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        scene.join()
    }
}

fn power(site: &dyn Site) -> Result<&dyn Power, Failure> {
    site.power()
        .ok_or_else(|| Failure::server("only a guest can be switched off: use site.kind = \"vm\""))
}
