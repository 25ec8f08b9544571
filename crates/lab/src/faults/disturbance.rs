//! What a study has done to an instance, which explains losses.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long all users may take to notice that a node accepts connections again. They try at least
/// every 5 s.
const RECONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The faults that an instance suffers from.
#[derive(Debug, Default)]
pub(crate) struct Disturbance(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Faults by their numbers, each with the number of the node that it hit, if any.
    active: Vec<(u32, Option<u32>)>,
    /// When the last one was put right.
    healed_at: Option<Instant>,
}

impl Disturbance {
    /// A fault is about to hit a node.
    pub(super) fn begin(&self, fault: u32, node: Option<u32>) {
        self.lock().active.push((fault, node));
    }

    /// A fault has been put right, or had no effect.
    pub(super) fn end(&self, fault: u32) {
        let mut state = self.lock();
        state.active.retain(|(number, _)| *number != fault);
        state.healed_at = Some(Instant::now());
    }

    /// Whether a fault explains that a load has been without a connection since `lost_at`: it still
    /// lasts, or was put right so recently that users may not be back yet.
    pub(crate) fn explains_loss(&self, lost_at: Instant) -> bool {
        let state = self.lock();
        let may_be_away = |at: Instant| at > lost_at && at.elapsed() <= RECONNECT_LIMIT;
        !state.active.is_empty() || state.healed_at.is_some_and(may_be_away)
    }

    /// Whether a node suffers from a fault.
    pub(crate) fn hits(&self, node: u32) -> bool {
        let state = self.lock();
        state.active.iter().any(|(_, hit)| *hit == Some(node))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_explains_a_loss_as_long_as_it_lasts_and_before_it_is_healed() {
        let disturbance = Disturbance::default();
        let lost_at = Instant::now();
        assert!(!disturbance.explains_loss(lost_at), "nothing was broken");
        disturbance.begin(1, Some(2));
        disturbance.begin(2, None);
        assert!(disturbance.hits(2) && !disturbance.hits(1));
        disturbance.end(1);
        assert!(!disturbance.hits(2) && disturbance.explains_loss(Instant::now()));
        disturbance.end(2);
        assert!(disturbance.explains_loss(lost_at));
        assert!(!disturbance.explains_loss(Instant::now()));
    }
}
