//! Leader boards: results by category and number of servers, the most throughput first.
//!
//! ```text
//! results -> entries (the best point of each) -> boards -> sheet, csv, json
//! ```

mod show;

use std::collections::BTreeMap;

use measure::compare::Comparison;
use measure::summary::{TrialSummary, counted};
use measure::work;
use serde::Serialize;

use crate::answer::{AnswerError, Source};
use crate::cell::Cell;
use crate::keys::{self, VARIANT};
use crate::list::distinct;
use crate::metric_comparison::{self, is_significant};
use crate::point::{self, Point, Wanted};
use crate::result_cautions;

/// Boards, and what to know before they are trusted.
#[derive(Debug, Serialize)]
pub struct Ranking {
    boards: Vec<Board>,
    cautions: Vec<String>,
    /// Version of the dyno that measured the first of them.
    #[serde(skip)]
    version: String,
}

/// All of one category and number of servers, the best first.
#[derive(Debug, Serialize)]
struct Board {
    category: String,
    instances: u32,
    places: Vec<Standing>,
}

/// A place on a board.
#[derive(Debug, Serialize)]
struct Standing {
    /// From 1; those that cannot be told apart share it.
    rank: usize,
    tied: bool,
    entry: Entry,
}

/// One line of a board.
#[derive(Debug, Serialize)]
struct Entry {
    category: String,
    instances: u32,
    description: String,
    /// What tells its result from the others.
    name: String,
    /// At which of several points; empty when there is one.
    at: String,
    #[serde(skip)]
    trials: Vec<TrialSummary>,
    tps: Cell,
    mean: Cell,
    p99: Cell,
    /// The longest response of any trial, in milliseconds.
    peak_ms: Option<f64>,
}

