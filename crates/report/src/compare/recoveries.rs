//! How the recoveries of two sides from the same fault compare, and how many of the faults lost commits.

use measure::compare::{
    Boundary, Comparison, Decision, Gated, Method, Observed, Sense, compare_observed, compare_ranks,
};
use measure::recovery::{Distribution, Observation, numbers};
use measure::summary::TrialSummary;
use serde::Serialize;

use super::{Matched, ResultComparison};
use crate::grid::{Columns, Grid};
use crate::ledger::lost_of;
use crate::list::distinct;
use crate::metric_comparison::question;
use crate::number;
use crate::recovery::{Recovered, head, observation, recovered, words_of_all};

/// The numbers that are compared: few, because they are decided together.
const COMPARED: [&str; 5] = [
    "recovery.first_write_s",
    "recovery.back_s",
    "recovery.rejoined_s",
    "recovery.outage_s",
    "recovery.lost_transactions",
];
const LOSSES: &str = "recovery.lost_commits";

/// One number of one fault.
#[derive(Debug, Serialize)]
pub(crate) struct Recoveries {
    pub(crate) fault: String,
    pub(crate) column: &'static str,
    #[serde(skip)]
    heading: String,
    pub(crate) base: Repeats,
    pub(crate) new: Repeats,
    pub(crate) comparison: Option<Comparison>,
    pub(crate) reason: Option<String>,
}

/// A number over the repeats of a side.
#[derive(Debug, Serialize)]
pub(crate) struct Repeats {
    pub(crate) n: usize,
    /// Repeats in which the event had not happened by the end of the observation.
    pub(crate) not_over: usize,
    /// For display: the median with minimum and maximum, or the share with its exact interval.
    pub(crate) shown: String,
}

/// Each number of each fault that either side has.
pub(super) fn all(sides: [&[&TrialSummary]; 2], interleaved: bool) -> Vec<Recoveries> {
    let faults = || {
        sides
            .iter()
            .copied()
            .flatten()
            .flat_map(|trial| recovered(trial).map(move |one| (*trial, one)))
    };
    let places = distinct(faults().map(|(_, (fault, _))| fault.place()));
    let trials = || sides.iter().copied().flatten();
    let question = measure::compare::Question {
        boundary: Boundary::of_trials(trials()),
        ..question(
            Sense::LowerIsBetter,
            interleaved,
            trials().all(|trial| trial.setup.planned.server.is_restarted()),
        )
    };
    let mut all = Vec::new();
    for place in places {
        let mut same = faults().filter(|(_, (fault, _))| fault.place() == place);
        let Some(fault) = same.next().map(|first| words_of_all(&first)) else {
            continue;
        };
        let observed = |of: &dyn Fn(Recovered<'_>) -> Option<Observation>| {
            sides.map(|side| in_repeats(side, place, of))
        };
        for number in numbers().filter(|number| COMPARED.contains(&number.name)) {
            let [base, new] = observed(&|(_, found)| observation(number, found));
            let found = compare_observed(&base, &new, &question);
            all.extend((!base.is_empty() || !new.is_empty()).then(|| Recoveries {
                fault: fault.clone(),
                column: number.name,
                heading: head(number).text(),
                base: Repeats::of(&base),
                new: Repeats::of(&new),
                reason: found.as_ref().err().map(ToString::to_string),
                comparison: found.ok(),
            }));
        }
        let [base, new] = observed(&|(_, found)| {
            let lost = found.loss?.transactions > 0;
            Some(Observation::Exactly(f64::from(u8::from(lost))))
        });
        let found = compare_ranks(&base, &new, &question);
        all.extend((!base.is_empty() || !new.is_empty()).then(|| Recoveries {
            fault,
            column: LOSSES,
            heading: "faults that lost commits".to_owned(),
            base: Repeats::of_losses(&base),
            new: Repeats::of_losses(&new),
            reason: found.as_ref().err().map(ToString::to_string),
            comparison: found.ok(),
        }));
    }
    all
}

