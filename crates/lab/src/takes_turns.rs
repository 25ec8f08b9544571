//! Which trials take turns: the variants of a start of a comparison.

use plan::{Alternate, Devices, Reset};

use crate::{Failure, Target, Trial};

/// Decides whether variants take turns if the study leaves the choice to dyno, and refuses turns that
/// are impossible, before anything runs.
pub fn settle_turns(trials: &mut [Trial]) -> Result<(), Failure> {
    let compare = trials.iter().find_map(|trial| trial.planned.compare);
    match compare.map(|compare| compare.alternate) {
        None | Some(Alternate::Never) => Ok(()),
        Some(Alternate::Auto) => {
            let in_turns = against_turns(trials).is_none();
            alternate(trials, in_turns);
            Ok(())
        }
        Some(Alternate::Always) => obstacle(trials).map_or(Ok(()), |obstacle| {
            let message = format!("the variants cannot take turns: {obstacle}");
            let remedy = "remove the obstacle, or set alternate = \"never\" under [compare]";
            Err(Failure::usage(message).remedy(remedy))
        }),
    }
}

/// Makes the variants of all starts take turns, or run as whole trials.
pub fn alternate(trials: &mut [Trial], in_turns: bool) {
    let compares = trials
        .iter_mut()
        .filter_map(|trial| trial.planned.compare.as_mut());
    compares.for_each(|compare| {
        compare.alternate = match in_turns {
            true => Alternate::Always,
            false => Alternate::Never,
        };
    });
}

/// Why variants do not take turns if the study leaves the choice to dyno; `None` if they do.
pub fn against_turns(trials: &[Trial]) -> Option<&'static str> {
    let has_writes = || {
        let mut trials = trials.iter();
        trials.any(Trial::writes).then_some("transactions write")
    };
    obstacle(trials).or_else(has_writes)
}

fn obstacle(trials: &[Trial]) -> Option<&'static str> {
    let found = trials.iter().find_map(Trial::obstacle_to_turns);
    found.or_else(|| has_unequal_lengths(trials).then_some(LENGTHS))
}

const LENGTHS: &str = "their warm-ups or measurements differ in length";

fn has_unequal_lengths(trials: &[Trial]) -> bool {
    let lengths = |trial: &plan::Trial| (trial.load.warmup, trial.load.time);
    let first = || {
        trials
            .iter()
            .map(|trial| &trial.planned)
            .filter(|one| one.repeat == 1)
    };
    first().any(|one| {
        let point = one.common_point();
        let mut others = first().filter(|other| lengths(other) != lengths(one));
        others.any(|other| other.common_point() == point)
    })
}

impl Trial {
    /// Indexes of the trials that run concurrently with this one, itself included.
    pub fn together(&self, trials: &[Self]) -> Vec<usize> {
        let own = &self.planned;
        let planned = trials.iter().map(|trial| &trial.planned).enumerate();
        let together =
            planned.filter(|(_, other)| own.number == other.number || own.takes_turns_with(other));
        together.map(|(index, _)| index).collect()
    }

    /// Why the servers of several such trials cannot be up at once, or their loads cannot pause.
    fn obstacle_to_turns(&self) -> Option<&'static str> {
        let planned = &self.planned;
        let load = &planned.load;
        let private = match &self.target {
            Target::Private(spec) => Some(spec),
            Target::Given(database) if !database.is_in_process() => None,
            Target::Given(_) | Target::Temporary(_) => {
                return Some("their databases run inside dyno");
            }
        };
        let mut volumes = planned.topology.node.volumes();
        let has_device = volumes.any(|volume| {
            let made = volume.file_system.as_ref();
            made.is_some_and(|made| matches!(made.devices, Devices::Named(_)))
        });
        let block = planned.compare?.block;
        Some(match private {
            Some(spec) if spec.reset == Reset::None => {
                "they use the same servers (reset = \"none\")"
            }
            Some(spec) if spec.port.is_some() => "their servers use the same port",
            _ if has_device => "their servers use the same device",
            _ if load.fleet.is_some() => "the load comes from agents",
            _ if load.phase.is_some() => "the load has phases",
            _ if load.rate.is_some() => "transactions arrive at a given rate",
            _ if load.events.is_some() => "the measurement ends after a number of transactions",
            _ if load.until.is_some() => "the measurement ends when it is precise",
            _ if load.find_max.is_some() => "the load is a search for the highest rate",
            _ if load.time < block => "the measurement is shorter than a turn",
            _ if self.has_faults() || planned.chaos.is_some() => "there are faults",
            _ if planned.ledger.is_some() => "there is a ledger",
            _ if self.workload.begins_empty() => "bulk_insert keeps rows for its next turn",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plan::Compare;

    use super::*;
    use crate::for_tests::trial;

    #[test]
    fn turns_are_refused_or_avoided_where_they_are_impossible() {
        let mut trial = trial();
        let settled = |trial: &Trial| {
            let mut trials = [trial.clone()];
            settle_turns(&mut trials)?;
            Ok::<_, Failure>(trials[0].planned.compare.map(|compare| compare.alternate))
        };
        assert_eq!(settled(&trial), Ok(None));
        let mut compare = Compare {
            starts: 2,
            budget: Duration::from_secs(60),
            alternate: Alternate::Never,
            block: Duration::from_secs(1),
            pause: false,
        };
        for alternate in [Alternate::Never, Alternate::Auto] {
            compare.alternate = alternate;
            trial.planned.compare = Some(compare);
            assert_eq!(settled(&trial), Ok(Some(Alternate::Never)));
        }
        compare.alternate = Alternate::Always;
        trial.planned.compare = Some(compare);
        let refused = settled(&trial).unwrap_err().message;
        assert!(refused.contains("run inside dyno"), "{refused}");
    }
}
