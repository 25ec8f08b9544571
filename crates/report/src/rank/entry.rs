//! What a result enters into the boards.

use measure::summary::{TrialSummary, counted};
use measure::work;
use serde::Serialize;

use super::{Entrant, RankError};
use crate::cell::Cell;
use crate::findings;
use crate::keys;
use crate::list::distinct;
use crate::point::{self, NoSuchKey, Point};
use crate::result_cautions;

/// One line of a board.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) category: String,
    pub(crate) instances: u32,
    pub(crate) description: String,
    /// What tells its result from the others.
    pub(crate) name: String,
    /// At which of several points; empty when there is one.
    pub(crate) at: String,
    #[serde(skip)]
    pub(crate) trials: Vec<TrialSummary>,
    pub(crate) tps: Cell,
    pub(crate) mean: Cell,
    pub(crate) p99: Cell,
    /// The longest response of any trial, in milliseconds.
    pub(crate) peak_ms: Option<f64>,
}

impl Entry {
    /// Whether each trial was a new start of its server.
    pub(super) fn is_restarted(&self) -> bool {
        let mut trials = self.trials.iter();
        trials.all(|trial| trial.setup.planned.server.is_restarted())
    }
}

/// A key that nobody varies was meant to say something.
pub(super) fn check_keys(
    entrants: &[Entrant<'_>],
    point: &[(String, String)],
) -> Result<(), NoSuchKey> {
    let axes = entrants.iter().flat_map(|one| keys::axes(one.result));
    point::check(point, &distinct(axes))
}

/// The best point of each variant and number of servers.
pub(super) fn entries(
    entrant: &Entrant<'_>,
    point: &[(String, String)],
    cautions: &mut Vec<String>,
) -> Vec<Entry> {
    let result = entrant.result;
    let left_out = findings::left_out(result).into_iter();
    cautions.extend(left_out.map(|words| format!("{}: {words}", entrant.name)));
    let axes = keys::axes(result);
    let variant: &[&str] = match axes.contains(&keys::VARIANT) {
        true => &[keys::VARIANT],
        false => &[],
    };
    let all: Vec<&TrialSummary> = result.trials.iter().collect();
    let trials = point::having(&all, &axes, point);
    let mut entries = Vec::new();
    for (instances, such) in point::by_instances(&trials) {
        for group in keys::groups(&such, variant) {
            let varied = point::varied(&group.trials, &axes);
            let points = point::points(&group.trials, &varied, &axes);
            let description = match keys::name(variant, &group.values, &axes) {
                variant if variant.is_empty() => result.title.clone(),
                variant => variant,
            };
            match point::best(&points) {
                Some(best) => entries.push(entry(entrant, instances, description, best)),
                None => cautions.push(format!(
                    "{description} ({}) is not ranked: it has no valid trial.",
                    entrant.name
                )),
            }
        }
    }
    let of_entries = entries.iter().flat_map(|entry: &Entry| &entry.trials);
    let of_result = result_cautions::of(&of_entries.collect::<Vec<_>>(), result);
    cautions.extend(result_cautions::named(entrant.name, of_result));
    if trials.is_empty() {
        cautions.push(format!(
            "{} is not ranked: it has no points{}.",
            entrant.name,
            point::at(point)
        ));
    }
    entries
}

fn entry(entrant: &Entrant<'_>, instances: u32, description: String, best: &Point<'_>) -> Entry {
    let counted = counted(&best.trials);
    let peaks = counted.iter().filter_map(|trial| trial.response_ms);
    Entry {
        category: entrant.category.to_owned(),
        instances,
        description,
        name: entrant.name.to_owned(),
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
pub(super) fn other_work(entries: &[Entry]) -> Option<RankError> {
    let mut pairs = entries.iter().enumerate().flat_map(|(place, one)| {
        let others = entries[place + 1..].iter();
        let rivals = others.filter(|other| {
            (&other.category, other.instances) == (&one.category, one.instances)
                && other.name != one.name
        });
        rivals.map(move |other| (one, other))
    });
    pairs.find_map(|(one, other)| {
        let planned = |entry: &Entry| Some(entry.trials.first()?.setup.planned.clone());
        let (ours, theirs) = (&planned(one)?, &planned(other)?);
        let pairs = work::values(ours).into_iter().zip(work::values(theirs));
        let unlike = work::keys()
            .zip(pairs)
            .filter(|(_, (ours, theirs))| ours != theirs);
        let unlike: Vec<String> = unlike
            .map(|(key, (ours, theirs))| format!("{}: {ours} / {theirs}", key.name))
            .collect();
        (!unlike.is_empty()).then(|| RankError::OtherWork {
            one: one.name.clone(),
            other: other.name.clone(),
            unlike: unlike.join("; "),
        })
    })
}

/// Two of the same description get the names of their directories, too.
pub(super) fn disambiguate(entries: &mut [Entry]) {
    let known: Vec<(String, String)> = entries
        .iter()
        .map(|entry| (entry.description.clone(), entry.name.clone()))
        .collect();
    for entry in entries {
        let mut others = known.iter();
        let namesake = others
            .any(|(description, name)| *description == entry.description && *name != entry.name);
        if namesake {
            entry.description = format!("{} ({})", entry.description, entry.name);
        }
    }
}
