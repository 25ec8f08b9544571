//! Leader boards: results by category and number of servers, the most throughput first.
//!
//! ```text
//! entrants -> entries (the best point of each) -> boards -> sheet, csv
//! ```

mod board;
mod entry;
mod show;

use measure::result::RunResult;
use serde::Serialize;

use crate::point::{self, NoSuchKey};
use crate::result_cautions;
use board::Board;
use entry::Entry;

/// A result that takes part.
#[derive(Debug, Clone, Copy)]
pub struct Entrant<'a> {
    /// What it competes with; all that are of one category may leave it empty.
    pub category: &'a str,
    /// What tells it from the others, such as the name of its directory.
    pub name: &'a str,
    /// What it found.
    pub result: &'a RunResult,
}

/// Boards, and what to know before they are trusted.
#[derive(Debug, Serialize)]
pub struct Ranking {
    boards: Vec<Board>,
    cautions: Vec<String>,
    /// Version of the dyno that measured the first of them.
    #[serde(skip)]
    version: String,
}

/// A point was asked for that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// No result varies a key of it.
    #[error(transparent)]
    NoSuchKey(#[from] NoSuchKey),
    /// The best points of two results are of different work.
    #[error("{one} and {other} ran different workloads: {unlike}")]
    OtherWork {
        /// What tells the first from the others.
        one: String,
        other: String,
        /// What is not alike.
        unlike: String,
    },
    /// Nothing is left to rank.
    #[error("no result has a valid trial{}", point::at(.point))]
    Nothing {
        /// As asked.
        point: Vec<(String, String)>,
    },
}

impl Ranking {
    /// Ranks each variant of each result, for each number of servers at its best point
    /// in throughput, among those that have the values of `point` (key and value).
    pub fn of(
        entrants: &[Entrant<'_>],
        point: &[(String, String)],
        force: bool,
    ) -> Result<Self, RankError> {
        entry::check_keys(entrants, point)?;
        let mut cautions = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for entrant in entrants {
            entries.extend(entry::entries(entrant, point, &mut cautions));
        }
        if entries.is_empty() {
            let point = point.to_vec();
            return Err(RankError::Nothing { point });
        }
        let trials = entries.iter().flat_map(|entry| &entry.trials);
        cautions.extend(result_cautions::at_a_rate(trials));
        match entry::other_work(&entries) {
            Some(error) if force => cautions.push(format!("{error}.")),
            Some(error) => return Err(error),
            None => {}
        }
        entry::disambiguate(&mut entries);
        let first = entrants.first().map(|entrant| &entrant.result.environment);
        let boards = board::boards(entries);
        cautions.extend(board::cautions(&boards));
        Ok(Self {
            boards,
            cautions,
            version: first.map_or(String::new(), |one| one.dyno_version.clone()),
        })
    }
}
