//! Kills a node as `kill -9` does.

use std::time::Instant;

use plan::FaultProcess;

use super::{Fault, Scene, nodes};
use crate::failure::{Failure, not_running};
use crate::instance::Instance;

pub(super) struct Kill {
    pub(super) process: FaultProcess,
}

impl Fault for Kill {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        nodes(instance).map(drop)
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let mut node = scene.node()?;
        let server = node.name();
        node.kill_process(self.process)
            .ok_or_else(|| not_running(&server))
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        scene.start()
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        scene.join()
    }
}
