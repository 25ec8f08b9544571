//! What a study found besides its numbers: trials that failed, bottlenecks, and warnings; and the
//! cautions that follow for answers that use it.

use std::collections::BTreeSet;
use std::mem::discriminant;

use measure::finding::Level;
use measure::result::RunResult;
use measure::setup::Outcome;
use measure::summary::{TrialSummary, counted};
use measure::verdict::Bottleneck;
use measure::warning::Warning;

use crate::grid::{Columns, Grid};
use crate::keys::{Names, trials_of};
use crate::list::{distinct, grouped, joined, joined_any, listed};
use crate::metric_comparison::is_open_loop;
use crate::sheet::{Block, Item, Section};
use crate::{doctor, number};

pub(crate) fn bound_word(bound: Bottleneck) -> String {
    match bound {
        Bottleneck::Nothing => "none identified".to_owned(),
        other => other.to_string(),
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct TrialNote {
    pub(crate) number: u32,
    pub(crate) name: String,
    /// A word or two, for example `CPU-bound` or `failed`.
    pub(crate) what: String,
    pub(crate) words: String,
}

/// A note on each of these trials of a result that ended early.
pub(crate) fn ended_early(trials: &[&TrialSummary], result: &RunResult) -> Vec<TrialNote> {
    let names = Names::of(result);
    let early = trials.iter().filter_map(|trial| {
        let words = match &trial.outcome {
            Outcome::Completed => return None,
            Outcome::Interrupted if is_replaced(trial, result) => {
                "excluded, because other trials of its point completed"
            }
            Outcome::Interrupted => "what was measured until then is included",
            failed => reason(failed),
        };
        Some(note(trial, &names, ended(&trial.outcome), words))
    });
    early.collect()
}

/// What the server or dyno said at the end of a trial that failed.
pub(crate) fn reason(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Completed | Outcome::Interrupted => "",
        Outcome::Stopped { error } | Outcome::ServerLost { error, .. } => error,
        Outcome::Failed { reason } => reason,
    }
}

/// Whether an interrupted trial is left out for whole ones.
fn is_replaced(trial: &TrialSummary, result: &RunResult) -> bool {
    let mut counted = counted(&trials_of(result)).into_iter();
    !counted.any(|counted| std::ptr::eq(counted, trial))
}

pub(crate) fn ended(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Interrupted => "interrupted",
        Outcome::ServerLost { .. } => "lost its server",
        Outcome::Stopped { .. } => "stopped",
        Outcome::Failed { .. } => "failed",
    }
}

/// The verdicts of the trials, together where they agree; never empty inside.
pub(crate) fn verdicts(result: &RunResult) -> Vec<Vec<TrialNote>> {
    let names = Names::of(result);
    let notes = result.trials.iter().filter_map(|trial| {
        let verdict = trial.verdict.as_ref()?;
        let note = note(trial, &names, &verdict.bound.to_string(), &verdict.evidence);
        Some((note.what.clone(), note))
    });
    let kinds = grouped(notes).into_iter();
    kinds.map(|(_, notes)| notes).collect()
}

pub(crate) fn bottlenecks(result: &RunResult) -> Grid {
    let kinds = verdicts(result);
    let columns = Columns::<&Vec<TrialNote>>::new()
        .key("verdict", |notes| &notes[0].what)
        .words("trials", |notes| match notes.len() {
            all if all == result.trials.len() => format!("all {all}"),
            _ => listed(&notes.iter().map(|note| &*note.name).collect::<Vec<_>>()),
        })
        .words("evidence", |notes| &notes[0].words);
    let caption =
        "What limited the trials, with the evidence of the first; each trial below has its own.";
    columns.grid(caption, &kinds)
}

fn note(trial: &TrialSummary, names: &Names<'_>, what: &str, words: &str) -> TrialNote {
    TrialNote {
        number: trial.setup.planned.number,
        name: names.trial(trial),
        what: what.to_owned(),
        words: words.to_owned(),
    }
}

/// The trials that were planned and are not there, and what to do.
pub(crate) fn missing(result: &RunResult) -> Option<String> {
    let absent = absent(result)?;
    // With its options: another study is not resumed.
    let command = match result.environment.command.as_str() {
        typed if !typed.starts_with("dyno run ") => "dyno run STUDY --resume".to_owned(),
        typed if typed.contains(" --resume") => typed.to_owned(),
        typed => format!("{typed} --resume"),
    };
    Some(format!("{absent}. To run them: {command}."))
}

