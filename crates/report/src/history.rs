//! The same study again and again: each point of it in the order of time, and where its
//! level changed.
//!
//! ```text
//! results (oldest first) -> courses (one for each point), each with its changes -> sheet, csv, json
//! ```

use measure::change_point::{ChangePoint, in_history};
use measure::summary::counted;
use serde::Serialize;

use crate::answer::{Answer, AnswerError};
use crate::cell::{FEW, PERCENTILES};
use crate::grid::{Columns, Grid};
use crate::list::{around, distinct, grouped, joined, joined_any};
use crate::metric_comparison::is_open_loop;
use crate::point::{self, Measured, Source, Wanted};
use crate::sheet::{Block, Sheet};
use crate::{findings, keys, number};

/// Fewest results in which a change can be seen: three before it and three after.
const FEWEST: usize = 6;

const CELLS: &str = "Oldest first. ±: half width of the 95 % confidence interval, over the n \
                     trials, or over the seconds of a single one. Level: where throughput or mean \
                     response time changed; each level spans at least three results. False-positive \
                     rate: at most 2 %.";

#[derive(Debug, Serialize)]
pub struct History {
    courses: Vec<Course>,
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
    entries: Vec<Entry>,
    /// Where throughput changed its level; `at` is the place among the entries, from 0. Not tested
    /// in an open loop, whose arrival rate it is.
    changes: Vec<ChangePoint>,
    /// The same of the mean response time. Not tested in a closed loop, where it follows from
    /// throughput, nor where an entry has no such time.
    response_changes: Vec<ChangePoint>,
}

#[derive(Debug, Serialize)]
struct Entry {
    /// When the result was begun (RFC 3339, UTC).
    started: String,
    name: String,
    engine: String,
    #[serde(flatten)]
    measured: Measured,
}

