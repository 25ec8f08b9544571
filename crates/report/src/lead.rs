//! The result of a study in a few sentences.

use measure::interval::FEWEST_RUNS;
use measure::result::RunResult;
use measure::setup::Outcome;
use measure::summary::{TrialSummary, counted};
use measure::verdict::Bottleneck;
use measure::warning::Warning;

use crate::cell::Cell;
use crate::keys::{self, Group};
use crate::list::{around, clause, distinct, joined};
use crate::metric_comparison::{self, is_significant};
use crate::point::{self, best};
use crate::{number, search};

pub(crate) fn lead(result: &RunResult) -> String {
    if result.trials.is_empty() {
        return "No trial has finished yet.".to_owned();
    }
    if let Some(found) = search::lead(result) {
        return found;
    }
    if let [TrialSummary { outcome, .. }] = result.trials.as_slice()
        && matches!(outcome, Outcome::ServerLost { .. } | Outcome::Failed { .. })
    {
        return outcome.to_string();
    }
    let points = point::of_result(result);
    let Some(best) = best(&points) else {
        return "No valid results: all trials failed.".to_owned();
    };
    let mean = Cell::of(&best.trials, "response_ms.mean");
    if mean.estimate.is_none() {
        return "No transactions completed during the measurement.".to_owned();
    }
    let p99 = Cell::of(&best.trials, "response_ms.p99");
    let tps = best.tps();
    let numbers = format!(
        "{} transactions per second, mean response time {} ms, 99th percentile {} ms",
        tps.shown(),
        mean.shown(),
        p99.shown()
    );
    let mut text = match (points.as_slice(), best.trials.first()) {
        ([_], Some(first)) => format!(
            "{} under {}: {numbers}.",
            first.setup.engine, first.setup.planned.load.workload.value
        ),
        _ => format!(
            "Of {} points, throughput was highest at {}: {numbers}.{}",
            points.len(),
            best.name,
            match keys::variants(result).len() {
                // Their comparison says what single runs do not show.
                2.. if tps.n < 2 => String::new(),
                _ => compared(best, &points),
            }
        ),
    };
    text.insert_str(0, &served(best).unwrap_or_default());
    text.push_str(&bound_at(best));
    let few = clause(tps.has_few_trials(), ", with their minimum and maximum");
    if tps.n > 1 {
        text.push_str(&format!(" Values are means of {} trials{few}.", tps.n));
    }
    // A number stays on a line with its error and its unit.
    text.replace(" ± ", "\u{a0}±\u{a0}")
        .replace(" ms", "\u{a0}ms")
}

/// What an open loop offered and the servers did not take; `None` if they kept up.
fn served(point: &Group<'_>) -> Option<String> {
    point.trials.iter().find(|trial| is_overloaded(trial))?;
    let planned = &point.trials.first()?.setup.planned;
    let offered = planned.load.rate? * f64::from(planned.topology.instances);
    Some(format!(
        "Only {} of {}/s were served{}. ",
        number::value(point.tps().value()?),
        number::value(offered),
        around(" at ", &point.name, "")
    ))
}

/// A measurement of a second or two shows no growth, but how much is left of what arrived.
fn is_overloaded(trial: &TrialSummary) -> bool {
    let is_told = |warning: &Warning| matches!(warning, Warning::Overloaded { .. });
    let users = trial.setup.planned.users();
    let most_left = users.max(trial.transactions.count / 10);
    let left = trial.generator.backlog_end.unwrap_or(0);
    trial.warnings.iter().any(is_told) || left > most_left
}

/// The place of the first trial of the best point, from 1.
pub(crate) fn best_trial(result: &RunResult) -> usize {
    if let Some(place) = search::best_trial(result) {
        return place + 1;
    }
    let points = point::of_result(result);
    let wanted = best(&points).and_then(|point| counted(&point.trials).first().copied());
    let mut trials = result.trials.iter();
    let place = wanted.and_then(|wanted| trials.position(|trial| std::ptr::eq(trial, wanted)));
    place.map_or(1, |place| place + 1)
}

