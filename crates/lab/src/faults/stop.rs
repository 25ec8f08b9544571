//! Shuts a node down, as an administrator does; a restart starts it again at once.

use std::time::Instant;

use plan::FaultKind;

use super::{Fault, Scene, nodes};
use crate::error::LabError;
use crate::instance::Instance;

pub(super) struct Stop {
    /// Whether the node may have been killed before.
    may_be_dead: bool,
}

impl Stop {
    pub(super) fn new(kind: FaultKind) -> Self {
        Self {
            may_be_dead: kind == FaultKind::Restart,
        }
    }
}

impl Fault for Stop {
    fn check(&self, instance: &Instance) -> Result<(), LabError> {
        nodes(instance).map(drop)
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError> {
        let mut node = scene.node()?;
        match node.shut_down(scene.over) {
            Err(LabError::NotRunning { .. }) if self.may_be_dead => Ok(Instant::now()),
            stopped => stopped,
        }
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError> {
        scene.start()
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), LabError> {
        scene.join()
    }
}
