//! Promotes a replica in place of a lost primary, where members elect none.

use std::cmp::Reverse;
use std::time::Duration;

use measure::fault::{FaultRecord, Promotion};

use super::injection::Injection;
use super::operator::{follow, promote};
use crate::{Cluster, Failure};

impl Injection<'_> {
    /// How long after the effect dyno promotes a replica in place of the primary; `None`: never, or
    /// the primary is not lost, or its cluster elects another one.
    pub(super) fn failover(&self, hit: &[usize]) -> Option<Duration> {
        let cluster = &self.instance.cluster;
        let was_primary = hit.contains(&cluster.primary_index());
        let is_lost = was_primary && !cluster.elects() && self.rules().loses_primary;
        let topology = &self.schedule.trial.planned.topology;
        topology.cluster.as_ref()?.failover.filter(|_| is_lost)
    }

    /// Makes a replica the primary, and reports how far that is; the others follow it.
    pub(super) fn fail_over(&self, hit: &[usize], record: &mut FaultRecord) -> Result<(), Failure> {
        let cluster = &self.instance.cluster;
        let _roles = cluster.lock_roles();
        // Another member may have become the primary meanwhile, which is not lost.
        if !hit.contains(&cluster.primary_index()) {
            return Ok(());
        }
        let lost = cluster.primary().number;
        let is_away = |node| node == lost || self.instance.faults.hits(node);
        let mut promotion = Promotion {
            node: None,
            asked_s: self.schedule.clock.now_s(),
            done_s: None,
            error: None,
        };
        let promoted = successor(cluster, is_away).and_then(|successor| {
            promotion.node = Some(cluster.members()[successor].number);
            record.promotion = Some(promotion.clone());
            self.report(record, Ok(()), false);
            promote(cluster, successor)
        });
        match &promoted {
            Ok(()) => promotion.done_s = Some(self.schedule.clock.now_s()),
            Err(error) => promotion.error = Some(error.to_string()),
        }
        record.promotion = Some(promotion);
        if promoted.is_err() {
            return Ok(());
        }
        self.report(record, Ok(()), false);
        follow(cluster, is_away)
    }
}

/// The index of the member that has most of what the primary wrote. Members for which `is_away`
/// holds, by their numbers, are not asked.
fn successor(cluster: &Cluster, is_away: impl Fn(u32) -> bool) -> Result<usize, Failure> {
    let lost = cluster.primary_index();
    let members = cluster.members().iter().enumerate();
    let rest = members.filter(|(index, member)| *index != lost && !is_away(member.number));
    let received = rest.filter_map(|(index, member)| {
        let received = member.lock().ok()?.received().ok()?;
        Some((received, Reverse(index)))
    });
    let Some((_, Reverse(successor))) = received.max() else {
        let message = "no replica is left that could become the primary";
        return Err(Failure::server(message));
    };
    Ok(successor)
}
