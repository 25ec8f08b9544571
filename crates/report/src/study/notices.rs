//! What to know before the numbers of a study are trusted.

use measure::result::RunResult;
use measure::setup::Outcome;

use crate::doctor;
use crate::findings;
use crate::sheet::{Block, Item, Section, words};

pub(super) fn all(result: &RunResult) -> Vec<Section> {
    let all = [incomplete(result), warnings(result), distorting(result)];
    all.into_iter().flatten().collect()
}

/// Trials that are missing or did not run to their end.
fn incomplete(result: &RunResult) -> Option<Section> {
    let mut blocks: Vec<Block> = words(findings::missing(result)).collect();
    let early = findings::ended_early(result);
    if !early.is_empty() {
        let items = early.into_iter().map(|note| Item {
            words: format!("{}: {}", note.what, note.words),
            name: format!("Trial {} ({})", note.number, note.name),
            ..Item::default()
        });
        blocks.push(Block::List(items.collect()));
    }
    let is_left_out =
        |outcome: &Outcome| !matches!(outcome, Outcome::Completed | Outcome::Interrupted);
    if result
        .trials
        .iter()
        .any(|trial| is_left_out(&trial.outcome))
    {
        blocks.push(Block::Words(
            "Failed and stopped trials are listed among all trials, but excluded from means and \
             from figures by key."
                .to_owned(),
        ));
    }
    (!blocks.is_empty()).then(|| Section {
        id: "incomplete",
        ..Section::new("Incomplete results", blocks)
    })
}

fn warnings(result: &RunResult) -> Option<Section> {
    let warnings = findings::warnings(result).into_iter();
    let items = warnings.map(|warning| Item {
        words: warning.text,
        scope: warning.trials,
        ..Item::default()
    });
    let items: Vec<Item> = items.collect();
    (!items.is_empty()).then(|| Section {
        id: "warnings",
        ..Section::new("Warnings", vec![Block::List(items)])
    })
}

fn distorting(result: &RunResult) -> Option<Section> {
    let items = doctor::distorting(&result.findings);
    (!items.is_empty()).then(|| Section {
        id: "distorting",
        ..Section::new(
            "Conditions that may distort the results",
            vec![Block::List(items)],
        )
    })
}
