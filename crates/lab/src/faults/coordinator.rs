//! Kills the service through which the members of a cluster choose their primary.

use std::time::Instant;

use super::{Fault, Scene, nodes};
use crate::failure::Failure;
use crate::instance::Instance;
use crate::servers::Services;

pub(super) struct KillCoordinator;

impl Fault for KillCoordinator {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        services(instance).map(drop)
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        Ok(services(scene.instance)?.kill())
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        services(scene.instance)?.start_again(scene.over)
    }
}

fn services(instance: &Instance) -> Result<&Services, Failure> {
    let services = nodes(instance)?.services();
    services.ok_or_else(|| Failure::server("the members of this cluster share no service"))
}
