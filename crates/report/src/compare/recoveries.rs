//! Compares the recoveries of two sides from the same fault, and the shares of faults that lost commits.

use measure::compare::{
    Boundary, Comparison, Gated, Observed, Question, Sense, compare_observed, compare_ranks,
};
use measure::interval::Estimate;
use measure::recovery::{Distribution, Number, numbers};
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use serde::Serialize;

use super::{Matched, ResultComparison};
use crate::grid::{Columns, Grid};
use crate::ledger::lost_of;
use crate::list::grouped;
use crate::metric_comparison::question;
use crate::number;
use crate::recovery::{head, observation, recovered, words_of_all};

/// The numbers that are compared: few, because they are decided together.
const COMPARED: [&str; 5] = [
    "recovery.first_write_s",
    "recovery.back_s",
    "recovery.rejoined_s",
    "recovery.outage_s",
    "recovery.lost_transactions",
];
/// 1 if the fault lost commits.
static LOSSES: Number = Number {
    name: "recovery.lost_commits",
    unit: "",
    heading: "faults that lost commits",
    of: |found| Some(f64::from(u8::from(found.loss?.transactions > 0))),
};

/// One number of one fault, over the repeats of each side.
#[derive(Debug, Serialize)]
pub(crate) struct Recoveries {
    pub(crate) fault: String,
    pub(crate) column: &'static str,
    #[serde(skip)]
    heading: String,
    /// The median with minimum and maximum, or how many lost commits.
    pub(crate) base: String,
    pub(crate) new: String,
    pub(crate) comparison: Option<Comparison>,
    pub(crate) reason: Option<String>,
    /// For each side: the median, or the share of faults that lost commits, if known; and the number of faults.
    #[serde(skip)]
    centers: [(Option<f64>, usize); 2],
}

impl Recoveries {
    /// For CSV: medians, or the shares of faults that lost commits.
    pub(super) fn number(&self) -> super::Number {
        let [(base, base_n), (new, new_n)] = self.centers;
        super::Number {
            column: self.column,
            base: base.map(Estimate::exact),
            new: new.map(Estimate::exact),
            base_n,
            new_n,
            comparison: self.comparison,
            reason: self.reason.clone(),
            measured: [Vec::new(), Vec::new()],
        }
    }
}

/// Each number of each fault that either side has.
pub(super) fn all(sides: [&[&TrialSummary]; 2], interleaved: bool) -> Vec<Recoveries> {
    // An interrupted trial says nothing about what had not happened yet.
    let ended = sides.map(|trials| {
        let mut ended = trials.to_vec();
        ended.retain(|trial| trial.outcome != Outcome::Interrupted);
        ended
    });
    let sides = ended.each_ref().map(Vec::as_slice);
    let trials = || sides.into_iter().flatten();
    let is_restarted = |trial: &&TrialSummary| trial.setup.planned.server.is_restarted();
    let question = Question {
        boundary: Boundary::of_trials(trials()),
        ..question(
            Sense::LowerIsBetter,
            interleaved,
            trials().all(is_restarted),
        )
    };
    let faults = trials().flat_map(|trial| recovered(trial).map(move |one| (*trial, one)));
    let places = grouped(faults.map(|one| (one.1.0.place(), one)));
    let compared = || numbers().filter(|number| COMPARED.contains(&number.name));
    let rows = places.iter().flat_map(|(place, faults)| {
        let fault = faults.first().map_or_else(String::new, words_of_all);
        compared().chain([&LOSSES]).filter_map(move |number| {
            let [base, new] = sides.map(|side| in_repeats(side, *place, number));
            let is_loss = number.name == LOSSES.name;
            let shown = if is_loss { lost } else { times };
            let center = if is_loss { lost_share } else { median };
            let found = match is_loss {
                true => compare_ranks(&base, &new, &question),
                false => compare_observed(&base, &new, &question),
            };
            (!base.is_empty() || !new.is_empty()).then(|| Recoveries {
                fault: fault.clone(),
                column: number.name,
                heading: head(number).text(),
                base: shown(&base),
                new: shown(&new),
                centers: [&base, &new].map(|side| (center(side), side.len())),
                reason: found.as_ref().err().map(ToString::to_string),
                comparison: found.ok(),
            })
        })
    });
    rows.collect()
}

fn in_repeats(side: &[&TrialSummary], place: (u32, u32, u32), number: &Number) -> Vec<Observed> {
    let faults = side.iter().flat_map(|trial| {
        let same = recovered(trial).filter(move |(fault, _)| fault.place() == place);
        let values = same.filter_map(move |(_, found)| observation(number, found));
        values.map(move |value| (trial.setup.planned.repeat, value))
    });
    faults.collect()
}

fn times(observed: &[Observed]) -> String {
    let Some(all) = Distribution::of(observed.iter().map(|(_, value)| *value)) else {
        return number::ABSENT.to_owned();
    };
    let shown = number::observed_within(all.median(), all.min(), all.max());
    match all.values().len() - all.happened() {
        0 => shown,
        open => format!("{shown}, not over in {open} of {}", observed.len()),
    }
}

/// `None` if it is only known to be longer.
fn median(observed: &[Observed]) -> Option<f64> {
    let median = Distribution::of(observed.iter().map(|(_, value)| *value))?.median();
    (!median.is_censored()).then(|| median.bound())
}

fn lost_share(observed: &[Observed]) -> Option<f64> {
    let lost: f64 = observed.iter().map(|(_, lost)| lost.bound()).sum();
    (!observed.is_empty()).then(|| lost / observed.len() as f64)
}

fn lost(observed: &[Observed]) -> String {
    let lost = observed.iter().filter(|(_, lost)| lost.bound() > 0.0);
    lost_of(lost.count(), observed.len())
}

/// Decides all of them together, as a family separate from throughput and response times.
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
        .words(base, |(.., one)| &one.base)
        .words(new, |(.., one)| &one.new)
        .with("change %", |(.., one)| {
            let change = one.comparison?.change_pct;
            change.value.is_finite().then_some(change)
        })
        .words("verdict", |(.., one)| match &one.comparison {
            Some(found) => found.verdict(),
            None => one.reason.clone().unwrap_or_default(),
        });
    columns.grid(
        "Recovery compared: medians with the minimum and maximum, and the share of faults that lost \
         acknowledged commits with its exact interval. Change: the ratio of geometric means. Losses, \
         and times of which one is 0 or was not over when its trial ended (>), are compared by an exact \
         test of ranks, without an interval. The smaller number is faster. Family-wise error rate of \
         this table: 5 % (Holm).",
        rows,
    )
}
