//! The points of two sides, matched, and each number of one held against the other's.

use measure::compare::{Comparison, correct};
use measure::interval::Estimate;
use measure::result::RunResult;
use measure::summary::TrialSummary;
use serde::Serialize;

use crate::cell::Cell;
use crate::contest::{NUMBERS, against};
use crate::keys::{self, VARIANT};

/// A point that at least one side has.
#[derive(Debug, Serialize)]
pub(crate) struct Matched {
    /// Its values of all keys, those of the table's columns first.
    pub(crate) point: Vec<(String, String)>,
    /// As people say it; empty in a study of one point.
    pub(crate) name: String,
    pub(crate) numbers: Vec<Number>,
}

/// One number of both sides.
#[derive(Debug, Serialize)]
pub(crate) struct Number {
    pub(crate) column: &'static str,
    pub(crate) base: Option<Estimate>,
    pub(crate) new: Option<Estimate>,
    /// Trials of each that have it.
    pub(crate) base_n: usize,
    pub(crate) new_n: usize,
    pub(crate) comparison: Option<Comparison>,
    /// Why there is none.
    pub(crate) reason: Option<String>,
}

impl Matched {
    pub(crate) fn is_on_both(&self) -> bool {
        let mut numbers = self.numbers.iter();
        numbers.any(|number| number.base_n > 0 && number.new_n > 0)
    }
}

impl Number {
    /// By how many per cent of the base's mean the other's is more; without an interval
    /// where there is no comparison. `None` when a side has no mean.
    pub(super) fn change_pct(&self) -> Option<Estimate> {
        if let Some(found) = self.comparison {
            return Some(found.change_pct);
        }
        let (base, new) = (self.base?.value, self.new?.value);
        (base > 0.0).then(|| Estimate {
            value: 100.0 * (new / base - 1.0),
            half_width: None,
        })
    }
}

/// All points of a result whose two variants are the sides. What is shown is corrected
/// for how many numbers are compared at once.
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
    let mut keys_in_order: Vec<&str> = main.into_iter().collect();
    keys_in_order.extend(others.iter().filter(|key| Some(**key) != main));
    let groups = keys::groups(&trials, &keys_in_order).into_iter();
    let mut points: Vec<Matched> = groups
        .map(|group| {
            let side = |name: &str| -> Vec<&TrialSummary> {
                let trials = group.trials.iter().copied();
                trials
                    .filter(|trial| keys::value(trial, VARIANT) == name)
                    .collect()
            };
            let (base, new) = (side(base), side(new));
            let pairs = keys_in_order.iter().zip(&group.values);
            Matched {
                point: pairs
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect(),
                name: keys::name(&keys_in_order, &group.values, &axes),
                numbers: numbers(&base, &new, interleaved),
            }
        })
        .collect();
    correct_all(points.iter_mut().collect());
    points
}

fn numbers(base: &[&TrialSummary], new: &[&TrialSummary], interleaved: bool) -> Vec<Number> {
    let numbers = NUMBERS.iter().map(|number| {
        let column = number.0;
        let (ours, theirs) = (Cell::of(base, column), Cell::of(new, column));
        let found = against(base, new, *number, interleaved);
        Number {
            column,
            base: ours.estimate,
            new: theirs.estimate,
            base_n: ours.n,
            new_n: theirs.n,
            reason: found.as_ref().err().map(ToString::to_string),
            comparison: found.ok(),
        }
    });
    numbers.collect()
}

/// Corrects for how many numbers of these points are compared.
pub(super) fn correct_all(points: Vec<&mut Matched>) {
    let numbers = points.into_iter().flat_map(|point| &mut point.numbers);
    let known = numbers.filter_map(|number| number.comparison.as_mut());
    let known: Vec<&mut Comparison> = known.collect();
    let mut family: Vec<Comparison> = known.iter().map(|known| **known).collect();
    correct(&mut family);
    for (known, corrected) in known.into_iter().zip(family) {
        *known = corrected;
    }
}
