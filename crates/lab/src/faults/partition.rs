//! Cuts a member off from the others, in both directions or in one, or from its clients.

use std::time::Instant;

use plan::FaultKind;

use super::{Fault, Scene, links, nodes};
use crate::broken_links::{BrokenLinks, Lost};
use crate::error::LabError;
use crate::instance::Instance;

pub(super) struct Partition {
    lost: Lost,
    broken: Option<BrokenLinks>,
}

impl Partition {
    pub(super) fn new(kind: FaultKind) -> Self {
        Self {
            lost: match kind {
                FaultKind::Drop => Lost::Sent,
                FaultKind::CutClients => Lost::ToClients,
                _ => Lost::Both,
            },
            broken: None,
        }
    }
}

impl Fault for Partition {
    fn check(&self, instance: &Instance) -> Result<(), LabError> {
        match self.lost {
            Lost::ToClients => links::exist(nodes(instance)?.members()),
            _ => links::check(instance),
        }
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, LabError> {
        let broken = scene.cluster()?.cut_off(scene.index()?, self.lost)?;
        Ok(self.broken.insert(broken).since)
    }

    fn heal(&mut self, _: &Scene<'_>) -> Result<Instant, LabError> {
        links::repair(&mut self.broken)
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), LabError> {
        scene.return_to_cluster()
    }

    fn end(&mut self, _: &Scene<'_>) {
        // The links end with their sites.
        let _ = links::repair(&mut self.broken);
    }
}
