//! Compares two results, or two variants of one.
//!
//! ```text
//! sides -> merged (one result with both as variants) -> points -> sheet, csv, json
//! ```

mod carried;
mod differences;
mod look;
mod recoveries;
mod show;
mod words;

use measure::compare::{Change, Comparison, Gated, Measured, Question, average, decide};
use measure::interval::Estimate;
use measure::result::{Design, RunResult};
use measure::summary::TrialSummary;
use plan::Value;
use serde::{Serialize, Serializer};

use crate::cell::Cell;
use crate::keys::{self, VARIANT, others, trials_of};
use crate::list::distinct;
use crate::metric_comparison::{self, FLUSHED, NUMBERS, TestOrder};
use crate::sheet::Section;
use differences::Difference;
pub use look::{PointState, decided, point_state, too_few_starts};
use recoveries::Recoveries;

#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub name: &'a str,
    pub result: &'a RunResult,
    /// The variant that is intended; `None` for the whole result.
    pub variant: Option<&'a str>,
}

impl Side<'_> {
    fn has(&self, trial: &TrialSummary) -> bool {
        self.variant.is_none() || keys::variant(trial) == self.variant
    }
}

/// A setting of the servers that a study sets differently for two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntendedSetting {
    pub name: String,
    /// The study's value for the base; `None` where it does not set it.
    pub base: Option<String>,
    /// The study's value for the new side.
    pub new: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct ResultComparison {
    pub(crate) base: String,
    pub(crate) new: String,
    /// Whether both are of one run of one study, which runs all points in blocks: each
    /// repeat of every point before the next repeat of any.
    pub(crate) interleaved: bool,
    pub(crate) points: Vec<Matched>,
    pub(crate) averages: Vec<Average>,
    /// What differs as it was intended to: the settings of the variants.
    pub(crate) intended: Vec<Difference>,
    pub(crate) others: Vec<Difference>,
    pub(crate) cautions: Vec<String>,
    /// Both as variants of one result, for the figures.
    #[serde(skip)]
    merged: RunResult,
}

impl ResultComparison {
    /// Compares `new` with `base`; `intended` are the settings that a study sets differently for
    /// the two.
    pub fn of(base: &Side<'_>, new: &Side<'_>, intended: &[IntendedSetting]) -> Self {
        let mut both = Self::undecided(base, new, intended);
        decide_all(both.points.iter_mut());
        both
    }

    fn undecided(base: &Side<'_>, new: &Side<'_>, intended: &[IntendedSetting]) -> Self {
        let interleaved = std::ptr::eq(base.result, new.result);
        let merged = merge(base, new);
        let mut points = matched(&merged, base.name, new.name, interleaved);
        if let (true, Some(ours), Some(theirs)) = (interleaved, base.variant, new.variant) {
            for point in &mut points {
                point.find_carried(base.result, [ours, theirs]);
            }
        }
        let differences = differences::all(base, new, &merged, intended);
        let (intended, others) = differences
            .into_iter()
            .partition(|difference| difference.is_intended(intended, interleaved));
        Self {
            base: base.name.to_owned(),
            new: new.name.to_owned(),
            interleaved,
            cautions: words::cautions(base, new, &points),
            averages: averages(&points, interleaved),
            points,
            intended,
            others,
            merged,
        }
    }

    pub fn names(&self) -> [&str; 2] {
        [&self.base, &self.new]
    }

    pub fn is_empty(&self) -> bool {
        let mut numbers = self.points.iter().flat_map(|point| &point.numbers);
        !numbers.any(|number| number.base_n > 0 && number.new_n > 0)
    }

    /// The paper whose sign convention the study asks for.
    pub(crate) fn delta_as_in(&self) -> Option<&str> {
        self.merged.design.delta_as_in.as_deref()
    }
}

/// What the variants of a study cost against its first one, for its report; `None` without
/// variants that have a point in common.
pub(crate) fn answer(result: &RunResult) -> Option<Section> {
    match of_variants(result)?.as_slice() {
        [] => None,
        [one] => Some(show::answer(one)),
        several => Some(show::answers(several)),
    }
}

/// How the two variants of a study compare, in a few sentences; `None` with more or fewer.
pub(crate) fn headline(result: &RunResult) -> Option<String> {
    match of_variants(result)?.as_slice() {
        [one] if result.searches.is_empty() => Some(words::lead(one)),
        _ => None,
    }
}

fn of_variants(result: &RunResult) -> Option<Vec<ResultComparison>> {
    let variants = keys::variants(result);
    let (base, others) = variants.split_first()?;
    let side = |variant| Side {
        name: variant,
        result,
        variant: Some(variant),
    };
    let all = others.iter();
    let all = all.map(|new| ResultComparison::undecided(&side(base), &side(new), &[]));
    let mut all: Vec<ResultComparison> = all.filter(|both| !both.is_empty()).collect();
    decide_all(all.iter_mut().flat_map(|both| &mut both.points));
    Some(all)
}

/// What the variants of a result are called where the sides are the variants.
const SETTING: &str = "setting";

