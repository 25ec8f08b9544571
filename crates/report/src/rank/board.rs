//! The ranks on each board.

use serde::Serialize;

use super::entry::Entry;
use crate::list::distinct;
use crate::metric_comparison;

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

/// Results measured at different times also differ by how the host changed.
pub(super) fn not_interleaved(boards: &[Board]) -> Option<String> {
    let mixes = |board: &Board| {
        let names = board.places.iter().map(|place| place.entry.name.as_str());
        distinct(names).len() > 1
    };
    boards.iter().any(mixes).then(|| {
        "The results ran at different times, not interleaved, so a difference between them may be a \
         change of the host over time. Variants of one study run in blocks."
            .to_owned()
    })
}

/// Whether two entries differ significantly. Variants of one result ran in blocks; a single run
/// does not differ significantly from any other.
fn differ_significantly(one: &Entry, other: &Entry, questions: usize) -> bool {
    let (ours, theirs): (Vec<_>, Vec<_>) =
        (one.trials.iter().collect(), other.trials.iter().collect());
    metric_comparison::differ_significantly(&ours, &theirs, one.name == other.name, questions)
}

/// A rank is shared with the first of it, so that no chain of small differences ties
/// the first with the last.
fn places(mut entries: Vec<Entry>) -> Vec<Standing> {
    let tps = |entry: &Entry| entry.tps.value().unwrap_or(f64::MIN);
    entries.sort_by(|a, b| tps(b).total_cmp(&tps(a)));
    let questions = entries.len().saturating_sub(1);
    let mut places: Vec<Standing> = Vec::new();
    for (place, entry) in entries.into_iter().enumerate() {
        let last = places.last().map(|known| known.rank);
        let first = places.iter().find(|known| Some(known.rank) == last);
        let shared = first.filter(|first| !differ_significantly(&first.entry, &entry, questions));
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
