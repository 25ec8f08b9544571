//! Which members a partition cuts off.

use plan::{FaultOptions, LostSide};

use super::context::FaultContext;
use super::target;
use crate::failure::Failure;

/// The sides of a partition, by the indexes of members and sites.
#[derive(Default)]
pub(super) struct Sides {
    /// The members of the side that is lost, or of the target's.
    pub(super) cut_off: Vec<usize>,
    /// The sites that both sides reach.
    pub(super) spared: Vec<usize>,
    /// The members that may be lost.
    pub(super) lost: Vec<usize>,
    /// The primary before.
    primary: usize,
}

impl Sides {
    /// The lost side is also cut off from shared services such as the coordinator.
    pub(super) fn choose(
        options: &FaultOptions,
        context: &FaultContext<'_>,
    ) -> Result<Self, Failure> {
        let cluster = context.cluster();
        let (side, bridge) = named(options, context)?;
        let members = cluster.members().len();
        let rest = |index: &usize| !side.contains(index) && bridge != Some(*index);
        let rest: Vec<usize> = (0..members).filter(rest).collect();
        let count = |all: usize| u32::try_from(all).unwrap_or(u32::MAX);
        let bridges = u32::from(bridge.is_some());
        let mut spared: Vec<_> = bridge.into_iter().collect();
        let lost = LostSide::of(count(members), count(side.len()), bridges);
        let (cut_off, lost) = match lost {
            LostSide::Target => (side.clone(), side),
            LostSide::Rest => (rest.clone(), rest),
            LostSide::Neither => {
                spared.extend(members..cluster.sites().len());
                (side, Vec::new())
            }
        };
        Ok(Self {
            cut_off,
            spared,
            lost,
            primary: cluster.primary_index(),
        })
    }

    pub(super) fn return_to_cluster(&self, context: &FaultContext<'_>) -> Result<(), Failure> {
        let returned = self.cut_off.iter().map(|index| {
            let cut_off = context.of(*index, *index == self.primary);
            cut_off.return_to_cluster()
        });
        returned.collect::<Vec<_>>().into_iter().collect()
    }
}

/// The members on the target's side, and the bridge.
fn named(
    options: &FaultOptions,
    context: &FaultContext<'_>,
) -> Result<(Vec<usize>, Option<usize>), Failure> {
    let cluster = context.cluster();
    let mut side = vec![context.index()?];
    for with in &options.with {
        let index = target::find(*with, cluster, |_| false, &side)?;
        if !side.contains(&index) {
            side.push(index);
        }
    }
    let find = |bridge| target::find(bridge, cluster, |_| false, &side);
    let bridge = options.bridge.map(find).transpose()?;
    match bridge.filter(|bridge| side.contains(bridge)) {
        Some(index) => {
            let number = cluster.members().get(index).map_or(0, |one| one.number);
            let message = format!("server {number} is on one side now, and cannot be the bridge");
            Err(Failure::server(message))
        }
        None => Ok((side, bridge)),
    }
}
