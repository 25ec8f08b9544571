//! Which trials take turns: the variants of a start of a comparison.

use plan::{Alternate, Devices, Reset, StatementClass};

use crate::{Failure, Target, Trial};

/// Decides whether variants take turns, where the study leaves that open: for all its trials alike.
pub fn resolve_turns(trials: &mut [Trial]) -> Result<(), Failure> {
    let obstacle = trials.iter().find_map(Trial::obstacle_to_turns);
    let obstacle = obstacle.or_else(|| has_unequal_lengths(trials).then_some(LENGTHS));
    let can_alternate = obstacle.is_none() && trials.iter().all(Trial::only_reads);
    for compare in trials
        .iter_mut()
        .filter_map(|trial| trial.planned.compare.as_mut())
    {
        compare.alternate = match (compare.alternate, obstacle) {
            (Alternate::Always, Some(obstacle)) => {
                let message = format!("the variants cannot take turns: {obstacle}");
                let remedy = "change that, or write alternate = \"never\" under [compare]";
                return Err(Failure::usage(message).remedy(remedy));
            }
            (Alternate::Auto, _) if can_alternate => Alternate::Always,
            (Alternate::Auto, _) => Alternate::Never,
            (chosen, _) => chosen,
        };
    }
    Ok(())
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
        let compare = self.planned.compare;
        compare.is_some_and(|compare| compare.alternate == Alternate::Always)
    }

    /// Whether two trials belong to the same start, and its variants take turns.
    pub(crate) fn takes_turns_with(&self, other: &Self) -> bool {
        let (one, two) = (&self.planned, &other.planned);
        self.takes_turns()
            && other.takes_turns()
            && one.repeat == two.repeat
            && one.common_point() == two.common_point()
    }

    fn only_reads(&self) -> bool {
        let kinds = self.statement_kinds();
        kinds.iter().all(|kind| kind.class != StatementClass::Write)
    }

    /// Why the servers of several such trials cannot be up at once, or their loads cannot pause.
    fn obstacle_to_turns(&self) -> Option<&'static str> {
        let planned = &self.planned;
        let load = &planned.load;
        let Target::Private(spec) = &self.target else {
            return Some("dyno does not start their servers");
        };
        let mut volumes = planned.topology.node.volumes();
        let has_device = volumes.any(|volume| {
            let made = volume.file_system.as_ref();
            made.is_some_and(|made| matches!(made.devices, Devices::Named(_)))
        });
        let obstacles = [
            (
                spec.reset == Reset::None,
                "they use the same servers (reset = \"none\")",
            ),
            (spec.port.is_some(), "their servers use the same port"),
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
        ];
        let mut obstacles = obstacles.into_iter().filter(|(is_there, _)| *is_there);
        obstacles.next().map(|(_, obstacle)| obstacle)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plan::Compare;

    use super::*;
    use crate::for_tests::trial;

    /// What becomes of `alternate` for a database without a server.
    fn resolved(alternate: Alternate) -> Result<Alternate, String> {
        let mut trial = trial();
        trial.planned.compare = Some(Compare {
            starts: 2,
            budget: Duration::from_secs(60),
            alternate,
            block: Duration::from_secs(1),
        });
        let mut trials = [trial];
        resolve_turns(&mut trials).map_err(|failure| failure.message)?;
        Ok(trials[0].planned.compare.unwrap().alternate)
    }

    #[test]
    fn turns_are_left_out_or_refused_where_they_are_impossible() {
        assert_eq!(resolved(Alternate::Auto), Ok(Alternate::Never));
        assert_eq!(resolved(Alternate::Never), Ok(Alternate::Never));
        let refused = resolved(Alternate::Always).unwrap_err();
        assert!(refused.contains("dyno does not start"), "{refused}");
    }
}
