//! Whether results ran the same workload; otherwise their numbers cannot be compared.

use std::collections::{BTreeMap, BTreeSet};

use measure::result::RunResult;
use measure::work;

use crate::keys;
use crate::list::listed;

/// How the workloads of two results differ, each as `data.rows: 1,000 / 2,000`. What both vary is
/// compared at the points that they share.
pub fn workload_differences(one: &RunResult, other: &RunResult) -> Vec<String> {
    let sides = [Side::of(one), Side::of(other)];
    let unlike = work::keys().enumerate().filter_map(|(place, key)| {
        let [ones, others] = match sides.iter().all(|side| side.varies(key.name)) {
            true => at_a_point(&sides, place)?,
            false => sides.each_ref().map(|side| side.values(place)),
        };
        (ones != others).then(|| format!("{}: {} / {}", key.name, shown(&ones), shown(&others)))
    });
    unlike.collect()
}

/// Everything that a key is in some trials.
type Values<'a> = BTreeSet<&'a str>;

/// A trial's point in order of its keys, with each value as it is shown.
type Point<'a> = Vec<(&'a str, String)>;

struct Side<'a> {
    axes: Vec<&'a str>,
    trials: Vec<(Point<'a>, Vec<String>)>,
}

impl<'a> Side<'a> {
    fn of(result: &'a RunResult) -> Self {
        let trials = result.trials.iter();
        Self {
            axes: keys::axes(result),
            trials: trials
                .map(|trial| &trial.setup.planned)
                .map(|planned| (keys::ordered(&planned.point), work::values(planned)))
                .collect(),
        }
    }

    fn varies(&self, key: &str) -> bool {
        self.axes.iter().any(|axis| work::is_changed_by(key, axis))
    }

    fn values(&self, place: usize) -> Values<'_> {
        self.trials.iter().map(|(_, work)| &*work[place]).collect()
    }

    fn by_point(&self, place: usize) -> BTreeMap<&Point<'a>, Values<'_>> {
        let mut points: BTreeMap<_, Values<'_>> = BTreeMap::new();
        for (point, work) in &self.trials {
            points.entry(point).or_default().insert(&work[place]);
        }
        points
    }
}

/// The values at the first point that both have and at which they differ.
fn at_a_point<'a>([one, other]: &'a [Side<'_>; 2], place: usize) -> Option<[Values<'a>; 2]> {
    let mut others = other.by_point(place);
    let points = one.by_point(place).into_iter();
    let mut pairs = points.filter_map(|(point, ones)| Some([ones, others.remove(point)?]));
    pairs.find(|[ones, others]| ones != others)
}

fn shown(values: &Values<'_>) -> String {
    listed(&values.iter().collect::<Vec<_>>())
}