/// How it compares with the other points, as far as the differences between their runs show.
fn compared(best: &Group<'_>, points: &[Group<'_>]) -> String {
    let runs = points.iter().map(|point| point.tps().n).filter(|n| *n > 0);
    let fewest = runs.min().unwrap_or(0);
    let times = times_the_least(best, points);
    match (fewest, times) {
        (0 | 1, _) => " Single runs do not show how much runs differ, so the points are not \
                        compared."
            .to_owned(),
        _ if !are_comparable(points) => {
            " The servers were not restarted between trials, so the points are not compared."
                .to_owned()
        }
        (2..FEWEST_RUNS, None) => format!(
            " {fewest} runs of a point are too few to compare the points; at least {FEWEST_RUNS} \
             are of use."
        ),
        (_, times) => {
            let parts = times.into_iter().chain(rivals(best, points));
            around(" Throughput there is ", &joined(parts, ", and "), ".")
        }
    }
}

fn times_the_least(best: &Group<'_>, points: &[Group<'_>]) -> Option<String> {
    let measured = points
        .iter()
        .filter_map(|point| Some((point, point.tps().value()?)));
    let (least, lowest) = measured.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let times = best.tps().value()? / lowest;
    let is_clear = times.is_finite() && times >= 1.05 && differ(best, least, points.len());
    is_clear.then(|| {
        let tps = least.tps().shown();
        format!("{times:.1} times the {tps} at {}", least.name)
    })
}

/// The points that may be as good.
fn rivals(best: &Group<'_>, points: &[Group<'_>]) -> Option<String> {
    const MOST: usize = 3;
    let others = points.iter().filter(|point| !std::ptr::eq(*point, best));
    let near: Vec<&Group<'_>> = others
        .filter(|point| point.tps().estimate.is_some() && !differ(best, point, points.len()))
        .collect();
    let named = near.iter().take(MOST);
    let named = named.map(|point| format!("{} ({})", point.name, point.tps().shown()));
    let mut text = joined(named, ", ");
    if let Some(more @ 1..) = near.len().checked_sub(MOST) {
        text.push_str(&format!(" and {}", number::counted(more as u64, "other")));
    }
    (!near.is_empty()).then(|| format!("not significantly more than at {text}"))
}

/// Servers that were not restarted differ even if they are identical; points of one running server
/// do not.
fn are_comparable(points: &[Group<'_>]) -> bool {
    let trials = points.iter().flat_map(|point| &point.trials);
    let planned: Vec<&plan::Trial> = trials.map(|trial| &trial.setup.planned).collect();
    let is_shared = |pair: &[&plan::Trial]| {
        pair[0].server == pair[1].server && pair[0].topology == pair[1].topology
    };
    planned.iter().all(|one| one.server.is_restarted()) || planned.windows(2).all(is_shared)
}

/// Whether the best of so many points differs significantly from another.
fn differ(best: &Group<'_>, other: &Group<'_>, points: usize) -> bool {
    let found = metric_comparison::throughput(&other.trials, &best.trials);
    found.is_ok_and(|found| is_significant(&found, points))
}

fn bound_at(best: &Group<'_>) -> String {
    // A study of failures asks for something else.
    if best.trials.iter().any(|trial| !trial.faults.is_empty()) {
        return String::new();
    }
    let trials = counted(&best.trials).into_iter();
    let bounds = trials.filter_map(|trial| Some(trial.verdict.as_ref()?.bound));
    match distinct(bounds).as_slice() {
        [Bottleneck::Nothing] => " No bottleneck was identified.".to_owned(),
        [bound] => format!(" That point was {}.", in_sentence(*bound)),
        _ => String::new(),
    }
}

/// As in the middle of a sentence; `CPU` and `IO` stay large.
fn in_sentence(bound: Bottleneck) -> String {
    match bound.words() {
        acronym if acronym[1..].starts_with(char::is_uppercase) => acronym.to_owned(),
        word => word.to_lowercase(),
    }
}