impl History {
    /// Of every point that has the values of `wanted` (key and value); results may come in any
    /// order.
    pub fn of(sources: &[Source<'_>], wanted: &Wanted) -> Result<Self, AnswerError> {
        let mut sources = sources.to_vec();
        sources.sort_by_key(|source| &source.result.environment.started);
        point::check(wanted, sources.iter().map(|source| source.result))?;
        let entries = sources.iter();
        let points = grouped(entries.flat_map(|source| entries_of(source, wanted)));
        if points.is_empty() {
            return Err(AnswerError::NoTrial(wanted.to_vec()));
        }
        let histories = points.len();
        let courses = points.into_iter();
        let courses = courses.map(|(point, entries)| Course::of(point, entries, histories));
        let latest = sources.last().map(|source| &source.result.environment);
        Ok(Self {
            courses: courses.collect(),
            cautions: cautions(&sources, wanted),
            version: latest.map_or(String::new(), |latest| latest.dyno_version.clone()),
        })
    }
}

impl Course {
    /// Tests the primary metric, sharing the chance of a false alarm with so many histories.
    fn of(point: String, entries: Vec<Entry>, histories: usize) -> Self {
        let is_open_loop = is_open_loop(entries.iter().flat_map(|entry| &entry.measured.trials));
        let number = |entry: &Entry| match is_open_loop {
            true => entry.measured.mean_ms.value(),
            false => entry.measured.tps.value(),
        };
        let numbers: Option<Vec<f64>> = entries.iter().map(number).collect();
        let found = in_history(&numbers.unwrap_or_default(), histories);
        let (changes, response_changes) = match is_open_loop {
            true => (Vec::new(), found),
            false => (found, Vec::new()),
        };
        Self {
            point,
            entries,
            changes,
            response_changes,
        }
    }
}

fn entries_of(source: &Source<'_>, wanted: &Wanted) -> Vec<(String, Entry)> {
    let axes = keys::axes(source.result);
    let trials = point::having(source.result, wanted);
    let points = keys::groups(&trials, &axes, &axes).into_iter();
    let entries = points.filter_map(|point| {
        point.tps().estimate?;
        let measured = Measured::of(&point);
        let entry = Entry {
            started: source.result.environment.started.clone(),
            name: source.name.to_owned(),
            engine: measured.trials.first()?.setup.engine.clone(),
            measured,
        };
        Some((point.name, entry))
    });
    entries.collect()
}

fn cautions(sources: &[Source<'_>], wanted: &Wanted) -> Vec<String> {
    let hosts = sources.iter().map(|source| &source.result.environment);
    let hosts = distinct(hosts.filter_map(|host| host.hostname.as_deref()));
    let several = (hosts.len() > 1).then(|| {
        format!(
            "The results are from several hosts ({}), which may explain a change.",
            hosts.join(", ")
        )
    });
    let trials = sources
        .iter()
        .map(|source| point::having(source.result, wanted));
    let trials: Vec<_> = trials.collect();
    let at_a_rate = findings::at_a_rate(trials.iter().flatten().copied());
    let of_each = sources.iter().zip(&trials).flat_map(|(source, trials)| {
        let all = keys::trials_of(source.result);
        findings::cautions(Some(source.name), source.result, &all, &counted(trials))
    });
    let of_all = [several, at_a_rate].into_iter().flatten();
    of_all.chain(of_each).collect()
}

impl Answer for History {
    fn sheet(&self) -> Sheet {
        let mut blocks = vec![Block::Words(format!("{CELLS} {PERCENTILES} {FEW}"))];
        blocks.extend(self.courses.iter().map(grid).map(Block::Table));
        Sheet::answer("History", &self.version, lead(self), &self.cautions, blocks)
    }

    fn csv(&self) -> String {
        let began = |changes, place| Some(100.0 * began(changes, place)?);
        let columns = Columns::<(&Course, usize, &Entry)>::new()
            .with("point", |(course, ..)| &course.point)
            .with("started", |(.., entry)| &entry.started)
            .with("result", |(.., entry)| &entry.name)
            .with("engine", |(.., entry)| &entry.engine)
            .measured_csv(|(.., entry)| &entry.measured)
            .with("n", |(.., entry)| entry.measured.n)
            .with("tps.level_change_pct", |(course, place, _)| {
                began(&course.changes, place)
            })
            .with("response_ms.mean.level_change_pct", |(course, place, _)| {
                began(&course.response_changes, place)
            });
        columns.csv(self.courses.iter().flat_map(|course| {
            let entries = course.entries.iter().enumerate();
            entries.map(move |(place, entry)| (course, place, entry))
        }))
    }
}

fn lead(history: &History) -> String {
    let changed = history.courses.iter().flat_map(|course| {
        let numbers = [
            ("Throughput", &course.changes, "transactions/s"),
            ("Mean response time", &course.response_changes, "ms"),
        ];
        numbers
            .into_iter()
            .flat_map(move |(number, changes, unit)| {
                let changes = changes.iter();
                changes.filter_map(move |change| sentence(course, number, change, unit))
            })
    });
    let lengths = history.courses.iter().map(|course| course.entries.len());
    let longest = lengths.max().unwrap_or(0);
    joined_any(changed, " ").unwrap_or_else(|| match longest {
        ..FEWEST => format!(
            "Too few results to detect a level change: {longest} of at least {FEWEST}, three before \
             and three after."
        ),
        _ => "No level change detected in throughput or mean response time.".to_owned(),
    })
}

/// `Throughput fell by 4.1 %, from 812 to 779 transactions/s, starting …`.
fn sentence(course: &Course, number: &str, change: &ChangePoint, unit: &str) -> Option<String> {
    let entry = course.entries.get(change.at)?;
    Some(format!(
        "{number}{} {} by {}, from {} to {} {unit}, starting {} ({}).",
        around(" at ", &course.point, ""),
        if change.share() > 0.0 { "rose" } else { "fell" },
        number::percent(change.share().abs()),
        number::value(change.before),
        number::value(change.after),
        entry.started,
        entry.name
    ))
}

fn grid(course: &Course) -> Grid {
    let columns = Columns::<(usize, &Entry)>::new()
        .key("started", |(_, entry)| &entry.started)
        .key("result", |(_, entry)| &entry.name)
        .key("engine", |(_, entry)| &entry.engine)
        .measured(|(_, entry)| &entry.measured)
        .with("n", |(_, entry)| entry.measured.n)
        .words("level", |(place, _)| level(course, place));
    columns.grid(
        around("At ", &course.point, "."),
        course.entries.iter().enumerate(),
    )
}

/// `tps -8.0 %, mean +8.7 % from here on` where a level begins.
fn level(course: &Course, place: usize) -> String {
    let numbers = [("tps", &course.changes), ("mean", &course.response_changes)];
    let told = numbers.into_iter().filter_map(|(name, changes)| {
        let share = began(changes, place)?;
        Some(format!("{name} {:+.1} %", share * 100.0))
    });
    around("", &joined(told, ", "), " from here on")
}

/// The share by which a level that begins at this place differs from the one before.
fn began(changes: &[ChangePoint], place: usize) -> Option<f64> {
    let change = changes.iter().find(|change| change.at == place)?;
    Some(change.share())
}
