//! Whether results ran the same workload; otherwise their numbers cannot be compared.

use std::collections::{BTreeMap, BTreeSet};

use measure::result::RunResult;
use measure::summary::TrialSummary;
use measure::work::{MUST, Must};

use crate::keys;
use crate::list::listed;

/// How the workloads of two results differ, each as `rows in each table: 1,000 / 2,000`. What
/// both vary is compared at the points that they share.
#[must_use]
pub fn unlike(one: &RunResult, other: &RunResult) -> Vec<String> {
    let unlike = MUST.iter().filter_map(|must| {
        let (ones, others) = match varies(one, must) && varies(other, must) {
            true => at_a_point(one, other, must)?,
            false => (of(&one.trials, must), of(&other.trials, must)),
        };
        (ones != others).then(|| format!("{}: {} / {}", must.name, shown(&ones), shown(&others)))
    });
    unlike.collect()
}

fn varies(result: &RunResult, must: &Must) -> bool {
    let mut axes = keys::axes(result).into_iter();
    axes.any(|key| must.is_changed_by(key))
}

/// Everything that it is in some trials.
type Values = BTreeSet<String>;

fn of<'a>(trials: impl IntoIterator<Item = &'a TrialSummary>, must: &Must) -> Values {
    trials.into_iter().map(|t| must.of(&t.setup)).collect()
}

/// The values at the first point that both have and at which they differ.
fn at_a_point(one: &RunResult, other: &RunResult, must: &Must) -> Option<(Values, Values)> {
    let mut others = by_point(other, must);
    let mut pairs = by_point(one, must)
        .into_iter()
        .filter_map(|(point, ones)| Some((ones, others.remove(&point)?)));
    pairs.find(|(ones, others)| ones != others)
}

/// The values at each point, whose keys are in alphabetical order.
fn by_point<'a>(
    result: &'a RunResult,
    must: &Must,
) -> BTreeMap<BTreeSet<&'a (String, String)>, Values> {
    let mut points: BTreeMap<_, Values> = BTreeMap::new();
    for trial in &result.trials {
        let values = points.entry(trial.point.iter().collect()).or_default();
        values.insert(must.of(&trial.setup));
    }
    points
}

fn shown(values: &Values) -> String {
    listed(&values.iter().collect::<Vec<_>>())
}
