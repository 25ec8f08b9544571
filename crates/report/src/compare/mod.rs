//! What one side of an experiment costs against the other: two results, or two variants
//! of one.
//!
//! ```text
//! sides -> merged (one result with both as variants) -> points -> sheet, csv, json
//! ```

mod differences;
mod merged;
mod points;
mod show;
mod table;
mod words;

use measure::result::RunResult;
use serde::Serialize;

use crate::answer::Answer;
use crate::figures::Overview;
use crate::keys;
use crate::sheet::{Section, Sheet};
use differences::Difference;
use points::Matched;

/// One of two.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What it found.
    pub result: &'a RunResult,
    /// The variant that is meant; `None` for the whole result.
    pub variant: Option<&'a str>,
}

/// Two sides, point by point.
#[derive(Debug, Serialize)]
pub struct SideBySide {
    /// What the first is called…
    pub(crate) base: String,
    /// …and the second.
    pub(crate) new: String,
    /// Every point that either side has.
    pub(crate) points: Vec<Matched>,
    /// What differs as it was meant to: the settings of the variants.
    pub(crate) meant: Vec<Difference>,
    /// What else differs.
    pub(crate) besides: Vec<Difference>,
    /// What to know before it is believed.
    pub(crate) cautions: Vec<String>,
    /// Both as variants of one result, for the figures.
    #[serde(skip)]
    merged: RunResult,
}

impl SideBySide {
    /// Holds `new` against `base`; `meant` are the names of settings that a study sets
    /// differently for the two.
    #[must_use]
    pub fn of(base: &Side<'_>, new: &Side<'_>, meant: &[String]) -> Self {
        let together = std::ptr::eq(base.result, new.result);
        let merged = merged::merge(base, new);
        let points = points::matched(&merged, base.name, new.name, together);
        let differences = differences::all(base, new, &merged);
        let (meant, besides) = differences
            .into_iter()
            .partition(|difference| difference.is_meant(meant));
        Self {
            base: base.name.to_owned(),
            new: new.name.to_owned(),
            cautions: words::cautions(base, new, &points),
            points,
            meant,
            besides,
            merged,
        }
    }

    /// What the two are called.
    #[must_use]
    pub fn names(&self) -> [&str; 2] {
        [&self.base, &self.new]
    }

    /// Whether no point is on both sides.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let mut points = self.points.iter();
        !points.any(|point| point.is_on_both())
    }

    /// Whether the monitors saw the CPUs.
    pub(crate) fn has_cpu(&self) -> bool {
        let mut trials = self.merged.trials.iter();
        trials.any(|trial| trial.metrics.contains_key("cpu.user"))
    }
}

impl Answer for SideBySide {
    fn sheet(&self) -> Sheet {
        show::sheet(self)
    }

    fn csv(&self) -> String {
        show::csv(self)
    }

    fn version(&self) -> &str {
        &self.merged.environment.dyno_version
    }

    fn figures(&self) -> Option<Overview> {
        Some(Overview::of_two(&self.merged, self.names()))
    }
}

/// What the variants of a study cost against its first one, for its report; `None` without
/// variants that have a point in common.
pub(crate) fn answer(result: &RunResult) -> Option<Section> {
    let variants = variants(result);
    let (base, others) = variants.split_first()?;
    let side = |variant| Side {
        name: variant,
        result,
        variant: Some(variant),
    };
    let all = others.iter();
    let all = all.map(|new| SideBySide::of(&side(base), &side(new), &[]));
    let mut all: Vec<SideBySide> = all.filter(|both| !both.is_empty()).collect();
    match all.as_mut_slice() {
        [] => None,
        [one] => Some(show::answer(one)),
        several => {
            let points = several.iter_mut().flat_map(|both| &mut both.points);
            points::correct_all(points.collect());
            Some(show::answers(several))
        }
    }
}

/// The variants of a study, in its order.
#[must_use]
pub fn variants(result: &RunResult) -> Vec<&str> {
    let trials: Vec<_> = result.trials.iter().collect();
    match keys::axes(result).contains(&keys::VARIANT) {
        true => keys::values(&trials, keys::VARIANT),
        false => Vec::new(),
    }
}
