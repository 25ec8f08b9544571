//! Leader boards: results by category and number of servers, the most throughput first.
//!
//! ```text
//! results -> entries (the best point of each) -> boards -> sheet, csv, json
//! ```

use measure::compare::Comparison;
use measure::interval::FEWEST_RUNS;
use measure::work;
use serde::Serialize;

use crate::answer::{Answer, AnswerError};
use crate::cell::{Cell, FEW, PERCENTILES};
use crate::findings;
use crate::grid::{Columns, Grid};
use crate::keys::{self, VARIANT, trials_of};
use crate::list::{clause, distinct, grouped, joined_any};
use crate::metric_comparison::{self, is_significant};
use crate::point::{self, Measured, Source, Wanted};
use crate::sheet::{Block, Sheet};

const CELLS: &str = "Ranked by mean throughput. ±: half width of the 95 % confidence interval, \
                     over the n trials, or over the seconds of a single one. =: tied, not \
                     significantly different from the first entry of that rank, or without a \
                     verdict. Response times \
                     count from the intended start; peak is the maximum.";

#[derive(Debug, Serialize)]
pub struct Ranking {
    boards: Vec<Board>,
    cautions: Vec<String>,
    /// Version of the dyno that measured the first of them.
    #[serde(skip)]
    version: String,
}

#[derive(Debug, Serialize)]
struct Board {
    category: String,
    instances: u32,
    places: Vec<Standing>,
}

#[derive(Debug, Serialize)]
struct Standing {
    /// From 1; those that cannot be told apart share it.
    rank: usize,
    tied: bool,
    entry: Entry,
}

#[derive(Debug, Serialize)]
struct Entry {
    category: String,
    instances: u32,
    description: String,
    /// What tells its result from the others.
    name: String,
    #[serde(flatten)]
    best: Measured,
    /// The longest response of any trial, in milliseconds.
    peak_ms: Option<f64>,
}