pub(crate) fn absent(result: &RunResult) -> Option<String> {
    const MOST_NAMED: usize = 20;
    let there = result.trials.iter().map(|trial| trial.setup.planned.number);
    let there: BTreeSet<u32> = there.collect();
    let skipped = &result.design.skipped;
    let is_absent = |number: &u32| !there.contains(number) && !skipped.contains(number);
    let absent = (1..=result.design.trials).filter(is_absent);
    let absent: Vec<u32> = absent.collect();
    let last = absent.last()?;
    let list = match absent.as_slice() {
        [one] => format!("trial {one} is"),
        _ if last - absent[0] + 1 == absent.len() as u32 => {
            format!("trials {} to {last} are", absent[0])
        }
        _ => {
            let named = joined(absent.iter().take(MOST_NAMED).map(u32::to_string), ", ");
            match absent.len().saturating_sub(MOST_NAMED) {
                0 => format!("trials {named} are"),
                more => format!("trials {named} and {} more are", number::count(more as u64)),
            }
        }
    };
    Some(format!(
        "{} of {} planned trials were run: {list} missing",
        number::count(result.trials.len() as u64),
        number::count(u64::from(result.design.trials).saturating_sub(skipped.len() as u64))
    ))
}

/// A sentence on each of these trials that ended early, which says whether the numbers include it,
/// and one on the trials that are missing from the result.
fn left_out(trials: &[&TrialSummary], result: &RunResult) -> Vec<String> {
    let early = ended_early(trials, result).into_iter();
    let interrupted = ended(&Outcome::Interrupted);
    let early = early.map(|note| match note.what == interrupted {
        true => format!("{} was {interrupted}: {}.", note.name, note.words),
        false => format!(
            "{} {}, and is excluded: {}",
            note.name, note.what, note.words
        ),
    });
    early
        .chain(absent(result).map(|words| format!("{words}.")))
        .collect()
}

/// Warnings of one kind as one: the number of trials that have it; the worst of them, and which
/// trials these are.
pub(crate) fn warnings(result: &RunResult) -> Vec<(usize, Item)> {
    let names = Names::of(result);
    let told = result.trials.iter().flat_map(|trial| {
        let name = names.trial(trial);
        let warnings = trial.warnings.iter();
        warnings.map(move |warning| (discriminant(warning), (warning, name.clone())))
    });
    let mut kinds = grouped(told);
    // Summaries list few kinds. What the machine was, and what was not served, concerns all numbers.
    kinds.sort_by_key(|(_, told)| match told.first() {
        Some((Warning::Emulated, _)) => 0,
        Some((Warning::Overloaded { .. }, _)) => 1,
        _ => 2,
    });
    let warnings = kinds.iter().filter_map(|(_, told)| {
        // Of equally bad ones the first.
        let all = told.iter().rev();
        let (worst, name) = all.max_by(|(a, _), (b, _)| a.weight().total_cmp(&b.weight()))?;
        let words = worst.to_string();
        let is_same = told.iter().all(|(warning, _)| warning.to_string() == words);
        let count = distinct(told.iter().map(|(_, name)| name.as_str())).len();
        let scope = who(told, name, is_same, result.trials.len());
        Some((
            count,
            Item {
                words,
                scope,
                ..Item::default()
            },
        ))
    });
    warnings.collect()
}

/// Which of all trials have a warning, `worst` the most.
fn who(told: &[(&Warning, String)], worst: &str, is_same: bool, all: usize) -> String {
    let names = distinct(told.iter().map(|(_, name)| name.as_str()));
    let every = names.len() == all && all > 1;
    match (every, is_same) {
        _ if all == 1 => String::new(),
        (true, true) => "all trials".to_owned(),
        (true, false) => format!("all trials; worst in {worst}"),
        (false, true) => names.join("; "),
        (false, false) if names.len() == 1 => worst.to_owned(),
        (false, false) => {
            let others = names.iter().filter(|name| **name != worst).copied();
            let others: Vec<&str> = others.collect();
            format!("worst in {worst}; also in {}", others.join("; "))
        }
    }
}

