//! Shuts a node down, as an administrator does; a restart starts it again at once.

use std::time::Instant;

use plan::FaultKind;

use super::{Fault, Scene, nodes};
use crate::failure::{Fact, Failure};
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
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        nodes(instance).map(drop)
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let mut node = scene.node()?;
        match node.shut_down(scene.over) {
            Err(error) if self.may_be_dead && error.is(Fact::NotRunning) => Ok(Instant::now()),
            stopped => stopped,
        }
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        scene.start()
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        scene.join()
    }
}
