//! Which trials take turns: the variants of a start of a comparison.

use plan::{Devices, Reset};
use workload::name::WorkloadName;

use crate::{Failure, Target, Trial};

/// Refuses turns where they are impossible, before anything runs.
pub fn check_turns(trials: &[Trial]) -> Result<(), Failure> {
    let mut in_turns = trials.iter().filter(|trial| trial.takes_turns());
    let Some(first) = in_turns.next() else {
        return Ok(());
    };
    let obstacle = [first]
        .into_iter()
        .chain(in_turns)
        .find_map(Trial::obstacle_to_turns);
    match obstacle.or_else(|| has_unequal_lengths(trials).then_some(LENGTHS)) {
        Some(obstacle) => {
            let message = format!("the variants cannot take turns: {obstacle}");
            let remedy = "remove the obstacle, or set alternate = \"never\" under [compare]";
            Err(Failure::usage(message).remedy(remedy))
        }
        None => Ok(()),
    }
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
    /// Whether it takes turns with the other variants of its start.
    pub(crate) fn takes_turns(&self) -> bool {
        self.planned.turns().is_some()
    }

    /// Whether two trials belong to the same start, and its variants take turns.
    pub(crate) fn takes_turns_with(&self, other: &Self) -> bool {
        let (one, two) = (&self.planned, &other.planned);
        self.takes_turns()
            && other.takes_turns()
            && one.repeat == two.repeat
            && one.common_point() == two.common_point()
    }

    /// The number of trials, this one included, whose servers are up at the same time.
    pub fn together(&self, trials: &[Self]) -> u64 {
        let together = trials.iter().filter(|other| self.takes_turns_with(other));
        together.count().max(1) as u64
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
        let obstacles = [
            (
                private.is_some_and(|spec| spec.reset == Reset::None),
                "they use the same servers (reset = \"none\")",
            ),
            (
                private.is_some_and(|spec| spec.port.is_some()),
                "their servers use the same port",
            ),
            (has_device, "their servers use the same device"),
            (load.rate.is_some(), "transactions arrive at a given rate"),
            (
                load.events.is_some(),
                "the measurement ends after a number of transactions",
            ),
            (
                load.until.is_some(),
                "the measurement ends when it is precise",
            ),
            (
                load.find_max.is_some(),
                "the load is a search for the highest rate",
            ),
            (
                load.time < planned.compare?.block,
                "the measurement is shorter than a turn",
            ),
            (
                self.has_faults() || planned.chaos.is_some(),
                "there are faults",
            ),
            (planned.ledger.is_some(), "there is a ledger"),
            (
                self.workload == WorkloadName::BulkInsert,
                "bulk_insert keeps rows for its next turn",
            ),
        ];
        let mut obstacles = obstacles.into_iter().filter(|(is_there, _)| *is_there);
        obstacles.next().map(|(_, obstacle)| obstacle)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plan::{Alternate, Compare};

    use super::*;
    use crate::for_tests::trial;

    #[test]
    fn turns_are_refused_where_they_are_impossible() {
        let mut trial = trial();
        let checked = |trial: &Trial| check_turns(std::slice::from_ref(trial));
        assert_eq!(checked(&trial).err(), None);
        let mut compare = Compare {
            starts: 2,
            budget: Duration::from_secs(60),
            alternate: Alternate::Never,
            block: Duration::from_secs(1),
        };
        trial.planned.compare = Some(compare);
        assert_eq!(checked(&trial).err(), None);
        compare.alternate = Alternate::Always;
        trial.planned.compare = Some(compare);
        let refused = checked(&trial).unwrap_err().message;
        assert!(refused.contains("run inside dyno"), "{refused}");
    }
}
