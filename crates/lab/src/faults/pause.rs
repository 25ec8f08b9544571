//! Suspends all processes of a node, which looks to others like a host that hangs.

use std::time::Instant;

use plan::FaultProcess;

use super::{Fault, Scene, nodes};
use crate::error::LabError;
use crate::instance::Instance;

pub(super) struct Pause {
    pub(super) process: FaultProcess,
}

impl Fault for Pause {
    fn check(&self, instance: &Instance) -> Result<(), LabError> {
        nodes(instance).map(drop)
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError> {
        scene.node()?.pause(self.process)
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError> {
        scene.node()?.resume()
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), LabError> {
        scene.return_to_cluster()
    }

    /// A paused server can neither be asked nor shut down.
    fn end(&mut self, scene: &Scene<'_>) {
        if let Ok(mut node) = scene.node() {
            // It may have been killed meanwhile.
            let _ = node.resume();
        }
    }
}
