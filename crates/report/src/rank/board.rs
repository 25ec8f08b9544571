//! The ranks on each board.

use measure::compare::Comparison;
use serde::Serialize;

use super::entry::Entry;
use crate::list::distinct;
use crate::metric_comparison::{self, is_significant};

/// All of one category and number of servers, the best first.
#[derive(Debug, Serialize)]
pub(crate) struct Board {
    pub(crate) category: String,
    pub(crate) instances: u32,
    pub(crate) places: Vec<Standing>,
}

/// A place on a board.
#[derive(Debug, Serialize)]
pub(crate) struct Standing {
    /// From 1; those that cannot be told apart share it.
    pub(crate) rank: usize,
    pub(crate) tied: bool,
    pub(crate) entry: Entry,
}

/// Categories in the order in which they came, numbers of servers from low to high.
pub(super) fn boards(entries: Vec<Entry>) -> Vec<Board> {
    let mut boards: Vec<(String, u32, Vec<Entry>)> = Vec::new();
    for entry in entries {
        let known = boards
            .iter_mut()
            .find(|(category, of, _)| *category == entry.category && *of == entry.instances);
        match known {
            Some((.., entries)) => entries.push(entry),
            None => boards.push((entry.category.clone(), entry.instances, vec![entry])),
        }
    }
    let mut order: Vec<String> = Vec::new();
    order.extend(boards.iter().map(|(category, ..)| category.clone()));
    boards.sort_by_key(|(category, instances, _)| {
        (order.iter().position(|known| known == category), *instances)
    });
    let board = |(category, instances, entries)| Board {
        category,
        instances,
        places: places(entries),
    };
    boards.into_iter().map(board).collect()
}

impl Board {
    /// Why entries that differ may share a rank: they ran at different times, or their servers
    /// were not restarted between trials.
    pub(super) fn no_verdict(&self) -> Option<&'static str> {
        let entries = || self.places.iter().map(|place| &place.entry);
        let names = distinct(entries().map(|entry| entry.name.as_str()));
        match names.len() > 1 {
            true => Some("the results ran at different times, not interleaved"),
            false if self.places.len() > 1 && !entries().all(Entry::is_restarted) => {
                Some("the servers were not restarted between trials")
            }
            false => None,
        }
    }
}

/// Results measured at different times also differ by how the host changed.
pub(super) fn cautions(boards: &[Board]) -> Vec<String> {
    let reasons = distinct(boards.iter().filter_map(Board::no_verdict));
    let cautions = reasons.into_iter().map(|reason| {
        format!(
            "No verdict where {reason}: entries share a rank whatever their difference. For a \
             verdict, make them variants ([[variant]]) of one study whose servers dyno starts, \
             which runs them in blocks."
        )
    });
    cautions.collect()
}

/// Whether two entries of a board of so many differ significantly. A single run does not differ
/// significantly from any other, nor do results of different times.
fn differ_significantly(one: &Entry, other: &Entry, entries: usize) -> bool {
    let (ours, theirs): (Vec<_>, Vec<_>) =
        (one.trials.iter().collect(), other.trials.iter().collect());
    let found = metric_comparison::throughput(&ours, &theirs);
    let found = found.ok().filter(Comparison::is_tested);
    one.name == other.name && found.is_some_and(|found| is_significant(&found, entries))
}

/// A rank is shared with the first of it, so that no chain of small differences ties
/// the first with the last.
fn places(mut entries: Vec<Entry>) -> Vec<Standing> {
    let tps = |entry: &Entry| entry.tps.value().unwrap_or(f64::MIN);
    entries.sort_by(|a, b| tps(b).total_cmp(&tps(a)));
    let all = entries.len();
    let mut places: Vec<Standing> = Vec::new();
    for (place, entry) in entries.into_iter().enumerate() {
        let last = places.last().map(|known| known.rank);
        let first = places.iter().find(|known| Some(known.rank) == last);
        let shared = first.filter(|first| !differ_significantly(&first.entry, &entry, all));
        let rank = shared.map_or(place + 1, |first| first.rank);
        places.push(Standing {
            rank,
            tied: false,
            entry,
        });
    }
    let ranks: Vec<usize> = places.iter().map(|place| place.rank).collect();
    for place in &mut places {
        place.tied = ranks.iter().filter(|rank| **rank == place.rank).count() > 1;
    }
    places
}
