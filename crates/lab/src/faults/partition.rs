//! Network partitions: between members, in one direction or both, or between members and clients.

use std::time::Instant;

use plan::{FaultKind, FaultTarget, LostSide};

use super::{Fault, Scene, links, nodes, target};
use crate::broken_links::{BrokenLinks, Lost};
use crate::failure::Failure;
use crate::instance::Instance;

pub(super) struct Partition {
    lost: Lost,
    with: Vec<FaultTarget>,
    bridge: Option<FaultTarget>,
    /// The indexes of the members of one side, and of the sites that both sides reach.
    side: Vec<usize>,
    spared: Vec<usize>,
    /// The index of the primary before.
    primary: usize,
    broken: Option<BrokenLinks>,
}

impl Partition {
    pub(super) fn new(fault: &plan::Fault) -> Self {
        Self {
            lost: match fault.kind {
                FaultKind::Drop => Lost::Sent,
                FaultKind::CutClients => Lost::ToClients,
                _ => Lost::Both,
            },
            with: fault.with.clone(),
            bridge: fault.bridge,
            side: Vec::new(),
            spared: Vec::new(),
            primary: 0,
            broken: None,
        }
    }

    /// The members on the target's side, and the bridge.
    fn sides(&self, scene: &Scene<'_>) -> Result<(Vec<usize>, Option<usize>), Failure> {
        let cluster = scene.cluster()?;
        let mut side = vec![scene.index()?];
        for with in &self.with {
            let index = target::find(*with, cluster, |_| false, &side)?;
            if !side.contains(&index) {
                side.push(index);
            }
        }
        let find = |bridge| target::find(bridge, cluster, |_| false, &side);
        let bridge = self.bridge.map(find).transpose()?;
        match bridge.filter(|bridge| side.contains(bridge)) {
            Some(index) => {
                let number = cluster.members().get(index).map_or(0, |one| one.number);
                let message =
                    format!("server {number} is on one side now, and cannot be the bridge");
                Err(Failure::server(message))
            }
            None => Ok((side, bridge)),
        }
    }
}

impl Fault for Partition {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        match self.lost {
            Lost::ToClients => links::exist(nodes(instance)?.members()),
            _ => links::check(instance),
        }
    }

    /// The lost side is also cut off from shared services such as the coordinator.
    fn aim(&mut self, scene: &Scene<'_>) -> Result<Vec<usize>, Failure> {
        let cluster = scene.cluster()?;
        let (side, bridge) = self.sides(scene)?;
        let members = cluster.members().len();
        let rest = |index: &usize| !side.contains(index) && bridge != Some(*index);
        let rest: Vec<usize> = (0..members).filter(rest).collect();
        let count = |all: usize| u32::try_from(all).unwrap_or(u32::MAX);
        let bridges = u32::from(bridge.is_some());
        self.primary = cluster.primary_index();
        let lost = LostSide::of(count(members), count(side.len()), bridges);
        self.spared = bridge.into_iter().collect();
        if lost == LostSide::Neither {
            self.spared.extend(members..cluster.sites().len());
        }
        self.side = if lost == LostSide::Rest { rest } else { side };
        Ok(match lost {
            LostSide::Neither => Vec::new(),
            _ => self.side.clone(),
        })
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let broken = scene
            .cluster()?
            .separate(&self.side, &self.spared, self.lost)?;
        Ok(self.broken.insert(broken).since)
    }

    fn heal(&mut self, _: &Scene<'_>) -> Result<Instant, Failure> {
        links::repair(&mut self.broken)
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        let returned = self.side.iter().map(|index| {
            let cut_off = Scene {
                was_primary: *index == self.primary,
                ..scene.of(*index)
            };
            cut_off.return_to_cluster()
        });
        returned.collect::<Vec<_>>().into_iter().collect()
    }

    fn end(&mut self, _: &Scene<'_>) {
        // The links end with their sites.
        let _ = links::repair(&mut self.broken);
    }
}