impl Ranking {
    /// Ranks each variant of each result, for each number of servers at its best point
    /// in throughput, among those that have the values of `point` (key and value).
    pub fn of(sources: &[Source<'_>], point: &Wanted, force: bool) -> Result<Self, AnswerError> {
        point::check(point, sources.iter().map(|source| source.result))?;
        let mut cautions = Vec::new();
        let entries = sources.iter();
        let entries = entries.flat_map(|source| entries_of(source, point, &mut cautions));
        let mut entries: Vec<Entry> = entries.collect();
        if entries.is_empty() {
            return Err(AnswerError::NoTrial(point.to_vec()));
        }
        let trials = entries.iter().flat_map(|entry| &entry.best.trials);
        cautions.extend(findings::at_a_rate(trials));
        match other_work(&entries) {
            Some(error) if force => cautions.push(format!("{error}.")),
            Some(error) => return Err(error),
            None => {}
        }
        disambiguate(&mut entries);
        let boards = boards(entries);
        cautions.extend(no_verdicts(&boards));
        let first = sources.first().map(|source| &source.result.environment);
        Ok(Self {
            boards,
            cautions,
            version: first.map_or(String::new(), |one| one.dyno_version.clone()),
        })
    }
}

fn entries_of(source: &Source<'_>, wanted: &Wanted, cautions: &mut Vec<String>) -> Vec<Entry> {
    let (name, result) = (source.name, source.result);
    let has_variants = keys::axes(result).contains(&VARIANT);
    let across: &[&str] = if has_variants { &[VARIANT] } else { &[] };
    let contests = point::contests(result, wanted, across);
    let mut entries: Vec<Entry> = Vec::new();
    for contest in &contests {
        let description = match contest.name.as_str() {
            "" => &result.title,
            variant => variant,
        };
        let Some(best) = point::best(&contest.points) else {
            let why = "is not ranked: it has no valid trial.";
            cautions.push(format!("{description} ({name}) {why}"));
            continue;
        };
        let best = Measured::of(best);
        let peaks = best.trials.iter().filter_map(|trial| trial.response_ms);
        entries.push(Entry {
            category: source.category.to_owned(),
            instances: contest.instances,
            description: description.to_owned(),
            name: name.to_owned(),
            peak_ms: peaks.map(|times| times.max).max_by(f64::total_cmp),
            best,
        });
    }
    let trials = entries.iter().flat_map(|entry| &entry.best.trials);
    let trials: Vec<_> = trials.collect();
    let all = trials_of(result);
    cautions.extend(findings::cautions(Some(name), result, &all, &trials));
    if contests.is_empty() {
        let at = point::at(wanted);
        cautions.push(format!("{name} is not ranked: it has no points{at}."));
    }
    entries
}

/// The first two results that would stand on a board with points of different work. What
/// the variants of one study differ in is what it asks.
fn other_work(entries: &[Entry]) -> Option<AnswerError> {
    let is_rival = |one: &Entry, other: &Entry| {
        let board = |entry: &Entry| (entry.category.clone(), entry.instances);
        board(one) == board(other) && one.name != other.name
    };
    let mut pairs = entries.iter().enumerate().flat_map(|(place, one)| {
        let rivals = entries[place + 1..]
            .iter()
            .filter(|other| is_rival(one, other));
        rivals.map(move |other| (one, other))
    });
    pairs.find_map(|(one, other)| {
        let work = |entry: &Entry| Some(work::values(&entry.best.trials.first()?.setup.planned));
        let values = work::keys().zip(work(one)?.into_iter().zip(work(other)?));
        let unlike = values.filter(|(_, (ours, theirs))| ours != theirs);
        let unlike = unlike.map(|(key, (ours, theirs))| format!("{}: {ours} / {theirs}", key.name));
        Some(AnswerError::OtherWork {
            one: one.name.clone(),
            other: other.name.clone(),
            unlike: joined_any(unlike, "; ")?,
        })
    })
}

/// Two of the same description get the names of their directories, too.
fn disambiguate(entries: &mut [Entry]) {
    let known = entries.iter();
    let known = known.map(|entry| (entry.description.clone(), entry.name.clone()));
    let known = grouped(distinct(known));
    for entry in entries {
        let mut namesakes = known.iter();
        if namesakes.any(|(words, names)| *words == entry.description && names.len() > 1) {
            entry.description = format!("{} ({})", entry.description, entry.name);
        }
    }
}

/// Categories in the order in which they came, numbers of servers from low to high.
fn boards(entries: Vec<Entry>) -> Vec<Board> {
    let by_category = entries.into_iter();
    let by_category = grouped(by_category.map(|entry| (entry.category.clone(), entry)));
    let boards = by_category.into_iter().flat_map(|(category, entries)| {
        let by_instances = entries.into_iter().map(|entry| (entry.instances, entry));
        let mut boards = grouped(by_instances);
        boards.sort_by_key(|(instances, _)| *instances);
        boards.into_iter().map(move |(instances, entries)| Board {
            category: category.clone(),
            instances,
            places: places(entries),
        })
    });
    boards.collect()
}

/// A rank is shared with the first of it, so that no chain of small differences ties
/// the first with the last. A board with results of different times has one rank, because any
/// other would place a result above or below those that it cannot be compared with.
fn places(mut entries: Vec<Entry>) -> Vec<Standing> {
    let tps = |entry: &Entry| entry.best.tps.value().unwrap_or(f64::MIN);
    entries.sort_by(|a, b| tps(b).total_cmp(&tps(a)));
    let all = entries.len();
    let is_one_result = entries.windows(2).all(|two| two[0].name == two[1].name);
    let mut places: Vec<Standing> = Vec::new();
    for (place, entry) in entries.into_iter().enumerate() {
        let first = places.last().map(|last| last.rank - 1);
        let first = first.and_then(|first| places.get_mut(first));
        let shared = first
            .filter(|first| !is_one_result || !differ_significantly(&first.entry, &entry, all));
        let tied = shared.is_some();
        let rank = shared.map_or(place + 1, |first| {
            first.tied = true;
            first.rank
        });
        places.push(Standing { rank, tied, entry });
    }
    places
}

/// Whether two entries of a board of so many differ significantly. A single run does not differ
/// significantly from any other.
fn differ_significantly(one: &Entry, other: &Entry, entries: usize) -> bool {
    let [ours, theirs] = [one, other].map(|entry| entry.best.trials.iter().collect::<Vec<_>>());
    let found = metric_comparison::throughput(&ours, &theirs);
    let found = found.ok().filter(Comparison::is_tested);
    found.is_some_and(|found| is_significant(&found, entries))
}

impl Board {
    /// Why entries that differ may share a rank: they ran at different times, or their servers
    /// were not restarted between trials.
    fn no_verdict(&self) -> Option<&'static str> {
        let entries = || self.places.iter().map(|place| &place.entry);
        let mut trials = entries().flat_map(|entry| &entry.best.trials);
        if distinct(entries().map(|entry| entry.name.as_str())).len() > 1 {
            return Some("the results ran at different times, not interleaved");
        }
        let are_restarted = trials.all(|trial| trial.setup.planned.server.is_restarted());
        (self.places.len() > 1 && !are_restarted)
            .then_some("the servers were not restarted between trials")
    }

