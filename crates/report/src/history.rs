//! The same study again and again: each point of it in the order of time, and where its
//! level changed.
//!
//! ```text
//! results (oldest first) -> courses (one for each point), each with its changes -> sheet, csv, json
//! ```

use measure::change_point::{ChangePoint, in_history};
use measure::interval::Estimate;
use measure::summary::counted;
use serde::Serialize;

use crate::answer::{Answer, AnswerError, Source};
use crate::cell::{Cell, FEW, PERCENTILES};
use crate::columns::Columns;
use crate::grid::Grid;
use crate::keys;
use crate::list::distinct;
use crate::metric_comparison;
use crate::number;
use crate::point::{self, Wanted};
use crate::result_cautions;
use crate::sheet::{Block, Sheet};

/// Fewest results in which a change can be seen: three before it and three after.
const FEWEST: usize = 6;

/// What the cells of all grids are.
const CELLS: &str = "Oldest first. ±: half width of the 95 % confidence interval, over the n \
                     trials, or over the seconds of a single one. Level: where throughput or mean \
                     response time changed; each level spans at least three results. False-positive \
                     rate: at most 2 %.";

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

impl History {
    /// Of every point that has the values of `wanted` (key and value); results may come in any
    /// order.
    pub fn of(sources: &[Source<'_>], wanted: &Wanted) -> Result<Self, AnswerError> {
        let mut sources = sources.to_vec();
        sources.sort_by_key(|source| &source.result.environment.started);
        point::check(wanted, sources.iter().map(|source| source.result))?;
        let mut courses: Vec<Course> = Vec::new();
        for source in &sources {
            for (point, entry) in entries(source, wanted) {
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
            return Err(AnswerError::NoTrial(wanted.to_vec()));
        }
        let histories = courses.len();
        for course in &mut courses {
            course.find_changes(histories);
        }
        let latest = sources.last().map(|source| &source.result.environment);
        Ok(Self {
            courses,
            cautions: cautions(&sources, wanted),
            version: latest.map_or(String::new(), |latest| latest.dyno_version.clone()),
        })
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

    /// ` at threads=16`, or nothing.
    fn at(&self) -> String {
        match self.point.as_str() {
            "" => String::new(),
            point => format!(" at {point}"),
        }
    }
}

/// The points of one result with their numbers.
fn entries(source: &Source<'_>, wanted: &Wanted) -> Vec<(String, Entry)> {
    let axes = keys::axes(source.result);
    let trials = point::having(source.result, wanted);
    let points = point::points(&trials, &axes, &axes).into_iter();
    let entries = points.filter_map(|point| {
        let counted = counted(&point.trials);
        let entry = Entry {
            started: source.result.environment.started.clone(),
            name: source.name.to_owned(),
            engine: counted.first()?.setup.engine.clone(),
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

fn cautions(sources: &[Source<'_>], wanted: &Wanted) -> Vec<String> {
    let hosts = sources
        .iter()
        .filter_map(|source| source.result.environment.hostname.as_deref());
    let hosts = distinct(hosts);
    let several = (hosts.len() > 1).then(|| {
        format!(
            "The results are from several hosts ({}), which may explain a change.",
            hosts.join(", ")
        )
    });
    let at_a_rate = result_cautions::at_a_rate(
        sources
            .iter()
            .flat_map(|source| point::having(source.result, wanted)),
    );
    let of_each = sources.iter().flat_map(|source| {
        let trials = counted(&point::having(source.result, wanted));
        result_cautions::of(Some(source.name), source.result, &trials)
    });
    several
        .into_iter()
        .chain(at_a_rate)
        .chain(of_each)
        .collect()
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
            .point(|(.., entry)| (Some(entry.tps), entry.mean_ms, entry.p99_ms))
            .with("n", |(.., entry)| entry.n)
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

/// Every change, in the order of the points.
fn lead(history: &History) -> String {
    let changed = history.courses.iter().flat_map(|course| {
        let tps = course.changes.iter();
        let tps = tps.filter_map(|change| sentence(course, "Throughput", change, "transactions/s"));
        let times = course.response_changes.iter();
        let times = times.filter_map(|change| sentence(course, "Mean response time", change, "ms"));
        tps.chain(times)
    });
    let changed: Vec<String> = changed.collect();
    let lengths = history.courses.iter().map(|course| course.entries.len());
    match (changed.is_empty(), lengths.max().unwrap_or(0)) {
        (true, longest @ ..FEWEST) => format!(
            "Too few results to detect a level change: {longest} of at least {FEWEST}, three before \
             and three after."
        ),
        (true, _) => "No level change detected in throughput or mean response time.".to_owned(),
        (false, _) => changed.join(" "),
    }
}

/// `Throughput fell by 4.1 %, from 812 to 779 transactions/s, starting …`.
fn sentence(course: &Course, number: &str, change: &ChangePoint, unit: &str) -> Option<String> {
    let entry = course.entries.get(change.at)?;
    Some(format!(
        "{number}{} {} by {}, from {} to {} {unit}, starting {} ({}).",
        course.at(),
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
        .with("tps", |(_, entry)| entry.tps)
        .with("mean ms", |(_, entry)| entry.mean_ms)
        .with("p99 ms", |(_, entry)| entry.p99_ms)
        .with("n", |(_, entry)| entry.n)
        .words("level", |(place, _)| level(course, place));
    let caption = match course.point.as_str() {
        "" => String::new(),
        point => format!("At {point}."),
    };
    columns.grid(caption, course.entries.iter().enumerate())
}

/// `tps -8.0 %, mean +8.7 % from here on` where a level begins.
fn level(course: &Course, place: usize) -> String {
    let numbers = [("tps", &course.changes), ("mean", &course.response_changes)];
    let told = numbers.into_iter().filter_map(|(name, changes)| {
        let share = began(changes, place)?;
        Some(format!("{name} {:+.1} %", share * 100.0))
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => String::new(),
        false => format!("{} from here on", told.join(", ")),
    }
}

/// The share by which a level that begins at this place differs from the one before.
fn began(changes: &[ChangePoint], place: usize) -> Option<f64> {
    let change = changes.iter().find(|change| change.at == place)?;
    Some(change.share())
}
