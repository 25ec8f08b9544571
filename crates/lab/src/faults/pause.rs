//! Suspends all processes of a node, which looks to others like a host that hangs.

use std::time::Instant;

use plan::FaultProcess;

use super::{Fault, Scene, nodes};
use crate::failure::Failure;
use crate::instance::Instance;

pub(super) struct Pause {
    pub(super) process: FaultProcess,
}

impl Fault for Pause {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        nodes(instance).map(drop)
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        scene.node()?.pause(self.process)
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        scene.node()?.resume()
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
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
