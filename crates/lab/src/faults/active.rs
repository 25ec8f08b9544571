//! The faults that an instance suffers from, which explain losses.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use plan::{ActsOn, Isolation};

use crate::locked;

/// How long all users may take to notice that a node accepts connections again. They try at least
/// every 5 s.
const RECONNECT_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct ActiveFaults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    active: Vec<ActiveFault>,
    healed_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ActiveFault {
    /// Its place in the schedule.
    pub(super) fault: u32,
    pub(super) acts_on: ActsOn,
    /// How the other members see its node.
    pub(super) isolates: Isolation,
    /// The number of the node that it hit, if any.
    pub(super) node: Option<u32>,
    /// Whether its node may end because of it.
    pub(super) explains_end: bool,
    pub(super) healing: Healing,
}

/// Whether a fault that lasts will be healed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Healing {
    Never,
    Later,
    /// That has begun.
    Now,
}

impl ActiveFaults {
    /// A fault is about to hit a node.
    pub(super) fn begin(&self, fault: ActiveFault) {
        locked(&self.0).active.push(fault);
    }

    /// A fault is about to be healed.
    pub(super) fn heal(&self, fault: u32) {
        let mut state = locked(&self.0);
        let active = state.active.iter_mut();
        for hit in active.filter(|hit| hit.fault == fault) {
            hit.healing = Healing::Now;
        }
    }

    /// Whether the faults that a node suffers from will be healed: the one that is healed first decides.
    pub(super) fn healing(&self, node: u32) -> Healing {
        let healing = self.on(node).map(|hit| hit.healing).max();
        healing.unwrap_or(Healing::Now)
    }

    /// A fault has been healed, or had no effect.
    pub(super) fn end(&self, fault: u32) {
        let mut state = locked(&self.0);
        state.active.retain(|hit| hit.fault != fault);
        state.healed_at = Some(Instant::now());
    }

    /// Whether a fault explains that a load has been without a connection since `lost_at`: it still
    /// lasts, or was healed so recently that users may not be back yet.
    pub(crate) fn explains_loss(&self, lost_at: Instant) -> bool {
        let state = locked(&self.0);
        let may_be_away = |at: Instant| at > lost_at && at.elapsed() <= RECONNECT_LIMIT;
        !state.active.is_empty() || state.healed_at.is_some_and(may_be_away)
    }

    pub(crate) fn explains_end(&self, node: u32) -> bool {
        self.on(node).any(|hit| hit.explains_end)
    }

    pub(super) fn hits(&self, node: u32) -> bool {
        self.on(node).next().is_some()
    }

    pub(super) fn isolation(&self, node: u32) -> Isolation {
        let isolates = self.on(node).map(|hit| hit.isolates).max();
        isolates.unwrap_or(Isolation::Reachable)
    }

    pub(super) fn active(&self) -> Vec<ActiveFault> {
        locked(&self.0).active.clone()
    }

    fn on(&self, node: u32) -> impl Iterator<Item = ActiveFault> {
        let active = self.active().into_iter();
        active.filter(move |hit| hit.node == Some(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_explains_a_loss_as_long_as_it_lasts_and_before_it_is_healed() {
        let faults = ActiveFaults::default();
        let hit = |fault, node| ActiveFault {
            fault,
            acts_on: ActsOn::Server,
            isolates: Isolation::Reachable,
            node,
            explains_end: node == Some(2),
            healing: Healing::Later,
        };
        let lost_at = Instant::now();
        assert!(!faults.explains_loss(lost_at), "nothing was broken");
        faults.begin(hit(1, Some(2)));
        faults.begin(hit(2, None));
        assert!(faults.hits(2) && !faults.hits(1));
        faults.begin(hit(3, Some(3)));
        assert!(faults.explains_end(2) && !faults.explains_end(3));
        faults.end(3);
        faults.end(1);
        assert!(!faults.hits(2) && faults.explains_loss(Instant::now()));
        faults.end(2);
        assert!(faults.explains_loss(lost_at));
        assert!(!faults.explains_loss(Instant::now()));
    }
}
