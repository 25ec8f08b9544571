//! Faults that are done in steps: a rolling restart.

use std::time::Instant;

use plan::{Fault, FaultTarget};

use super::effect::Effect;
use super::injection::Injection;
use crate::Cluster;

impl<'a> Injection<'a> {
    /// Injects the fault, step by step if it has several; returns those that took effect.
    pub(super) fn run_steps(self) -> Vec<Effect<'a>> {
        match self.fault.target {
            FaultTarget::All => self.restart_all(&self.instance.cluster),
            _ => self.run().into_iter().collect(),
        }
    }

    fn restart_all(&self, cluster: &Cluster) -> Vec<Effect<'a>> {
        let mut waiting: Vec<usize> = (0..cluster.members().len()).collect();
        let (mut injected, mut ready) = (Vec::new(), Ok(()));
        for number in 1.. {
            let Some(fault) = self.next(cluster, &mut waiting) else {
                break;
            };
            let step = self.step(number, fault);
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

    fn step(&self, number: u32, fault: Fault) -> Self {
        Self {
            step: number,
            fault,
            at: self.schedule.measured(Instant::now()).unwrap_or(self.at),
            ..*self
        }
    }

    /// What is done next; `None` if no member is waiting.
    fn next(&self, cluster: &Cluster, waiting: &mut Vec<usize>) -> Option<Fault> {
        let is_replica = |index: &usize| *index != cluster.primary_index();
        let index = match waiting.iter().position(is_replica) {
            Some(replica) => waiting.remove(replica),
            None if waiting.is_empty() => return None,
            None if cluster.members().len() > 1 => return Some(self.fault.switchover()),
            None => waiting.remove(0),
        };
        let member = cluster.members().get(index)?;
        Some(self.fault.of_server(member.number))
    }
}