pub(crate) fn notices(result: &RunResult) -> Vec<Section> {
    let mut incomplete: Vec<Block> = missing(result).map(Block::Words).into_iter().collect();
    let early = ended_early(&trials_of(result), result).into_iter();
    let early = early.map(|note| Item {
        words: format!("{}: {}", note.what, note.words),
        name: format!("Trial {} ({})", note.number, note.name),
        ..Item::default()
    });
    incomplete.extend(Block::list(early));
    let is_left_out =
        |trial: &TrialSummary| !matches!(trial.outcome, Outcome::Completed | Outcome::Interrupted);
    if result.trials.iter().any(is_left_out) {
        incomplete.push(Block::Words(
            "Failed and stopped trials are listed among all trials, but excluded from means and \
             from figures by key."
                .to_owned(),
        ));
    }
    let warnings = warnings(result).into_iter().map(|(_, warning)| warning);
    let list = |items| Block::list(items).into_iter().collect();
    let distorting = list(doctor::distorting(&result.findings));
    let title = "Conditions that may distort the results";
    let mut all = vec![
        Section::named("incomplete", "Incomplete results", incomplete),
        Section::named("warnings", "Warnings", list(warnings.collect())),
        Section::named("distorting", title, distorting),
    ];
    all.retain(|section| !section.blocks.is_empty());
    all
}

/// Cautions about trials that are missing or, of `all`, ended early; about the warnings of the
/// trials that an answer `used`; and about the host. Each begins with `name`, if there is one.
pub(crate) fn cautions(
    name: Option<&str>,
    result: &RunResult,
    all: &[&TrialSummary],
    used: &[&TrialSummary],
) -> Vec<String> {
    let all = left_out(all, result).into_iter();
    let all = all.chain(warned(used)).chain(spoilt(result));
    let named = all.map(|words| match name {
        Some(name) => format!("{name}: {words}"),
        None => words,
    });
    named.collect()
}

fn warned(trials: &[&TrialSummary]) -> Option<String> {
    let with_any = trials.iter().filter(|trial| !trial.warnings.is_empty());
    let (count, all) = (with_any.count(), trials.len());
    let kinds = trials.iter().flat_map(|trial| {
        let warnings = trial.warnings.iter();
        distinct(warnings.map(|warning| (warning.in_short(), ())))
    });
    let told = grouped(kinds).into_iter();
    let told = told.map(|(kind, such)| format!("{kind} ({})", such.len()));
    let told = joined_any(told, ", ")?;
    Some(format!(
        "{count} of {all} trials have warnings: {told}. See the report of the result."
    ))
}

fn spoilt(result: &RunResult) -> Option<String> {
    let findings = result.findings.iter();
    let severe = findings.filter(|finding| finding.level == Level::Severe);
    let ids = joined_any(distinct(severe.map(|finding| finding.id.as_str())), ", ")?;
    Some(format!(
        "Conditions that distort measurements: {ids}. See the report of the result."
    ))
}

/// Throughput says nothing of a server that was given its load.
pub(crate) fn at_a_rate<'a>(trials: impl IntoIterator<Item = &'a TrialSummary>) -> Option<String> {
    is_open_loop(trials).then(|| {
        "Some trials had a fixed arrival rate, which determines their throughput: compare their \
         response times."
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_the_trial_that_has_it_most() {
        let waited = |waiting| Warning::GeneratorWaited { worker: 0, waiting };
        let (some, more) = (waited(0.2), waited(0.4));
        let who = |told: &[(&Warning, &str)], worst, is_same| {
            let told = told
                .iter()
                .map(|(warning, name)| (*warning, (*name).to_owned()));
            super::who(&told.collect::<Vec<_>>(), worst, is_same, 3)
        };
        assert_eq!(who(&[(&some, "a")], "a", true), "a");
        assert_eq!(who(&[(&some, "a"), (&some, "b")], "a", true), "a; b");
        let two = [(&some, "a"), (&more, "b")];
        assert_eq!(who(&two, "b", false), "worst in b; also in a");
        let all = [(&some, "a"), (&more, "b"), (&some, "c")];
        assert_eq!(who(&all, "b", false), "all trials; worst in b");
        assert_eq!(who(&[(&more, "a"), (&some, "a")], "a", false), "a");
        assert!(more.weight() > some.weight());
    }
}
