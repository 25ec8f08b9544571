//! The points of a study: trials that are repeats of each other.

use std::collections::BTreeMap;

use measure::summary::TrialSummary;

use crate::cell::Cell;
use crate::keys;

/// The trials of one point.
#[derive(Debug, Clone)]
pub(crate) struct Point<'a> {
    /// For display: `threads=16, ext4`; empty in a study of one point.
    pub(crate) name: String,
    pub(crate) trials: Vec<&'a TrialSummary>,
    pub(crate) tps: Cell,
}

/// All points by the values of `keys`, which are some of the study's `axes`.
pub(crate) fn points<'a>(
    trials: &[&'a TrialSummary],
    keys: &[&str],
    axes: &[&str],
) -> Vec<Point<'a>> {
    let groups = keys::groups(trials, keys).into_iter();
    groups
        .map(|group| Point {
            name: keys::name(keys, &group.values, axes),
            tps: Cell::of(&group.trials, "tps"),
            trials: group.trials,
        })
        .collect()
}

/// The trials of each number of servers, from few to many.
pub(crate) fn by_instances<'a>(
    trials: &[&'a TrialSummary],
) -> BTreeMap<u32, Vec<&'a TrialSummary>> {
    let mut groups: BTreeMap<u32, Vec<&TrialSummary>> = BTreeMap::new();
    for trial in trials {
        groups
            .entry(trial.setup.planned.topology.instances)
            .or_default()
            .push(trial);
    }
    groups
}

/// The keys in which these trials differ.
pub(crate) fn varied<'a>(trials: &[&TrialSummary], axes: &[&'a str]) -> Vec<&'a str> {
    let axes = axes.iter().copied();
    axes.filter(|key| keys::values(trials, key).len() > 1)
        .collect()
}

/// The point with the most throughput; `None` when none has any.
pub(crate) fn best<'a, 'b>(points: &'b [Point<'a>]) -> Option<&'b Point<'a>> {
    let measured = points.iter().filter(|point| point.tps.estimate.is_some());
    measured.max_by(|a, b| {
        let tps = |point: &Point<'_>| point.tps.value().unwrap_or(0.0);
        tps(a).total_cmp(&tps(b))
    })
}

/// The trials that have these values; a key may be given by its last part
/// (`threads` for `load.threads`). A key that the study does not vary lets all pass.
pub(crate) fn having<'a>(
    trials: &[&'a TrialSummary],
    axes: &[&str],
    wanted: &[(String, String)],
) -> Vec<&'a TrialSummary> {
    let has = |trial: &TrialSummary| {
        wanted.iter().all(|(key, value)| {
            let varied = axes.iter().find(|axis| is_meant(axis, key, axes));
            varied.is_none_or(|axis| keys::shown(keys::value(trial, axis)) == *value)
        })
    };
    trials.iter().copied().filter(|trial| has(trial)).collect()
}

/// A key was asked for that is the same in all trials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is not varied; what is: {varied}")]
pub struct NoSuchKey {
    /// As asked.
    key: String,
    /// What there is.
    varied: String,
}

/// Refuses a key of `wanted` that is none of `axes`.
pub(crate) fn check(wanted: &[(String, String)], axes: &[&str]) -> Result<(), NoSuchKey> {
    let meant = |key: &str| axes.iter().any(|axis| is_meant(axis, key, axes));
    match wanted.iter().find(|(key, _)| !meant(key)) {
        None => Ok(()),
        Some((key, _)) => Err(NoSuchKey {
            key: key.clone(),
            varied: match axes.is_empty() {
                true => "nothing".to_owned(),
                false => axes.join(", "),
            },
        }),
    }
}

/// ` at threads=16`, or nothing.
pub(crate) fn at(wanted: &[(String, String)]) -> String {
    let pairs = wanted.iter().map(|(key, value)| format!("{key}={value}"));
    match wanted.is_empty() {
        true => String::new(),
        false => format!(" at {}", pairs.collect::<Vec<_>>().join(", ")),
    }
}

/// Whether `key` as typed stands for `axis`.
pub(crate) fn is_meant(axis: &str, key: &str, axes: &[&str]) -> bool {
    key == axis || key == keys::short(axis, axes)
}
