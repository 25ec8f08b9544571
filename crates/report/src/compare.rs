//! Compares two results, or two variants of one.
//!
//! ```text
//! sides -> merged (one result with both as variants) -> points -> sheet, csv, json
//! ```

mod cautions;
mod differences;
mod platforms;
mod points;
mod show;
mod words;

use measure::result::{Design, RunResult};
use measure::summary::TrialSummary;
use serde::Serialize;

use crate::keys::{self, VARIANT};
use crate::list::distinct;
use crate::sheet::Section;
use differences::Difference;
use points::{Average, Matched};

#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub name: &'a str,
    pub result: &'a RunResult,
    /// The variant that is intended; `None` for the whole result.
    pub variant: Option<&'a str>,
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
    /// What the first is called…
    pub(crate) base: String,
    /// …and the second.
    pub(crate) new: String,
    /// Whether both are of one run of one study, which runs all points in blocks: each
    /// repeat of every point before the next repeat of any.
    pub(crate) interleaved: bool,
    /// Every point that either side has.
    pub(crate) points: Vec<Matched>,
    pub(crate) averages: Vec<Average>,
    /// What differs as it was intended to: the settings of the variants.
    pub(crate) intended: Vec<Difference>,
    pub(crate) others: Vec<Difference>,
    /// What to know before it is trusted.
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
        points::decide_all(both.points.iter_mut());
        both
    }

    /// The same before the numbers are decided together.
    fn undecided(base: &Side<'_>, new: &Side<'_>, intended: &[IntendedSetting]) -> Self {
        let interleaved = std::ptr::eq(base.result, new.result);
        let merged = merge(base, new);
        let points = points::matched(&merged, base.name, new.name, interleaved);
        let differences = differences::all(base, new, &merged, intended);
        let (intended, others) = differences
            .into_iter()
            .partition(|difference| difference.is_intended(intended));
        Self {
            base: base.name.to_owned(),
            new: new.name.to_owned(),
            interleaved,
            cautions: cautions::cautions(base, new, &points),
            averages: points::averages(&points, interleaved),
            points,
            intended,
            others,
            merged,
        }
    }

    pub fn names(&self) -> [&str; 2] {
        [&self.base, &self.new]
    }

    /// Whether no point is on both sides.
    pub fn is_empty(&self) -> bool {
        let mut points = self.points.iter();
        !points.any(|point| point.is_on_both())
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

/// Each variant against the first.
fn of_variants(result: &RunResult) -> Option<Vec<ResultComparison>> {
    let variants = variants(result);
    let (base, others) = variants.split_first()?;
    let side = |variant| Side {
        name: variant,
        result,
        variant: Some(variant),
    };
    let all = others.iter();
    let all = all.map(|new| ResultComparison::undecided(&side(base), &side(new), &[]));
    let mut all: Vec<ResultComparison> = all.filter(|both| !both.is_empty()).collect();
    points::decide_all(all.iter_mut().flat_map(|both| &mut both.points));
    Some(all)
}

/// The variants of a study, in its order.
pub fn variants(result: &RunResult) -> Vec<&str> {
    let trials: Vec<_> = result.trials.iter().collect();
    let values = keys::values(&trials, VARIANT).into_iter();
    values.filter_map(|name| name?.as_text()).collect()
}

/// What the variants of a result are called where the sides are the variants.
const SETTING: &str = "setting";

/// The trials of both; all else is the base's.
fn merge(base: &Side<'_>, new: &Side<'_>) -> RunResult {
    let sides = [base, new];
    let axes = sides.iter().flat_map(|side| keys::axes(side.result));
    let axes = distinct(axes.filter(|key| *key != VARIANT));
    let settings = sides
        .iter()
        .any(|side| side.variant.is_none() && keys::axes(side.result).contains(&VARIANT));
    let mut all = vec![VARIANT];
    all.extend(settings.then_some(SETTING));
    all.extend(axes);
    let trials = sides.iter().flat_map(|side| {
        let trials = side.result.trials.iter();
        let wanted = trials.filter(|trial| {
            let variant = side.variant;
            variant.is_none() || keys::variant(trial) == variant
        });
        wanted.map(|trial| of_side(trial, side))
    });
    RunResult {
        title: format!("{} against {}", new.name, base.name),
        design: Design {
            trials: 0,
            axes: all.into_iter().map(str::to_owned).collect(),
            ..base.result.design.clone()
        },
        trials: trials.collect(),
        schema_version: base.result.schema_version,
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
