//! How many servers a load needs, and what sharing a server saves.
//!
//! servers = ceil(need / (what one gives x efficiency)), as in SanDisk's white paper on
//! scaling up, then out, with MySQL (2012), for every number of instances on a server that
//! was measured. Efficiency stands for what is lost when many servers share the work, and
//! for the headroom that nobody plans away.

use serde::{Deserialize, Serialize};

/// What one server gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// Instances on the server, at least 1.
    pub instances: u32,
    /// All of them together, in transactions per second.
    pub per_s: f64,
}

/// What is needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Need {
    /// Transactions per second.
    pub per_s: f64,
    /// Share of its measured throughput (above 0, up to 1) that is asked of a server.
    pub efficiency: f64,
    /// Price of one server, in any currency.
    pub price: Option<f64>,
}

/// Servers with so many instances each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Instances on each server.
    pub instances: u32,
    /// What one server gives, in transactions per second.
    pub per_s: f64,
    /// Servers that are needed.
    pub servers: u64,
    /// Share of the servers, and so of their cost, that is saved against one instance on
    /// each (0 to 1; below 0 when it takes more); `None` when that was not measured.
    pub saved: Option<f64>,
    /// Price of them all, in the currency of the need.
    pub price: Option<f64>,
}

/// Why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoPlan {
    /// No load.
    #[error("the need must be above 0 transactions/s, not {0}")]
    Need(f64),
    /// No share.
    #[error("the efficiency must be above 0 and at most 1, not {0}")]
    Efficiency(f64),
    /// Nothing that could do it.
    #[error("no trial with throughput was measured")]
    Nothing,
}

/// The plan for every number of instances, in the order given; one that gave nothing is
/// left out.
///
/// # Errors
/// When need or efficiency make no sense, or nothing was measured.
pub fn plan(measured: &[Capacity], need: &Need) -> Result<Vec<Choice>, NoPlan> {
    if !(need.per_s.is_finite() && need.per_s > 0.0) {
        return Err(NoPlan::Need(need.per_s));
    }
    if !(need.efficiency > 0.0 && need.efficiency <= 1.0) {
        return Err(NoPlan::Efficiency(need.efficiency));
    }
    let servers = |of: &Capacity| (need.per_s / (of.per_s * need.efficiency)).ceil() as u64;
    let alone = measured
        .iter()
        .find(|of| of.instances == 1 && of.per_s > 0.0);
    let choices: Vec<Choice> = measured
        .iter()
        .filter(|of| of.per_s > 0.0)
        .map(|of| Choice {
            instances: of.instances,
            per_s: of.per_s,
            servers: servers(of),
            saved: alone.map(|alone| 1.0 - servers(of) as f64 / servers(alone) as f64),
            price: need.price.map(|price| price * servers(of) as f64),
        })
        .collect();
    match choices.is_empty() {
        true => Err(NoPlan::Nothing),
        false => Ok(choices),
    }
}

/// The choice with the fewest servers; of several the one with the fewest instances.
#[must_use]
pub fn best(choices: &[Choice]) -> Option<&Choice> {
    let cost = |choice: &&Choice| (choice.servers, choice.instances);
    choices.iter().min_by_key(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(instances: u32, per_s: f64) -> Capacity {
        Capacity { instances, per_s }
    }

    fn need(per_s: f64) -> Need {
        Need {
            per_s,
            efficiency: 0.9,
            price: Some(10_000.0),
        }
    }

    /// The paper's own numbers: 17,000 tps of servers that give 5,700 with six instances
    /// and 2,231 with one, at 0.90: four or nine, and "more than 50 %" saved.
    #[test]
    fn it_is_the_papers_plan() {
        let measured = [capacity(1, 2231.0), capacity(6, 5700.0)];
        let choices = plan(&measured, &need(17_000.0)).unwrap();
        assert_eq!((choices[0].servers, choices[1].servers), (9, 4));
        assert_eq!(choices[0].saved, Some(0.0));
        assert_eq!(
            format!("{:.0} %", choices[1].saved.unwrap() * 100.0),
            "56 %"
        );
        assert_eq!(choices[1].price, Some(40_000.0));
        assert_eq!(best(&choices).map(|best| best.instances), Some(6));
    }

    #[test]
    fn what_cannot_be_planned_says_why() {
        let six = [capacity(6, 5700.0)];
        assert_eq!(plan(&six, &need(17_000.0)).unwrap()[0].saved, None);
        assert_eq!(plan(&six, &need(0.0)), Err(NoPlan::Need(0.0)));
        let greedy = Need {
            efficiency: 1.5,
            ..need(1.0)
        };
        assert_eq!(plan(&six, &greedy), Err(NoPlan::Efficiency(1.5)));
        assert_eq!(plan(&[capacity(1, 0.0)], &need(1.0)), Err(NoPlan::Nothing));
    }
}
