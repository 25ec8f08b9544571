//! Response time by percentile.

use measure::curve::together;
use measure::result::RunResult;
use measure::summary::{TrialSummary, counted};
use serde::Serialize;

use crate::keys;

/// Response time by percentile at one point of the study.
#[derive(Debug, Serialize)]
pub(super) struct Curve {
    name: String,
    /// Its point and its variant (0 or 1), in a comparison of two variants.
    pair: Option<(usize, usize)>,
    count: u64,
    quantile: Vec<f64>,
    ms: Vec<f64>,
}

/// Of every point of the study; of a search, of each step.
pub(super) fn curves(result: &RunResult) -> Vec<Curve> {
    let trials: Vec<&TrialSummary> = result.trials.iter().collect();
    let axes = keys::axes(result);
    let groups: Vec<Vec<&TrialSummary>> = match result.searches.is_empty() {
        true => keys::groups(&trials, &axes)
            .into_iter()
            .map(|group| group.trials)
            .collect(),
        false => trials.into_iter().map(|step| vec![step]).collect(),
    };
    let groups = groups.iter();
    groups
        .filter_map(|trials| curve(trials, None, result))
        .collect()
}

/// Of both at each point, one after the other.
pub(super) fn curves_of_two(result: &RunResult, variants: [&str; 2]) -> Vec<Curve> {
    let trials: Vec<&TrialSummary> = result.trials.iter().collect();
    let mut axes = keys::axes(result);
    axes.retain(|key| *key != keys::VARIANT);
    let points = keys::groups(&trials, &axes).into_iter().enumerate();
    let curves = points.flat_map(|(point, group)| {
        let sides = variants.into_iter().enumerate();
        sides.filter_map(move |(side, variant)| {
            let trials = group.trials.iter().copied();
            let trials = trials.filter(|trial| keys::variant(trial) == Some(variant));
            curve(&trials.collect::<Vec<_>>(), Some((point, side)), result)
        })
    });
    curves.collect()
}

/// Of all transactions of the trials that count.
fn curve(
    trials: &[&TrialSummary],
    pair: Option<(usize, usize)>,
    result: &RunResult,
) -> Option<Curve> {
    let counted = counted(trials);
    let name = match counted.as_slice() {
        [] => return None,
        [one] => keys::trial_name(one, result),
        [first, ..] => keys::repeats_name(first, counted.len(), result),
    };
    let parts = counted.iter().map(|trial| {
        let curve = trial.response_curve.as_slice();
        (trial.transactions.count, curve)
    });
    let parts: Vec<_> = parts.collect();
    let points = together(&parts);
    let rounded = |ms: f64| (ms * 1000.0).round() / 1000.0;
    Some(Curve {
        name,
        pair,
        count: parts.iter().map(|(count, _)| count).sum(),
        quantile: points.iter().map(|point| point.quantile).collect(),
        ms: points.iter().map(|point| rounded(point.ms)).collect(),
    })
}
