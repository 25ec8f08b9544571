//! The plan of a study: its points, repeated and in order.

use crate::chaos;
use crate::content::{Content, TypedFault};
use crate::error::Diagnostics;
use crate::order;
use crate::point::Point;
use crate::servers::Servers;
use plan::{EngineTraits, Fault, Order, Plan, SplitMix64, Trial};

/// The plan of a study with these trials of its points, in the order of the study.
pub(crate) fn plan(content: &Content, trials: &[Trial], engines: &[EngineTraits]) -> Plan {
    // Any point has the values that are the same in every trial.
    let diagnostics = Diagnostics::default();
    let any = Point::at(0, content, None, engines, &diagnostics);
    let compare = trials.first().and_then(|trial| trial.compare);
    let repeats = match compare {
        Some(compare) => compare.starts,
        None => any.get("load.repeats"),
    };
    let order = order(&any, repeats);
    let combinations = content.combinations();
    let blocks = order::blocks(trials.len() / combinations, combinations, repeats, order);
    let is_single = content.variants.is_empty() && content.common.axes.is_empty();
    let mut all: Vec<Trial> = Vec::new();
    for (repeat, block) in (1..).zip(blocks) {
        for index in block {
            let Some(point) = trials.get(index) else {
                continue;
            };
            let mut trial = repeated(point, repeat, content, engines);
            trial.number = number(all.len() + 1);
            trial.place = number(index);
            if repeats > 1 {
                let point = Some(trial.label).filter(|_| !is_single);
                let label = point.into_iter().chain([format!("repeat {repeat}")]);
                trial.label = label.collect::<Vec<_>>().join(", ");
            }
            all.push(trial);
        }
    }
    let axes = content.axes().into_iter();
    Plan {
        title: any.get("title"),
        description: any.maybe("description"),
        trials: all,
        axes: axes.map(str::to_owned).collect(),
        repeats,
        order,
        tables: content.tables.clone(),
        delta_as_in: any.maybe("report.delta_as_in"),
        thresholds: content.thresholds.clone(),
        baseline: content.baseline.clone(),
        sizes: content.sizes.keys().cloned().collect(),
        size: content.size.clone(),
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Random by default if there are repeats.
fn order(at: &Point<'_>, repeats: u32) -> Order {
    let word: Option<String> = at.maybe("load.order");
    Order {
        random: word.map_or(repeats > 1, |word| word == "random"),
        seed: at.get("load.order_seed"),
    }
}

/// A repeat of a trial, with its faults.
fn repeated(trial: &Trial, repeat: u32, content: &Content, engines: &[EngineTraits]) -> Trial {
    let mut trial = trial.clone();
    trial.repeat = repeat;
    trial.topology.faults = faults(&content.faults, trial.data.seed, repeat);
    if let Some(chaos) = &mut trial.chaos {
        chaos.seed = chaos::seed_of_repeat(chaos.seed, repeat);
        let cluster = trial.topology.cluster.as_ref();
        let noticed = cluster.and_then(|cluster| cluster.detected_within);
        let chaos = chaos.clone();
        let servers = Servers::of(&trial, engines);
        trial.topology.faults = chaos::draw(&chaos, trial.load.time, &servers, noticed);
    }
    trial
}

/// Ordered by time; faults at the same time remain in the order of the study. Seeds that the study
/// does not give follow from the data's, the fault's number, and the repeat's.
fn faults(typed: &[TypedFault], seed: u64, repeat: u32) -> Vec<Fault> {
    let mut typed: Vec<_> = typed.iter().collect();
    typed.sort_by_key(|typed| typed.fault.at);
    let mut seeds = SplitMix64::new(seed.wrapping_add(u64::from(repeat)));
    let drawn = typed.into_iter().map(|typed| {
        let mut fault = typed.fault.clone();
        let seed = seeds.next_u64() % chaos::SHORT_SEEDS;
        if !typed.has_seed {
            fault.set_seed(seed);
        }
        fault
    });
    drawn.collect()
}
