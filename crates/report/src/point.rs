//! The points of a study: trials that are repeats of each other.

use std::collections::BTreeMap;

use measure::result::RunResult;
use measure::summary::{TrialSummary, counted};
use serde::Serialize;

use crate::answer::AnswerError;
use crate::cell::Cell;
use crate::grid::Columns;
use crate::keys::{self, Group};
use crate::list::{around, distinct, joined};

/// A result that a question is about.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The category in which it competes; may be empty if there is only one.
    pub category: &'a str,
    /// Distinguishes it from the others: the name of its directory, for example.
    pub name: &'a str,
    pub result: &'a RunResult,
}

pub(crate) fn of_result(result: &RunResult) -> Vec<Group<'_>> {
    let axes = keys::axes(result);
    keys::groups(&keys::trials_of(result), &axes, &axes)
}

#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    /// At which of several points; empty when there is one.
    pub(crate) at: String,
    /// Trials that the throughput is the mean of.
    pub(crate) n: usize,
    pub(crate) tps: Cell,
    pub(crate) mean_ms: Cell,
    pub(crate) p99_ms: Cell,
    #[serde(skip)]
    pub(crate) trials: Vec<TrialSummary>,
}

impl Measured {
    pub(crate) fn of(point: &Group<'_>) -> Self {
        let tps = point.tps();
        Self {
            at: point.name.clone(),
            n: tps.n,
            tps,
            mean_ms: Cell::of(&point.trials, "response_ms.mean"),
            p99_ms: Cell::of(&point.trials, "response_ms.p99"),
            trials: counted(&point.trials).into_iter().cloned().collect(),
        }
    }
}

impl<'a, R: Copy + 'a> Columns<'a, R> {
    pub(crate) fn measured(self, of: impl Fn(R) -> &'a Measured + Copy + 'a) -> Self {
        self.with("tps", move |row| of(row).tps)
            .with("mean ms", move |row| of(row).mean_ms)
            .with("p99 ms", move |row| of(row).p99_ms)
    }

    pub(crate) fn measured_csv(self, of: impl Fn(R) -> &'a Measured + Copy + 'a) -> Self {
        self.estimate("tps", move |row| of(row).tps.estimate)
            .estimate("response_ms.mean", move |row| of(row).mean_ms.estimate)
            .cell("response_ms.p99", move |row| of(row).p99_ms)
    }
}

/// The points of some trials of one number of servers, of which the best stands for all.
pub(crate) struct Contest<'a> {
    pub(crate) instances: u32,
    /// Its value of the key that tells contests apart; empty without one.
    pub(crate) name: String,
    pub(crate) points: Vec<Group<'a>>,
}

/// The trials that have the values `wanted`, by their number of servers, from few to many, and by
/// their values of `across`.
pub(crate) fn contests<'a>(
    result: &'a RunResult,
    wanted: &Wanted,
    across: &[&str],
) -> Vec<Contest<'a>> {
    let axes = keys::axes(result);
    let mut of_instances: BTreeMap<u32, Vec<&TrialSummary>> = BTreeMap::new();
    for trial in having(result, wanted) {
        let instances = trial.setup.planned.topology.instances;
        of_instances.entry(instances).or_default().push(trial);
    }
    let axes = &axes;
    let contests = of_instances.into_iter().flat_map(|(instances, trials)| {
        let groups = keys::groups(&trials, across, axes).into_iter();
        groups.map(move |group| {
            let mut varied = axes.clone();
            varied.retain(|key| keys::values(&group.trials, key).len() > 1);
            Contest {
                instances,
                points: keys::groups(&group.trials, &varied, axes),
                name: group.name,
            }
        })
    });
    contests.collect()
}

/// The point with the most throughput; `None` when none has any.
pub(crate) fn best<'a, 'b>(points: &'b [Group<'a>]) -> Option<&'b Group<'a>> {
    let measured = points
        .iter()
        .filter_map(|point| Some((point, point.tps().value()?)));
    let best = measured.max_by(|(_, one), (_, other)| one.total_cmp(other));
    best.map(|(point, _)| point)
}

pub(crate) type Wanted = [(String, String)];

/// The trials that have these values; a key may be given by its last part
/// (`threads` for `load.threads`). A key that the study does not vary lets all pass.
pub(crate) fn having<'a>(result: &'a RunResult, wanted: &Wanted) -> Vec<&'a TrialSummary> {
    let axes = keys::axes(result);
    let has = |trial: &TrialSummary| {
        wanted.iter().all(|(key, value)| {
            let varied = axes.iter().find(|axis| is_meant(axis, key, &axes));
            varied.is_none_or(|axis| keys::shown(keys::value(trial, axis)) == *value)
        })
    };
    result.trials.iter().filter(|trial| has(trial)).collect()
}

/// Refuses a key of `wanted` that no result varies.
pub(crate) fn check<'a>(
    wanted: &Wanted,
    results: impl IntoIterator<Item = &'a RunResult>,
) -> Result<(), AnswerError> {
    let axes = distinct(results.into_iter().flat_map(keys::axes));
    let meant = |key: &str| axes.iter().any(|axis| is_meant(axis, key, &axes));
    match wanted.iter().find(|(key, _)| !meant(key)) {
        None => Ok(()),
        Some((key, _)) => Err(AnswerError::NoSuchKey {
            key: key.clone(),
            varied: match axes.is_empty() {
                true => "nothing".to_owned(),
                false => axes.join(", "),
            },
        }),
    }
}

/// ` at threads=16`, or nothing.
pub(crate) fn at(wanted: &Wanted) -> String {
    let pairs = wanted.iter().map(|(key, value)| format!("{key}={value}"));
    around(" at ", &joined(pairs, ", "), "")
}

/// Whether `key` as typed stands for `axis`.
fn is_meant(axis: &str, key: &str, axes: &[&str]) -> bool {
    key == axis || key == keys::short(axis, axes)
}