    /// `PCIe, 4 servers at once`.
    fn name(&self) -> String {
        match (self.category.as_str(), self.instances) {
            ("", 1) => "One server".to_owned(),
            ("", several) => format!("{several} servers at once"),
            (category, 1) => format!("{category}, one server"),
            (category, several) => format!("{category}, {several} servers at once"),
        }
    }

    fn lead(&self) -> String {
        let first = self.places.iter().filter(|place| place.rank == 1);
        let first: Vec<&str> = first.map(|place| &*place.entry.description).collect();
        let (name, all) = (self.name(), self.places.len());
        let tps = self.places.first().map(|place| place.entry.best.tps);
        let tps = tps.map_or(String::new(), |tps| tps.shown());
        match first.as_slice() {
            [one] => format!("{name}: {one} is first of {all}, with {tps} tps."),
            [highest, ..] if self.no_verdict().is_some() => format!(
                "{name}: no verdict on {all} entries; the highest throughput was that of {highest}, \
                 with {tps} tps."
            ),
            several => format!(
                "{name}: tied for first of {all}: {}. Their differences are not significant.",
                several.join(", ")
            ),
        }
    }

    fn grid(&self) -> Grid {
        let at = |place: &Standing| Some(place.entry.best.at.clone()).filter(|at| !at.is_empty());
        let is_at = self.places.iter().any(|place| at(place).is_some());
        let columns = Columns::<&Standing>::new()
            .key("rank", |place| {
                format!("{}{}", place.rank, clause(place.tied, "="))
            })
            .key("description", |place| &place.entry.description)
            .key("instances", |place| place.entry.instances)
            .when(is_at, |columns| columns.key("best at", at))
            .measured(|place| &place.entry.best)
            .with("peak ms", |place| place.entry.peak_ms)
            .with("n", |place| place.entry.best.n);
        columns.grid(format!("{}.", self.name()), &self.places)
    }
}

/// Results measured at different times also differ by how the host changed.
fn no_verdicts(boards: &[Board]) -> impl Iterator<Item = String> {
    let reasons = distinct(boards.iter().filter_map(Board::no_verdict));
    reasons.into_iter().map(|reason| {
        format!(
            "No verdict where {reason}: entries share a rank whatever their difference. For a \
             verdict, make them variants ([[variant]]) of one study whose servers dyno starts, \
             which runs them in blocks."
        )
    })
}

impl Answer for Ranking {
    fn sheet(&self) -> Sheet {
        let contested = self.boards.iter().filter(|board| board.places.len() > 1);
        let lead = joined_any(contested.map(Board::lead), " ").unwrap_or_else(|| {
            "Nothing to rank: no two results have the same category and number of servers."
                .to_owned()
        });
        let cautions = [repeats(&self.boards), self.cautions.clone()].concat();
        let mut blocks = vec![Block::Words(format!("{CELLS} {PERCENTILES} {FEW}"))];
        blocks.extend(self.boards.iter().map(Board::grid).map(Block::Table));
        Sheet::answer("Leader board", &self.version, lead, &cautions, blocks)
    }

    fn csv(&self) -> String {
        let columns = Columns::<&Standing>::new()
            .with("category", |place| &place.entry.category)
            .with("instances", |place| place.entry.instances)
            .with("rank", |place| place.rank)
            .with("tied", |place| place.tied)
            .with("description", |place| &place.entry.description)
            .with("result", |place| &place.entry.name)
            .with("at", |place| &place.entry.best.at)
            .measured_csv(|place| &place.entry.best)
            .with("response_ms.max", |place| place.entry.peak_ms)
            .with("n", |place| place.entry.best.n);
        columns.csv(self.boards.iter().flat_map(|board| &board.places))
    }
}

fn repeats(boards: &[Board]) -> Vec<String> {
    let named = |holds: fn(&Cell) -> bool| {
        let places = boards.iter().flat_map(|board| &board.places);
        let such = places.filter(|place| holds(&place.entry.best.tps));
        joined_any(such.map(|place| &place.entry.description), ", ")
    };
    let single = named(|tps| tps.n == 1 && tps.half_width().is_some()).map(|names| {
        format!(
            "Only one trial each: {names}. Single trials tie with every other, because their \
             intervals exclude run-to-run variation. Repeat the trials (load.repeats)."
        )
    });
    let few = named(Cell::has_few_trials).map(|names| {
        format!("Fewer than {FEWEST_RUNS} trials, too few for a confidence interval: {names}.")
    });
    let unsure = named(|tps| tps.n == 1 && tps.half_width().is_none()).map(|names| {
        format!(
            "Too short for a confidence interval, or measured in turns: {names}. Measure longer, or \
             repeat the trials (load.repeats)."
        )
    });
    [single, few, unsure].into_iter().flatten().collect()
}