fn in_repeats(
    side: &[&TrialSummary],
    place: (u32, u32, u32),
    of: &dyn Fn(Recovered<'_>) -> Option<Observation>,
) -> Vec<Observed> {
    let faults = side.iter().flat_map(|trial| {
        let repeat = trial.setup.planned.repeat;
        let same = recovered(trial).filter(move |(fault, _)| fault.place() == place);
        same.filter_map(move |one| Some((repeat, of(one)?)))
    });
    faults.collect()
}

impl Repeats {
    fn of(observed: &[Observed]) -> Self {
        let all = Distribution::of(observed.iter().map(|(_, value)| *value));
        let shown = |all: &Distribution| match all.values() {
            [one] => number::observation(*one),
            _ => number::observed_within(all.median(), all.min(), all.max()),
        };
        let not_over = observed.len() - all.as_ref().map_or(0, Distribution::happened);
        let at_least = match not_over {
            0 => String::new(),
            _ => format!(", not over in {not_over} of {}", observed.len()),
        };
        Self {
            n: observed.len(),
            not_over,
            shown: all.map_or_else(|| number::ABSENT.to_owned(), |all| shown(&all) + &at_least),
        }
    }

    fn of_losses(observed: &[Observed]) -> Self {
        let lost = observed.iter().filter(|(_, lost)| lost.bound() > 0.0);
        Self {
            n: observed.len(),
            not_over: 0,
            shown: lost_of(lost.count(), observed.len()),
        }
    }
}

/// Decides all of them together: a family beside that of throughput and response times.
pub(super) fn decide<'a>(points: impl Iterator<Item = &'a mut Matched>) {
    let all = points.flat_map(|point| &mut point.recoveries);
    let gated = all.filter_map(|one| {
        let first = Some(one.comparison.as_mut()?);
        Some(Gated {
            first,
            then: Vec::new(),
        })
    });
    measure::compare::decide(&mut gated.collect::<Vec<_>>());
}

/// Each number with its verdict; without rows if there were no faults.
pub(super) fn grid(all: &[ResultComparison]) -> Grid {
    type Row<'a> = (&'a ResultComparison, &'a Matched, &'a Recoveries);
    let rows = all.iter().flat_map(|both| {
        let points = both.points.iter();
        points.flat_map(move |point| point.recoveries.iter().map(move |one| (both, point, one)))
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let (base, new) = match all {
        [] => return Grid::default(),
        [one] => (&*one.base, &*one.new),
        [first, ..] => (&*first.base, "variant"),
    };
    let columns = Columns::<Row<'_>>::new()
        .when(all.len() > 1, |columns| {
            columns.key("name", |(both, ..)| &both.new)
        })
        .when(
            rows.iter().any(|(_, point, _)| !point.name.is_empty()),
            |columns| columns.key("point", |(_, point, _)| &point.name),
        )
        .key("fault", |(.., one)| &one.fault)
        .key("", |(.., one)| &one.heading)
        .words(base, |(.., one)| &one.base.shown)
        .words(new, |(.., one)| &one.new.shown)
        .with("change %", |(.., one)| {
            let change = one.comparison?.change_pct;
            change.value.is_finite().then_some(change)
        })
        .words("verdict", |(.., one)| verdict(one));
    columns.grid(
        "Recovery compared: medians with the minimum and maximum, and the share of faults that lost \
         acknowledged commits with its exact interval. Change: the ratio of geometric means. Where \
         a time is 0 or was not over when its trial ended (>), and for losses, ranks are compared: an \
         exact test without an interval. All verdicts of this table are decided together: family-wise \
         error rate 5 % (Holm).",
        rows,
    )
}

/// Of ranks, in which share of the pairs it took longer, because there is no change in percent.
fn verdict(one: &Recoveries) -> String {
    let Some(found) = &one.comparison else {
        return one.reason.clone().unwrap_or_default();
    };
    let is_time = one.column.ends_with("_s");
    let words = match found.decision {
        Decision::Faster if !is_time => "fewer".to_owned(),
        Decision::Slower if !is_time => "more".to_owned(),
        _ => found.verdict(),
    };
    match found.method {
        Method::Ranks { new_longer, .. } if one.column != LOSSES => {
            let share = number::percent(new_longer);
            format!(
                "{words} ({} in {share} of the pairs)",
                if is_time { "longer" } else { "more" }
            )
        }
        _ => words,
    }
}
