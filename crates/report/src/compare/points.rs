//! The points of two sides, matched, and each number of one compared with the other's.

use measure::compare::{Change, Comparison, Gated, Measured, average, decide};
use measure::interval::Estimate;
use measure::result::RunResult;
use measure::summary::TrialSummary;
use plan::Value;
use serde::{Serialize, Serializer};

use crate::cell::Cell;
use crate::keys::{self, VARIANT};
use crate::list::distinct;
use crate::metric_comparison::{self, NUMBERS, TestOrder};

/// A point that at least one side has.
#[derive(Debug, Serialize)]
pub(crate) struct Matched {
    /// Its values of all keys, those of the table's columns first.
    #[serde(serialize_with = "as_object")]
    pub(crate) point: Vec<(String, Option<Value>)>,
    /// For display; empty in a study of one point.
    pub(crate) name: String,
    /// Whether transactions arrive at a rate, so that the mean response time is tested first.
    pub(crate) open_loop: bool,
    pub(crate) numbers: Vec<Number>,
}

fn as_object<S: Serializer>(
    point: &[(String, Option<Value>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(point.iter().map(|(key, value)| (key, value)))
}

#[derive(Debug, Serialize)]
pub(crate) struct Number {
    pub(crate) column: &'static str,
    pub(crate) base: Option<Estimate>,
    pub(crate) new: Option<Estimate>,
    /// Trials of each that have it.
    pub(crate) base_n: usize,
    pub(crate) new_n: usize,
    pub(crate) comparison: Option<Comparison>,
    pub(crate) reason: Option<String>,
    #[serde(skip)]
    measured: [Vec<Measured>; 2],
}

#[derive(Debug, Serialize)]
pub(crate) struct Average {
    pub(crate) column: &'static str,
    pub(crate) points: usize,
    /// With its 95 % interval, over the blocks.
    pub(crate) change_pct: Change,
}

impl Matched {
    pub(crate) fn is_on_both(&self) -> bool {
        let mut numbers = self.numbers.iter();
        numbers.any(|number| number.base_n > 0 && number.new_n > 0)
    }

    /// When a number of this point is tested.
    pub(super) fn test_order(&self, column: &str) -> TestOrder {
        metric_comparison::test_order(column, self.open_loop)
    }

    /// Its comparisons in the order in which they are tested.
    fn gated(&mut self) -> Gated<'_> {
        let open_loop = self.open_loop;
        let mut gated = Gated {
            first: None,
            then: Vec::new(),
        };
        for number in &mut self.numbers {
            let turn = metric_comparison::test_order(number.column, open_loop);
            match (&mut number.comparison, turn) {
                (Some(found), TestOrder::Primary) => gated.first = Some(found),
                (Some(found), TestOrder::Secondary) => gated.then.push(found),
                (Some(found), TestOrder::Never(reason)) if found.is_tested() => {
                    found.leave_open(reason);
                }
                _ => {}
            }
        }
        gated
    }
}

impl Number {
    /// By how many per cent the new mean is above the base's; without an interval where there
    /// is no comparison. `None` when a side has no mean.
    pub(super) fn change_pct(&self) -> Option<Change> {
        if let Some(found) = self.comparison {
            return Some(found.change_pct);
        }
        let (base, new) = (self.base?.value, self.new?.value);
        (base > 0.0).then(|| Change {
            value: 100.0 * (new / base - 1.0),
            interval: None,
        })
    }
}

/// All points of a result whose two variants are the sides, each number compared as if it
/// were alone.
pub(super) fn matched(
    merged: &RunResult,
    base: &str,
    new: &str,
    interleaved: bool,
) -> Vec<Matched> {
    let axes = keys::axes(merged);
    let trials: Vec<&TrialSummary> = merged.trials.iter().collect();
    let others: Vec<&str> = axes.iter().copied().filter(|key| *key != VARIANT).collect();
    let main = keys::main(&merged.design.tables, &trials, &others);
    let keys_in_order = distinct(main.into_iter().chain(others));
    let groups = keys::groups(&trials, &keys_in_order).into_iter();
    let points = groups.map(|group| {
        let side = |name: &str| -> Vec<&TrialSummary> {
            let trials = group.trials.iter().copied();
            trials
                .filter(|trial| keys::variant(trial) == Some(name))
                .collect()
        };
        let (base, new) = (side(base), side(new));
        let pairs = keys_in_order.iter().zip(&group.values);
        let point = pairs.map(|(key, value)| ((*key).to_owned(), value.cloned()));
        Matched {
            point: point.collect(),
            name: keys::name(&keys_in_order, &group.values, &axes),
            open_loop: metric_comparison::is_open_loop(&group.trials),
            numbers: numbers(&base, &new, interleaved),
        }
    });
    points.collect()
}

fn numbers(base: &[&TrialSummary], new: &[&TrialSummary], interleaved: bool) -> Vec<Number> {
    let numbers = NUMBERS.iter().map(|number| {
        let column = number.0;
        let (ours, theirs) = (Cell::of(base, column), Cell::of(new, column));
        let found = metric_comparison::against(base, new, *number, interleaved);
        Number {
            column,
            base: ours.estimate,
            new: theirs.estimate,
            base_n: ours.n,
            new_n: theirs.n,
            reason: found.as_ref().err().map(ToString::to_string),
            comparison: found.ok(),
            measured: [base, new].map(|trials| metric_comparison::measured(trials, column)),
        }
    });
    numbers.collect()
}

/// Decides all numbers of these points together.
pub(super) fn decide_all<'a>(points: impl Iterator<Item = &'a mut Matched>) {
    let mut gated: Vec<Gated<'_>> = points.map(Matched::gated).collect();
    decide(&mut gated);
}

/// The average change of each number over the points that have it, where there are several.
pub(super) fn averages(points: &[Matched], interleaved: bool) -> Vec<Average> {
    let averages = NUMBERS.iter().filter_map(|(column, sense)| {
        let numbers = points.iter().flat_map(|point| &point.numbers);
        let compared = numbers.filter(|n| n.column == *column && n.comparison.is_some());
        let measured = compared.map(|number| number.measured.each_ref().map(Vec::as_slice));
        let measured: Vec<[&[Measured]; 2]> = measured.collect();
        if measured.len() < 2 {
            return None;
        }
        let question = metric_comparison::question(*sense, interleaved, true);
        Some(Average {
            column,
            points: measured.len(),
            change_pct: average(&measured, &question).ok()?.change_pct,
        })
    });
    averages.collect()
}