impl Ranking {
    /// Ranks each variant of each result, for each number of servers at its best point
    /// in throughput, among those that have the values of `point` (key and value).
    pub fn of(sources: &[Source<'_>], point: &Wanted, force: bool) -> Result<Self, AnswerError> {
        point::check(point, sources.iter().map(|source| source.result))?;
        let mut cautions = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for source in sources {
            entries.extend(entries_of(source, point, &mut cautions));
        }
        if entries.is_empty() {
            return Err(AnswerError::NoTrial(point.to_vec()));
        }
        let trials = entries.iter().flat_map(|entry| &entry.trials);
        cautions.extend(result_cautions::at_a_rate(trials));
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

/// The best point of each variant and number of servers.
fn entries_of(source: &Source<'_>, wanted: &Wanted, cautions: &mut Vec<String>) -> Vec<Entry> {
    let (name, result) = (source.name, source.result);
    let has_variants = keys::axes(result).contains(&VARIANT);
    let across: &[&str] = if has_variants { &[VARIANT] } else { &[] };
    let contests = point::contests(result, wanted, across);
    let mut entries = Vec::new();
    for contest in &contests {
        let description = match contest.name.as_str() {
            "" => &result.title,
            variant => variant,
        };
        match point::best(&contest.points) {
            Some(best) => entries.push(entry(source, contest.instances, description, best)),
            None => cautions.push(format!(
                "{description} ({name}) is not ranked: it has no valid trial."
            )),
        }
    }
    let trials: Vec<_> = entries
        .iter()
        .flat_map(|entry: &Entry| &entry.trials)
        .collect();
    cautions.extend(result_cautions::of(Some(name), result, &trials));
    if contests.is_empty() {
        let at = point::at(wanted);
        cautions.push(format!("{name} is not ranked: it has no points{at}."));
    }
    entries
}

fn entry(source: &Source<'_>, instances: u32, description: &str, best: &Point<'_>) -> Entry {
    let counted = counted(&best.trials);
    let peaks = counted.iter().filter_map(|trial| trial.response_ms);
    Entry {
        category: source.category.to_owned(),
        instances,
        description: description.to_owned(),
        name: source.name.to_owned(),
        at: best.name.clone(),
        trials: counted.iter().copied().cloned().collect(),
        tps: best.tps,
        mean: Cell::of(&best.trials, "response_ms.mean"),
        p99: Cell::of(&best.trials, "response_ms.p99"),
        peak_ms: peaks.map(|times| times.max).max_by(f64::total_cmp),
    }
}

/// The first two results that would stand on a board with points of different work. What
/// the variants of one study differ in is what it asks.
fn other_work(entries: &[Entry]) -> Option<AnswerError> {
    let are_rivals = |one: &Entry, other: &Entry| {
        (&one.category, one.instances) == (&other.category, other.instances)
            && one.name != other.name
    };
    let mut pairs = entries.iter().enumerate().flat_map(|(place, one)| {
        let rivals = entries[place + 1..].iter();
        rivals
            .filter(move |other| are_rivals(one, other))
            .map(move |other| (one, other))
    });
    pairs.find_map(|(one, other)| {
        let work = |entry: &Entry| Some(work::values(&entry.trials.first()?.setup.planned));
        let values = work::keys().zip(work(one)?.into_iter().zip(work(other)?));
        let unlike = values.filter(|(_, (ours, theirs))| ours != theirs);
        let unlike: Vec<String> = unlike
            .map(|(key, (ours, theirs))| format!("{}: {ours} / {theirs}", key.name))
            .collect();
        (!unlike.is_empty()).then(|| AnswerError::OtherWork {
            one: one.name.clone(),
            other: other.name.clone(),
            unlike: unlike.join("; "),
        })
    })
}

/// Two of the same description get the names of their directories, too.
fn disambiguate(entries: &mut [Entry]) {
    let known = entries
        .iter()
        .map(|entry| (entry.description.clone(), entry.name.clone()));
    let known: Vec<(String, String)> = known.collect();
    for entry in entries {
        let is_namesake = |(description, name): &(String, String)| {
            *description == entry.description && *name != entry.name
        };
        if known.iter().any(is_namesake) {
            entry.description = format!("{} ({})", entry.description, entry.name);
        }
    }
}

/// Categories in the order in which they came, numbers of servers from low to high.
fn boards(entries: Vec<Entry>) -> Vec<Board> {
    let categories = distinct(entries.iter().map(|entry| entry.category.clone()));
    let mut boards: BTreeMap<(usize, u32), Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        let category = categories.iter().position(|known| *known == entry.category);
        let key = (category.unwrap_or_default(), entry.instances);
        boards.entry(key).or_default().push(entry);
    }
    let boards = boards.into_iter();
    boards
        .map(|((category, instances), entries)| Board {
            category: categories[category].clone(),
            instances,
            places: places(entries),
        })
        .collect()
}

impl Board {
    /// Why entries that differ may share a rank: they ran at different times, or their servers
    /// were not restarted between trials.
    fn no_verdict(&self) -> Option<&'static str> {
        let entries = || self.places.iter().map(|place| &place.entry);
        let names = distinct(entries().map(|entry| entry.name.as_str()));
        let mut trials = entries().flat_map(|entry| &entry.trials);
        match names.len() > 1 {
            true => Some("the results ran at different times, not interleaved"),
            false
                if self.places.len() > 1
                    && !trials.all(|trial| trial.setup.planned.server.is_restarted()) =>
            {
                Some("the servers were not restarted between trials")
            }
            false => None,
        }
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

/// Whether two entries of a board of so many differ significantly. A single run does not differ
/// significantly from any other.
fn differ_significantly(one: &Entry, other: &Entry, entries: usize) -> bool {
    let [ours, theirs] = [one, other].map(|entry| entry.trials.iter().collect::<Vec<_>>());
    let found = metric_comparison::throughput(&ours, &theirs);
    let found = found.ok().filter(Comparison::is_tested);
    found.is_some_and(|found| is_significant(&found, entries))
}

/// A rank is shared with the first of it, so that no chain of small differences ties
/// the first with the last. A board with results of different times has one rank, because any
/// other would place a result above or below those that it cannot be compared with.
fn places(mut entries: Vec<Entry>) -> Vec<Standing> {
    let tps = |entry: &Entry| entry.tps.value().unwrap_or(f64::MIN);
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
