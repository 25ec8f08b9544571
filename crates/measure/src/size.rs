//! How many servers a load needs, and what sharing a server saves.
//!
//! servers = ceil(need / (throughput of one × efficiency)), as in SanDisk's white paper on scaling
//! up, then out (2012), for every number of instances on a server that was measured. Efficiency is
//! the share of one server's throughput that each further server adds.

use serde::{Deserialize, Serialize};

use crate::interval::Estimate;
use crate::scale::Scaling;

/// Relative rounding error in a number of servers.
const ROUNDING: f64 = 1e-9;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Need {
    pub per_s: f64,
    /// Share of its own throughput (above 0, up to 1) that each server adds; exact without an
    /// interval.
    pub efficiency: Estimate,
    /// Price of one server, in any currency.
    pub price: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRange {
    pub fewest: u64,
    /// Upper bound; `None` if the interval of the throughput includes 0.
    pub most: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    pub instances: u32,
    pub per_s: Estimate,
    pub servers: u64,
    /// 95 % interval of `servers`; `None` if the throughput has none.
    pub range: Option<ServerRange>,
    /// Share of the servers, and of their cost, that is saved compared with one instance on each
    /// server (0 to 1; negative if more are needed); `None` if that was not measured.
    pub saved: Option<f64>,
    /// Price of all servers, in the currency of the need.
    pub price: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoPlan {
    #[error("the need must be above 0 transactions/s, not {0}")]
    Need(f64),
    #[error("the efficiency must be above 0 and at most 1, not {0}")]
    Efficiency(f64),
}

/// The plan for every number of instances with the throughput of one server, above 0 transactions
/// per second.
pub fn plan(measured: &[(u32, Estimate)], need: &Need) -> Result<Vec<Choice>, NoPlan> {
    if !(need.per_s.is_finite() && need.per_s > 0.0) {
        return Err(NoPlan::Need(need.per_s));
    }
    if !(need.efficiency.value > 0.0 && need.efficiency.value <= 1.0) {
        return Err(NoPlan::Efficiency(need.efficiency.value));
    }
    let alone = measured.iter().find(|(instances, _)| *instances == 1);
    let alone = alone.map(|(_, per_s)| servers(need.per_s, added(*per_s, need).value));
    let choices = measured.iter().map(|(instances, per_s)| {
        let added = added(*per_s, need);
        let servers = servers(need.per_s, added.value);
        Choice {
            instances: *instances,
            per_s: *per_s,
            servers,
            range: range(need.per_s, added),
            saved: alone.map(|alone| 1.0 - servers as f64 / alone as f64),
            price: need.price.map(|price| price * servers as f64),
        }
    });
    Ok(choices.collect())
}

/// What each server adds, in transactions per second. The two parts may be of the same trials, so
/// that their errors may add up.
fn added(per_s: Estimate, need: &Need) -> Estimate {
    let share = need.efficiency;
    let of_share = per_s.value * share.half_width.unwrap_or(0.0);
    let half_width = per_s.half_width.map(|half| share.value * half + of_share);
    Estimate {
        value: per_s.value * share.value,
        half_width,
    }
}

fn range(need_per_s: f64, added: Estimate) -> Option<ServerRange> {
    let half = added.half_width?;
    let least = added.value - half;
    Some(ServerRange {
        fewest: servers(need_per_s, added.value + half),
        most: (least > 0.0).then(|| servers(need_per_s, least)),
    })
}

fn servers(need_per_s: f64, added_per_s: f64) -> u64 {
    (need_per_s / added_per_s * (1.0 - ROUNDING)).ceil() as u64
}

/// The efficiency of several servers that the law of scaling over the instances of one server
/// suggests: 1 − σ. That is what each further server adds if the work grows with the servers, as it
/// does if each brings its own instances (Gustafson's reading of a serial share). κ is left out:
/// pairs of instances pay it for sharing caches, memory, and a kernel, which servers do not share. This stands in for a measurement of several servers: no number of a single server
/// includes the cost of their network. Above 0 and at most 1, because no server adds more than it
/// gives alone.
///
/// If σ is at its bound of 0, an efficiency of 1 would claim too much: it is then the least that
/// the points allow, and `None` if they allow anything.
pub fn efficiency(law: &Scaling) -> Option<Estimate> {
    let contention = law.contention;
    if contention.value > 0.0 {
        return Some(Estimate {
            value: 1.0 - contention.value,
            half_width: contention.half_width,
        });
    }
    let value = 1.0 - contention.half_width?;
    (value > 0.0).then_some(Estimate::exact(value))
}

/// The choice with the fewest servers; among equals, the one whose servers give the most.
pub fn best(choices: &[Choice]) -> Option<&Choice> {
    choices.iter().min_by(|one, other| {
        let most = other.per_s.value.total_cmp(&one.per_s.value);
        one.servers.cmp(&other.servers).then(most)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::{self, Observation};

    fn sure(value: f64, half: f64) -> Estimate {
        Estimate {
            value,
            half_width: Some(half),
        }
    }

    fn capacity(instances: u32, per_s: f64) -> (u32, Estimate) {
        (instances, Estimate::exact(per_s))
    }

    fn need(per_s: f64) -> Need {
        Need {
            per_s,
            efficiency: Estimate::exact(0.9),
            price: Some(10_000.0),
        }
    }

    /// The paper's own numbers: 17,000 tps from servers that give 5,700 with six instances and
    /// 2,231 with one, at 0.90: four or nine servers, and "more than 50 %" saved.
    #[test]
    fn it_is_the_papers_plan() {
        let measured = [
            capacity(1, 2231.0),
            capacity(6, 5700.0),
            capacity(8, 5500.0),
        ];
        let choices = plan(&measured, &need(17_000.0)).unwrap();
        assert_eq!((choices[0].servers, choices[1].servers), (9, 4));
        assert_eq!((choices[0].range, choices[0].saved), (None, Some(0.0)));
        assert_eq!(
            format!("{:.0} %", choices[1].saved.unwrap() * 100.0),
            "56 %"
        );
        assert_eq!(choices[1].price, Some(40_000.0));
        assert_eq!(best(&choices).map(|best| best.instances), Some(6));
    }

    /// By hand: 17,000 / (0.9 x (4,800 ± 100)) is 3.935, with a range of 3.855 to 4.019.
    #[test]
    fn an_interval_is_carried_into_the_number_of_servers() {
        let of = |per_s, efficiency| {
            let measured = [(6, per_s)];
            let need = Need {
                efficiency,
                ..need(17_000.0)
            };
            plan(&measured, &need).unwrap()[0]
        };
        let range = |fewest, most| Some(ServerRange { fewest, most });
        let narrow = of(sure(4800.0, 100.0), Estimate::exact(0.9));
        assert_eq!((narrow.servers, narrow.range), (4, range(4, Some(5))));
        // The law's own error, 0.1 of 0.9, makes it 4,320 ± 570, and so 3.48 to 4.53.
        assert_eq!(
            of(sure(4800.0, 100.0), sure(0.9, 0.1)).range,
            range(4, Some(5))
        );
        let wild = of(sure(4800.0, 9000.0), Estimate::exact(0.9));
        assert_eq!(wild.range, range(2, None));
        assert_eq!(of(Estimate::exact(4800.0), sure(0.9, 0.1)).range, None);
    }

    #[test]
    fn no_server_is_added_for_the_rounding_of_numbers() {
        let measured = [capacity(1, 1000.0 * 1.1)];
        let need = Need {
            efficiency: Estimate::exact(0.7),
            ..need(3.0 * 770.0)
        };
        assert_eq!(plan(&measured, &need).unwrap()[0].servers, 3);
    }

    /// Throughput generated by the law with σ = 0.1 and κ = 0.01.
    #[test]
    fn the_law_says_what_a_further_server_adds() {
        let of = |size: f64| Observation {
            size,
            per_s: 2000.0 * size / (1.0 + 0.1 * (size - 1.0) + 0.01 * size * (size - 1.0)),
            half_width: None,
            block: 1,
        };
        let points: Vec<Observation> = (1..=8).map(|size| of(f64::from(size))).collect();
        let found = efficiency(&scale::scaling(&points).unwrap()).unwrap();
        assert!((found.value - 0.9).abs() < 1e-6, "{found:?}");
        assert!(found.half_width.is_some());
    }

    #[test]
    fn no_server_adds_more_than_it_gives() {
        let of = |size: u32| Observation {
            size: f64::from(size),
            per_s: 1000.0 * f64::from(size) * (1.0 + 0.002 * f64::from(size % 3)),
            half_width: None,
            block: 1,
        };
        let points: Vec<Observation> = (1..=8).map(of).collect();
        let mut law = scale::scaling(&points).unwrap();
        assert_eq!(law.contention.value, 0.0);
        let least = efficiency(&law).unwrap().value;
        assert!(least > 0.9 && least < 1.0, "{least}");
        // If the points rule nothing out, there is no efficiency.
        law.contention.half_width = None;
        assert_eq!(efficiency(&law), None);
    }

    #[test]
    fn what_cannot_be_planned_says_why() {
        let six = [capacity(6, 5700.0)];
        assert_eq!(plan(&six, &need(17_000.0)).unwrap()[0].saved, None);
        assert_eq!(plan(&six, &need(0.0)), Err(NoPlan::Need(0.0)));
        let greedy = Need {
            efficiency: Estimate::exact(1.5),
            ..need(1.0)
        };
        assert_eq!(plan(&six, &greedy), Err(NoPlan::Efficiency(1.5)));
    }
}
