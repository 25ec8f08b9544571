//! Kills a node as `kill -9` does.

use std::time::Instant;

use plan::FaultProcess;

use super::{Fault, Scene, nodes};
use crate::error::LabError;
use crate::instance::Instance;

pub(super) struct Kill {
    pub(super) process: FaultProcess,
}

impl Fault for Kill {
    fn check(&self, instance: &Instance) -> Result<(), LabError> {
        nodes(instance).map(drop)
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError> {
        let mut node = scene.node()?;
        let server = node.name();
        node.kill_process(self.process)
            .ok_or(LabError::NotRunning { server })
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError> {
        scene.start()
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), LabError> {
        scene.join()
    }
}
