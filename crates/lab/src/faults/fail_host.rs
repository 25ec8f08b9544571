//! The host of a node fails: nothing that its server sent arrives any more, and its processes are
//! gone, so clients and other members hear nothing, not even that their connections ended.

use std::time::Instant;

use plan::FaultProcess;

use super::{Fault, Scene, links};
use crate::broken_links::{BrokenLinks, Lost};
use crate::failure::{Failure, not_running};
use crate::instance::Instance;

#[derive(Default)]
pub(super) struct FailHost {
    broken: Option<BrokenLinks>,
}

impl Fault for FailHost {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        links::exist(super::nodes(instance)?.members())
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let mut node = scene.node()?;
        let server = node.name();
        self.broken = Some(scene.cluster()?.cut_off(scene.index()?, Lost::All)?);
        let killed = node.kill_process(FaultProcess::Both);
        killed.ok_or_else(|| not_running(&server))
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        links::repair(&mut self.broken)?;
        scene.start()
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        scene.join()
    }

    fn end(&mut self, _: &Scene<'_>) {
        // The links end with their sites.
        let _ = links::repair(&mut self.broken);
    }
}
