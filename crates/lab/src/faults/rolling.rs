//! Restarts the members of a cluster in turn, as an administrator does for an upgrade: replicas first,
//! then one of them takes over, and the old primary is the last. Each is back before the next.

use std::time::Instant;

use plan::{Fault, FaultAction, FaultTarget};

use super::injection::{Injected, Injection};
use crate::setup::cluster::Cluster;

impl<'a> Injection<'a> {
    /// Injects the fault, step by step if it has several; returns those that took effect.
    pub(super) fn run_steps(self) -> Vec<Injected<'a>> {
        match self.fault.target {
            FaultTarget::All => self.restart_all(&self.instance.cluster),
            _ => self.run().into_iter().collect(),
        }
    }

    fn restart_all(&self, cluster: &Cluster) -> Vec<Injected<'a>> {
        let mut waiting: Vec<usize> = (0..cluster.members().len()).collect();
        let (mut injected, mut ready) = (Vec::new(), Ok(()));
        for number in 1.. {
            let Some((action, target)) = next(cluster, &mut waiting) else {
                break;
            };
            let step = self.step(number, action, target);
            if let Err(error) = &ready {
                step.omit(&format!("the server before it did not return: {error}"));
                break;
            }
            // One that did not take effect has said why.
            let Some(done) = step.run() else { break };
            ready = done.context.wait_until_it_replicates();
            injected.push(done);
        }
        injected
    }

    fn step(&self, number: u32, action: FaultAction, target: FaultTarget) -> Self {
        Self {
            step: number,
            fault: Fault {
                action,
                target,
                ..self.fault
            },
            at: self.schedule.measured(Instant::now()).unwrap_or(self.at),
            sender: self.sender.clone(),
            ..*self
        }
    }
}

/// What is done next; `None` if no member is waiting.
fn next(cluster: &Cluster, waiting: &mut Vec<usize>) -> Option<(FaultAction, FaultTarget)> {
    let is_replica = |index: &usize| *index != cluster.primary_index();
    let index = match waiting.iter().position(is_replica) {
        Some(replica) => waiting.remove(replica),
        None if waiting.is_empty() => return None,
        None if cluster.members().len() > 1 => {
            return Some((FaultAction::Switchover, FaultTarget::Replica));
        }
        None => waiting.remove(0),
    };
    let member = cluster.members().get(index)?;
    Some((FaultAction::Restart, FaultTarget::Server(member.number)))
}