/// The trials of both; all else is the base's.
fn merge(base: &Side<'_>, new: &Side<'_>) -> RunResult {
    let sides = [base, new];
    let axes = sides.iter().flat_map(|side| keys::axes(side.result));
    let axes = distinct(axes.filter(|key| *key != VARIANT));
    let has_settings =
        |side: &&Side<'_>| side.variant.is_none() && keys::axes(side.result).contains(&VARIANT);
    let settings = sides.iter().any(has_settings).then_some(SETTING);
    let all = [VARIANT].into_iter().chain(settings).chain(axes);
    let trials = sides.iter().flat_map(|side| {
        let trials = side.result.trials.iter();
        let wanted = trials.filter(|trial| side.has(trial));
        wanted.map(|trial| of_side(trial, side))
    });
    RunResult {
        title: format!("{} against {}", new.name, base.name),
        design: Design {
            axes: all.map(str::to_owned).collect(),
            ..base.result.design.clone()
        },
        trials: trials.collect(),
        environment: base.result.environment.clone(),
        ..RunResult::default()
    }
}

fn of_side(trial: &TrialSummary, side: &Side<'_>) -> TrialSummary {
    let mut trial = trial.clone();
    let point = &mut trial.setup.planned.point;
    let own = point.insert(VARIANT.to_owned(), side.name.into());
    if let (None, Some(setting)) = (side.variant, own) {
        point.insert(SETTING.to_owned(), setting);
    }
    trial
}

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
    /// The carry-over between turns; `None` unless the variants took turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) carried: Option<Comparison>,
    #[serde(skip)]
    has_untested_writes: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) recoveries: Vec<Recoveries>,
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
    /// Finds the carry-over between two variants of one result, which may rule out verdicts.
    fn find_carried(&mut self, result: &RunResult, sides: [&str; 2]) {
        let mut trials = trials_of(result);
        trials.retain(|trial| {
            let mut point = self.point.iter();
            point.all(|(key, value)| keys::value(trial, key) == value.as_ref())
        });
        self.carried = measure::compare::carried(&trials, sides);
        let found = self
            .numbers
            .iter_mut()
            .filter_map(|one| one.comparison.as_mut());
        found.for_each(|found| carried::spoil(found, self.carried.as_ref()));
    }

    fn test_order(&self, column: &str) -> TestOrder {
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
    fn change_pct(&self) -> Option<Change> {
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
fn matched(merged: &RunResult, base: &str, new: &str, interleaved: bool) -> Vec<Matched> {
    let (trials, axes) = (trials_of(merged), keys::axes(merged));
    let others = others(&axes, VARIANT);
    let main = keys::main(&merged.design.tables, &trials, &others);
    let keys_in_order = distinct(main.into_iter().chain(others));
    let groups = keys::groups(&trials, &keys_in_order, &axes).into_iter();
    let points = groups.map(|group| {
        let pairs = keys_in_order.iter().zip(&group.values);
        let point = pairs.map(|(key, value)| ((*key).to_owned(), value.cloned()));
        let [base, new] = [base, new].map(|side| group.of_variant(side));
        let mut trials = group.trials.iter();
        Matched {
            point: point.collect(),
            open_loop: metric_comparison::is_open_loop(group.trials.iter().copied()),
            numbers: numbers(&base, &new, interleaved),
            carried: None,
            has_untested_writes: trials.any(|trial| carried::has_untested_writes(trial)),
            recoveries: recoveries::all([&base, &new], interleaved),
            name: group.name,
        }
    });
    points.collect()
}

fn numbers(base: &[&TrialSummary], new: &[&TrialSummary], interleaved: bool) -> Vec<Number> {
    let is_there = |number: &Number| number.column != FLUSHED || number.base_n + number.new_n > 0;
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
    numbers.filter(is_there).collect()
}

fn decide_all<'a>(points: impl Iterator<Item = &'a mut Matched>) {
    let mut points: Vec<&mut Matched> = points.collect();
    let gated = points.iter_mut().map(|point| point.gated());
    decide(&mut gated.collect::<Vec<_>>());
    recoveries::decide(points.into_iter());
}

/// The average change of each number over the points that have it, where there are several.
fn averages(points: &[Matched], interleaved: bool) -> Vec<Average> {
    let averages = NUMBERS.iter().filter_map(|(column, sense)| {
        let numbers = points.iter().flat_map(|point| &point.numbers);
        let compared = numbers.filter(|n| n.column == *column && n.comparison.is_some());
        let measured = compared.map(|number| number.measured.each_ref().map(Vec::as_slice));
        let measured: Vec<[&[Measured]; 2]> = measured.collect();
        if measured.len() < 2 {
            return None;
        }
        let mut found = points.iter().flat_map(|point| &point.numbers);
        let question = Question {
            boundary: found.find_map(|number| number.comparison?.question.boundary),
            ..metric_comparison::question(*sense, interleaved, true)
        };
        Some(Average {
            column,
            points: measured.len(),
            change_pct: average(&measured, &question).ok()?.change_pct,
        })
    });
    averages.collect()
}
