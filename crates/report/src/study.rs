//! A study as a sheet. A benchmark is a study of one point.

mod setup;
mod table_of_trials;

use measure::result::RunResult;
use measure::setup::Outcome;

use crate::answer::Answer;
use crate::figures::{self, Figures};
use crate::findings;
use crate::grid::{Grid, heads};
use crate::sheet::{Block, Figure, Item, Section, Sheet, TrialPart, tables, words};
use crate::{
    Report, compare, csv, describe, doctor, keys, scale, search, table, thresholds, trial,
};

/// With more trials, tables with a line for each are folded away.
const MOST_OPEN: usize = 16;

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
#[must_use]
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
        lead: findings::lead(result),
        notices: notices(result),
        ..Sheet::default()
    }
}

/// A study's lines end where its file breaks them; its paragraphs, at an empty line.
fn paragraphs(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let paragraphs = lines.split(|line| line.is_empty());
    let paragraphs = paragraphs.filter(|lines| !lines.is_empty());
    paragraphs.map(|lines| lines.join(" ")).collect()
}

fn notices(result: &RunResult) -> Vec<Section> {
    let all = [incomplete(result), warnings(result), distorting(result)];
    all.into_iter().flatten().collect()
}

/// Trials that are missing or did not run to their end.
fn incomplete(result: &RunResult) -> Option<Section> {
    let mut blocks: Vec<Block> = words(findings::missing(result)).collect();
    let early = findings::ended_early(result);
    if !early.is_empty() {
        let items = early.into_iter().map(|remark| Item {
            words: format!("{}: {}", remark.what, remark.words),
            name: format!("Trial {} ({})", remark.number, remark.name),
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

fn results(result: &RunResult) -> Section {
    let much = result.trials.len() > MOST_OPEN;
    let mut blocks: Vec<Block> =
        tables(table::tables(result).iter().map(table::PaperTable::grid)).collect();
    let has_tables = !blocks.is_empty();
    for answer in answers(result) {
        blocks.push(Block::Heading(answer.title));
        blocks.extend(answer.blocks);
    }
    blocks.extend(sweep_figures(result));
    if !result.trials.is_empty() {
        blocks.push(curves(result));
    }
    // A single trial has a part of its own with all that these say.
    if result.trials.len() != 1 {
        let all = Block::Table(table_of_trials::grid(result));
        blocks.extend(Block::titled("All trials", all, much && has_tables));
        let verdicts = tables([verdicts(result)]);
        blocks.extend(verdicts.flat_map(|table| Block::titled("Bottlenecks", table, much)));
    }
    if let Some(lead) = thresholds::lead(result) {
        blocks.push(Block::heading("Thresholds"));
        blocks.push(Block::Words(lead));
        blocks.push(Block::Table(thresholds::grid(result)));
    }
    Section {
        id: "results",
        ..Section::new("Results", blocks)
    }
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

fn sweep_figures(result: &RunResult) -> Vec<Block> {
    let Some(sweep) = figures::sweep(result) else {
        return Vec::new();
    };
    let key = &sweep.key;
    let mut figures = vec![
        Figure {
            id: "sweep-tps",
            label: format!("Line chart of throughput by {key}; the tables have its values."),
            caption: format!("Throughput by {key}. Error bars: 95 % confidence intervals."),
        },
        Figure {
            id: "sweep-ms",
            label: format!("Line chart of response time by {key}; the tables have its values."),
            caption: format!(
                "Response time by {key}, from the intended start of a transaction. Error bars: 95 % \
                 confidence intervals of the mean."
            ),
        },
    ];
    figures.extend(sweep.cpu.then(|| Figure {
        id: "sweep-cpu",
        label: format!("Stacked bar chart of the host's CPU time by {key} and category."),
        caption: format!("The host's CPU time by {key}, all cores together."),
    }));
    figures.into_iter().map(Block::Figure).collect()
}

fn curves(result: &RunResult) -> Block {
    let of = match result.searches.is_empty() {
        true => "at its point, repeats included",
        false => "of its step",
    };
    Block::Figure(Figure {
        id: "curves",
        label: "Line chart of response time by percentile at each point; the tables have the main \
                percentiles."
            .to_owned(),
        caption: format!(
            "Response time by percentile. The axis gives each additional nine the same width, to \
             show the tail. Each curve covers all transactions {of}, and ends at the slowest."
        ),
    })
}

fn verdicts(result: &RunResult) -> Grid {
    let rows = findings::verdicts(result).into_iter();
    let rows = rows.map(|remark| vec![remark.name, remark.what, remark.words]);
    Grid {
        caption: "The bottleneck of each trial, with the evidence.".to_owned(),
        heads: heads(["trial", "verdict", "evidence"]),
        keys: 1,
        words: 2,
        rows: rows.collect(),
        ..Grid::default()
    }
}

fn trials(report: &Report<'_>) -> Option<Section> {
    let result = report.result;
    let trials = result.trials.iter().map(|trial| TrialPart {
        name: keys::trial_name(trial, result),
        blocks: trial::blocks(trial),
    });
    let note = match figures::seconds_per_point(report) {
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
