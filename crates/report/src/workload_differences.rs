//! Whether results ran the same workload; otherwise their numbers cannot be compared.

use std::collections::{BTreeMap, BTreeSet};

use measure::result::RunResult;
use measure::work;

use crate::keys;
use crate::list::listed;

/// How the workloads of two results differ, each as `data.rows: 1,000 / 2,000`. What both vary is
/// compared at the points that they share.
pub fn workload_differences(one: &RunResult, other: &RunResult) -> Vec<String> {
    let axes = [one, other].map(keys::axes);
    let trials = [one, other].map(trials);
    let unlike = work::keys().enumerate().filter_map(|(place, key)| {
        let is_varied =
            |axes: &Vec<&str>| axes.iter().any(|axis| work::is_changed_by(key.name, axis));
        let are_varied = axes.iter().all(is_varied);
        let [ones, mut others] = trials
            .each_ref()
            .map(|trials| values(trials, place, are_varied));
        let mut pairs = ones
            .into_iter()
            .filter_map(|(point, ones)| Some([ones, others.remove(&point)?]));
        let unlike = pairs.find(|[ones, others]| ones != others)?;
        let [ones, others] = unlike.map(Vec::from_iter);
        Some(format!(
            "{}: {} / {}",
            key.name,
            listed(&ones),
            listed(&others)
        ))
    });
    unlike.collect()
}

/// A trial's point and its work.
type Trial<'a> = (Vec<(&'a str, String)>, Vec<String>);

fn trials(result: &RunResult) -> Vec<Trial<'_>> {
    let planned = result.trials.iter().map(|trial| &trial.setup.planned);
    let trials = planned.map(|planned| (keys::ordered(&planned.point), work::values(planned)));
    trials.collect()
}

/// All values of a key: at each point, or everywhere.
fn values<'a>(
    trials: &'a [Trial<'_>],
    place: usize,
    is_varied: bool,
) -> BTreeMap<&'a [(&'a str, String)], BTreeSet<&'a str>> {
    let mut points: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for (point, work) in trials {
        let point = if is_varied { point.as_slice() } else { &[] };
        points.entry(point).or_default().insert(&work[place]);
    }
    points
}
