//! A study as a sheet. A benchmark is a study of one point.

mod bottlenecks;
mod figures;
mod notices;
mod setup;
mod table_of_trials;

use measure::result::RunResult;

pub(crate) use figures::of_sweep;

use crate::answer::Answer;
use crate::figures::{Figures, seconds_per_point};
use crate::grid::Grid;
use crate::lead;
use crate::report::Report;
use crate::sheet::{Block, Section, Sheet, TrialPart, tables};
use crate::{
    compare, csv, describe, keys, ledger, recovery, scale, search, summary, table, thresholds,
    trial,
};

/// With more trials, tables with a line for each are folded away.
const MOST_OPEN: usize = 16;

/// What the cells of all points are.
const POINTS: &str = "One row per point: means over its n trials, with half of their 95 % \
                      confidence interval, or with the minimum and maximum of two or three trials, \
                      which are too few for one. p95 and p99 are in milliseconds.";

impl Answer for Report<'_> {
    fn sheet(&self) -> Sheet {
        let result = self.result;
        let mut sections = vec![results(result)];
        sections.extend(trials(self));
        sections.push(setup::section(result));
        sections.push(setup::environment(result));
        sections.push(setup::again(result, self.study));
        Sheet {
            question: result.question.clone(),
            description: paragraphs(result.description.as_deref().unwrap_or_default()),
            sections,
            ..frame(result)
        }
    }

    fn csv(&self) -> String {
        csv::results(self.result)
    }

    fn figures(&self) -> Option<Figures> {
        Some(Figures::of(self))
    }
}

/// All that a terminal shows: the results, with every trial.
pub fn outline(result: &RunResult) -> Sheet {
    let mut sections = vec![results(result)];
    if let [only] = result.trials.as_slice() {
        let mut blocks = vec![Block::Words(describe::in_short(&only.setup))];
        blocks.extend(trial::blocks(only));
        sections.insert(0, Section::new("", blocks));
    }
    Sheet {
        sections,
        ..frame(result)
    }
}

/// What every sheet of a result has.
pub(crate) fn frame(result: &RunResult) -> Sheet {
    Sheet {
        title: result.title.clone(),
        version: result.environment.dyno_version.clone(),
        started: Some(result.environment.started.clone()),
        lead: lead(result),
        notices: notices::all(result),
        ..Sheet::default()
    }
}

/// The result in a few sentences: first of the ledger, then of
/// recoveries, then of two variants.
fn lead(result: &RunResult) -> String {
    let parts = [
        ledger::sentence(result),
        recovery::sentences(result),
        compare::headline(result),
    ];
    let parts = parts.into_iter().flatten().chain([lead::lead(result)]);
    parts.collect::<Vec<_>>().join(" ")
}

/// A study's lines end where its file breaks them; its paragraphs, at an empty line.
fn paragraphs(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let paragraphs = lines.split(|line| line.is_empty());
    let paragraphs = paragraphs.filter(|lines| !lines.is_empty());
    paragraphs.map(|lines| lines.join(" ")).collect()
}

fn results(result: &RunResult) -> Section {
    let much = result.trials.len() > MOST_OPEN;
    let mut blocks: Vec<Block> =
        tables(table::tables(result).iter().map(table::PaperTable::grid)).collect();
    let has_tables = !blocks.is_empty();
    // A single trial has a part of its own with all that these say.
    if result.trials.len() != 1 {
        let recovery = tables([recovery::distributions(result)]);
        blocks.extend(recovery.flat_map(|table| Block::titled("Recovery", table, false)));
        let mut ledgers = tables(ledger::of_study(result));
        let first = ledgers.next().into_iter();
        blocks.extend(first.flat_map(|table| Block::titled("Ledger", table, much)));
        blocks.extend(ledgers);
    }
    let (last, first): (Vec<Section>, Vec<Section>) =
        answers(result).into_iter().partition(is_what_was_not_done);
    for answer in first {
        blocks.push(Block::Heading(answer.title));
        blocks.extend(answer.blocks);
    }
    blocks.extend(figures::sweep(result));
    if !result.trials.is_empty() {
        blocks.push(figures::curves(result));
    }
    if keys::repeated(result) && result.searches.is_empty() {
        let points = Grid {
            caption: POINTS.to_owned(),
            ..summary::points(result)
        };
        blocks.extend(Block::titled(
            "All points",
            Block::Table(points),
            has_tables,
        ));
    }
    if result.trials.len() != 1 {
        let all = Block::Table(table_of_trials::grid(result));
        blocks.extend(Block::titled("All trials", all, much && has_tables));
        let verdicts = tables([bottlenecks::grid(result)]);
        blocks.extend(verdicts.flat_map(|table| Block::titled("Bottlenecks", table, much)));
    }
    if let Some(lead) = thresholds::lead(result) {
        blocks.push(Block::heading("Thresholds"));
        blocks.push(Block::Words(lead));
        blocks.push(Block::Table(thresholds::grid(result)));
    }
    for answer in last {
        blocks.push(Block::Heading(answer.title));
        blocks.extend(answer.blocks);
    }
    Section {
        id: "results",
        ..Section::new("Results", blocks)
    }
}

/// Whether an answer is only why there is none, which comes after the results.
pub(crate) fn is_what_was_not_done(answer: &Section) -> bool {
    let mut blocks = answer.blocks.iter();
    blocks.all(|block| matches!(block, Block::Words(_)))
}

/// What searches found; or how variants compare, and how far the study scales.
pub(crate) fn answers(result: &RunResult) -> Vec<Section> {
    if let Some(found) = search::section(result) {
        // The search chose the rates of its trials, so there is nothing in them to compare.
        return vec![found];
    }
    let mut answers: Vec<Section> = compare::answer(result).into_iter().collect();
    answers.extend(scale::section(result));
    answers
}

fn trials(report: &Report<'_>) -> Option<Section> {
    let result = report.result;
    let trials = result.trials.iter().map(|trial| TrialPart {
        name: keys::trial_name(trial, result),
        blocks: trial::blocks(trial),
    });
    let note = match seconds_per_point(report) {
        1 => String::new(),
        seconds => format!(
            "The series are too long for a page: each point stands for up to {seconds} seconds, with \
             the mean of their rates and the maximum of their times. The files of each trial have \
             every second."
        ),
    };
    (!result.trials.is_empty()).then(|| Section {
        id: "trials",
        ..Section::new(
            "Trials",
            vec![Block::Trials {
                note,
                trials: trials.collect(),
            }],
        )
    })
}
