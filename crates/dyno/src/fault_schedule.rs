//! The faults of a study's trials, for `dyno plan`.

use std::fmt::Write;

use plan::{Fault, Plan};
use study::fault_toml;

/// Trials that have the same faults.
struct Schedule<'p> {
    trials: Vec<u32>,
    /// What they were drawn from, if they are random.
    seed: Option<u64>,
    faults: &'p [Fault],
}

/// The schedules of a study; empty without faults. A single one that was drawn at random is shown
/// in the form that a study has it.
pub(crate) fn shown(plan: &Plan) -> String {
    let schedules = schedules(plan);
    let mut text = String::new();
    for schedule in &schedules {
        let numbers: Vec<_> = schedule.trials.iter().map(u32::to_string).collect();
        let plural = if numbers.len() == 1 { "" } else { "s" };
        let seed = schedule.seed;
        let drawn = seed.map(|seed| format!(", drawn with chaos.seed={seed}"));
        let (numbers, drawn) = (numbers.join(", "), drawn.unwrap_or_default());
        let _ = writeln!(text, "\nfaults of trial{plural} {numbers}{drawn}:");
        for fault in schedule.faults {
            let _ = writeln!(text, "  {fault}");
        }
    }
    match schedules.as_slice() {
        [only] if only.seed.is_some() => {
            text.push_str("\nThe same faults, for a study without [chaos]:\n");
            for fault in only.faults {
                let _ = write!(text, "\n{}", fault_toml(fault));
            }
        }
        many if many.iter().any(|schedule| schedule.seed.is_some()) => text.push_str(
            "\nTo write out the faults of one trial as [[fault]], add --set load.repeats=1 --set chaos.seed=SEED.\n",
        ),
        _ => {}
    }
    text
}

fn schedules(plan: &Plan) -> Vec<Schedule<'_>> {
    let mut schedules: Vec<Schedule<'_>> = Vec::new();
    for trial in &plan.trials {
        let faults = trial.topology.faults.as_slice();
        let seed = trial.chaos.as_ref().map(|chaos| chaos.seed);
        let same = |known: &&mut Schedule<'_>| known.faults == faults && known.seed == seed;
        match schedules.iter_mut().find(same) {
            _ if faults.is_empty() => {}
            Some(known) => known.trials.push(trial.number),
            None => schedules.push(Schedule {
                trials: vec![trial.number],
                seed,
                faults,
            }),
        }
    }
    schedules
}
