//! The same study again and again: each point of it in the order of time, and where its
//! level changed.
//!
//! ```text
//! runs (oldest first) -> courses (one for each point), each with its changes -> sheet, csv, json
//! ```

mod show;

use measure::change_point::{ChangePoint, in_history};
use measure::interval::Estimate;
use measure::result::RunResult;
use measure::summary::{TrialSummary, counted};
use serde::Serialize;

use crate::cell::Cell;
use crate::findings;
use crate::keys;
use crate::list::distinct;
use crate::metric_comparison;
use crate::point::{self, NoSuchKey};
use crate::result_cautions;

/// Fewest results in which a change can be seen: three before it and three after.
const FEWEST: usize = 6;

/// A result of the study.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The name of its directory.
    pub name: &'a str,
    /// What it found.
    pub result: &'a RunResult,
}

/// A study over time.
#[derive(Debug, Serialize)]
pub struct History {
    courses: Vec<Course>,
    /// What to know before it is trusted.
    cautions: Vec<String>,
    /// Version of the dyno that measured the latest of them.
    #[serde(skip)]
    version: String,
}

/// One point of the study over time.
#[derive(Debug, Serialize)]
struct Course {
    /// For display: `threads=16`; empty in a study of one point.
    point: String,
    /// Oldest first.
    entries: Vec<Entry>,
    /// Where throughput changed its level; `at` is the place among the entries, from 0. Not tested
    /// in an open loop, whose arrival rate it is.
    changes: Vec<ChangePoint>,
    /// The same of the mean response time. Not tested in a closed loop, where it follows from
    /// throughput, nor where an entry has no such time.
    response_changes: Vec<ChangePoint>,
}

/// One point of one result.
#[derive(Debug, Serialize)]
struct Entry {
    /// When the result was begun (RFC 3339, UTC).
    started: String,
    name: String,
    /// Engine and version.
    engine: String,
    /// Trials that count.
    n: usize,
    /// Transactions per second.
    tps: Estimate,
    mean_ms: Option<Estimate>,
    p99_ms: Cell,
    #[serde(skip)]
    is_open_loop: bool,
}

/// There is nothing to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// A point was asked for that is not there.
    #[error(transparent)]
    NoSuchKey(#[from] NoSuchKey),
    /// Nothing is left to show.
    #[error("no result has a valid trial{}", point::at(.0))]
    Nothing(Vec<(String, String)>),
}

impl History {
    /// Of every point that has the values of `wanted` (key and value); runs may come in any
    /// order.
    pub fn of(runs: &[Run<'_>], wanted: &[(String, String)]) -> Result<Self, HistoryError> {
        let mut runs = runs.to_vec();
        runs.sort_by(|a, b| started(a).cmp(started(b)));
        let known = distinct(runs.iter().flat_map(|run| keys::axes(run.result)));
        point::check(wanted, &known)?;
        let mut courses: Vec<Course> = Vec::new();
        for run in &runs {
            for (point, entry) in entries(run, wanted) {
                match courses.iter_mut().find(|course| course.point == point) {
                    Some(course) => course.entries.push(entry),
                    None => courses.push(Course {
                        point,
                        entries: vec![entry],
                        changes: Vec::new(),
                        response_changes: Vec::new(),
                    }),
                }
            }
        }
        if courses.is_empty() {
            return Err(HistoryError::Nothing(wanted.to_vec()));
        }
        let histories = courses.len();
        for course in &mut courses {
            course.find_changes(histories);
        }
        let cautions = cautions(&runs, wanted);
        let latest = runs.last().map(|run| &run.result.environment);
        Ok(Self {
            courses,
            cautions,
            version: latest.map_or(String::new(), |latest| latest.dyno_version.clone()),
        })
    }

    /// Results of the point that has the most.
    fn longest(&self) -> usize {
        let lengths = self.courses.iter().map(|course| course.entries.len());
        lengths.max().unwrap_or(0)
    }
}

impl Course {
    /// Tests the primary metric, sharing the chance of a false alarm with so many histories.
    fn find_changes(&mut self, histories: usize) {
        let entries = || self.entries.iter();
        if entries().any(|entry| entry.is_open_loop) {
            let times: Option<Vec<f64>> = entries().map(|one| Some(one.mean_ms?.value)).collect();
            self.response_changes = in_history(&times.unwrap_or_default(), histories);
        } else {
            let tps: Vec<f64> = entries().map(|entry| entry.tps.value).collect();
            self.changes = in_history(&tps, histories);
        }
    }
}

fn started<'a>(run: &Run<'a>) -> &'a str {
    &run.result.environment.started
}

/// Those of one result that have the values that are wanted.
fn trials<'a>(run: &Run<'a>, wanted: &[(String, String)]) -> Vec<&'a TrialSummary> {
    let all: Vec<&TrialSummary> = run.result.trials.iter().collect();
    point::having(&all, &keys::axes(run.result), wanted)
}

/// The points of one result with their numbers.
fn entries(run: &Run<'_>, wanted: &[(String, String)]) -> Vec<(String, Entry)> {
    let axes = keys::axes(run.result);
    let trials = trials(run, wanted);
    let points = point::points(&trials, &axes, &axes).into_iter();
    let entries = points.filter_map(|point| {
        let counted = counted(&point.trials);
        let first = counted.first()?;
        let entry = Entry {
            started: started(run).to_owned(),
            name: run.name.to_owned(),
            engine: first.setup.engine.clone(),
            n: point.tps.n,
            tps: point.tps.estimate?,
            mean_ms: Cell::of(&point.trials, "response_ms.mean").estimate,
            p99_ms: Cell::of(&point.trials, "response_ms.p99"),
            is_open_loop: metric_comparison::is_open_loop(&counted),
        };
        Some((point.name, entry))
    });
    entries.collect()
}

fn cautions(runs: &[Run<'_>], wanted: &[(String, String)]) -> Vec<String> {
    let hosts = distinct(runs.iter().filter_map(|run| {
        let environment = &run.result.environment;
        environment.hostname.as_deref()
    }));
    let several = (hosts.len() > 1).then(|| {
        format!(
            "The results are from several hosts ({}), which may explain a change.",
            hosts.join(", ")
        )
    });
    let left_out = runs.iter().flat_map(|run| {
        let left_out = findings::left_out(run.result).into_iter();
        left_out.map(|words| format!("{}: {words}", run.name))
    });
    let cautioned = runs.iter().flat_map(|run| {
        let trials = counted(&trials(run, wanted));
        result_cautions::named(run.name, result_cautions::of(&trials, run.result))
    });
    let at_a_rate = result_cautions::at_a_rate(runs.iter().flat_map(|run| trials(run, wanted)));
    let of_all = [several, at_a_rate].into_iter().flatten();
    of_all.chain(left_out).chain(cautioned).collect()
}
