//! A study as a sheet. A benchmark is a study of one point.

pub(crate) mod points;
mod setup;

use measure::metric::MonitorPoint;
use measure::recovery::FaultSeries;
use measure::result::RunResult;
use measure::series::SeriesPoint;
use measure::setup::Outcome;
use measure::summary::{LatencySummary, TrialSummary};
use serde::Serialize;

use crate::answer::Answer;
use crate::cell::no_interval;
use crate::figures::{Figures, captions, seconds_per_point};
use crate::grid::{Columns, Grid};
use crate::keys::{self, Names};
use crate::list::joined_known;
use crate::sheet::{Block, Section, Sheet, tables};
use crate::{
    compare, csv, describe, findings, lead, ledger, recovery, scale, search, table, thresholds,
    trial,
};

/// With more trials, tables with a line for each are folded away.
const MOST_OPEN: usize = 16;

const POINTS: &str = "One row per point: means over its n trials, with half of their 95 % \
                      confidence interval, or with the minimum and maximum of two or three trials, \
                      which are too few for one. p95 and p99 are in milliseconds.";

/// One result, with all that its report shows. As JSON it is the result.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Report<'a> {
    pub result: &'a RunResult,
    /// This and the next two lists have an entry for each trial, in the order of `result.trials`.
    /// The report shows trials beyond the last entry without a series.
    #[serde(skip)]
    pub series: Vec<Vec<SeriesPoint>>,
    #[serde(skip)]
    pub monitors: Vec<Vec<MonitorPoint>>,
    #[serde(skip)]
    pub faults: Vec<Vec<FaultSeries>>,
    /// The study file as run, without secrets.
    #[serde(skip)]
    pub study: Option<String>,
}

impl Answer for Report<'_> {
    fn sheet(&self) -> Sheet {
        let result = self.result;
        let mut sections = vec![results(result, &self.faults)];
        sections.extend(trials(self));
        sections.push(setup::section(result));
        sections.push(setup::environment(result));
        sections.push(setup::again(result, self.study.as_deref()));
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

pub fn outline(result: &RunResult) -> Sheet {
    let mut sections = vec![results(result, &[])];
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

pub(crate) fn frame(result: &RunResult) -> Sheet {
    let lead = [
        ledger::sentence(result),
        recovery::sentences(result),
        compare::headline(result),
        Some(lead::lead(result)),
    ];
    Sheet {
        title: result.title.clone(),
        version: result.environment.dyno_version.clone(),
        started: Some(result.environment.started.clone()),
        lead: joined_known(lead, " "),
        notices: findings::notices(result),
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

fn results(result: &RunResult, faults: &[Vec<FaultSeries>]) -> Section {
    let much = result.trials.len() > MOST_OPEN;
    // A single trial has a part of its own with all that tables of trials say.
    let are_several = result.trials.len() != 1;
    let mut blocks: Vec<Block> =
        tables(table::tables(result).iter().map(table::PaperTable::grid)).collect();
    let has_tables = !blocks.is_empty();
    if are_several {
        let recovery = tables([recovery::distributions(result)]);
        blocks.extend(recovery.flat_map(|table| Block::titled("Recovery", table, false)));
        blocks.extend(captions::recoveries(result, faults));
        let mut ledgers = tables(ledger::of_study(result));
        let first = ledgers.next().into_iter();
        blocks.extend(first.flat_map(|table| Block::titled("Ledger", table, much)));
        blocks.extend(ledgers);
    }
    let told = |answer: Section| [vec![Block::Heading(answer.title)], answer.blocks];
    let (last, first): (Vec<Section>, Vec<Section>) =
        answers(result).into_iter().partition(is_what_was_not_done);
    blocks.extend(first.into_iter().flat_map(told).flatten());
    blocks.extend(captions::of_sweep(result, None));
    if !result.trials.is_empty() {
        blocks.push(captions::curves(result));
    }
    if keys::repeated(result) && result.searches.is_empty() {
        let points = Grid {
            caption: POINTS.to_owned(),
            ..points::grid(result)
        };
        blocks.extend(Block::titled(
            "All points",
            Block::Table(points),
            has_tables,
        ));
    }
    if are_several {
        let all = Block::Table(all_trials(result));
        blocks.extend(Block::titled("All trials", all, much && has_tables));
        let verdicts = tables([findings::bottlenecks(result)]);
        blocks.extend(verdicts.flat_map(|table| Block::titled("Bottlenecks", table, much)));
    }
    if let Some(lead) = thresholds::lead(result) {
        blocks.push(Block::Heading("Thresholds".to_owned()));
        blocks.push(Block::Words(lead));
        blocks.push(Block::Table(thresholds::grid(result)));
    }
    blocks.extend(last.into_iter().flat_map(told).flatten());
    Section::named("results", "Results", blocks)
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
    let answers = [compare::answer(result), scale::section(result)];
    answers.into_iter().flatten().collect()
}

fn trials(report: &Report<'_>) -> Option<Section> {
    let result = report.result;
    let (names, trials) = (Names::of(result), result.trials.iter());
    let trials = trials.map(|trial| Section::new(names.trial(trial), trial::blocks(trial)));
    let trials = trials.collect();
    let note = match seconds_per_point(report) {
        1 => String::new(),
        seconds => format!(
            "The series are too long for a page: each point stands for up to {seconds} seconds, with \
             the mean of their rates and the maximum of their times. The files of each trial have \
             every second."
        ),
    };
    (!result.trials.is_empty())
        .then(|| Section::named("trials", "Trials", vec![Block::Trials { note, trials }]))
}

fn all_trials(result: &RunResult) -> Grid {
    let axes = keys::axes(result);
    let any = |of: fn(&TrialSummary) -> bool| result.trials.iter().any(of);
    let verdict = any(|trial| trial.verdict.is_some());
    let steady = any(|trial| trial.steady.is_some());
    let early = any(|trial| trial.outcome != Outcome::Completed);

    type Row<'a> = (usize, &'a TrialSummary);
    let time = |(_, trial): Row<'_>, of: fn(LatencySummary) -> f64| trial.response_ms.map(of);
    let columns = Columns::<Row<'_>>::new()
        // Results without a plan have no numbers.
        .key("trial", |(place, trial)| match trial.setup.planned.number {
            0 => (place + 1).to_string(),
            number => number.to_string(),
        })
        .each(&axes, |columns, key| {
            columns.key(keys::short(key, &axes), |(_, trial)| {
                keys::value(trial, key)
            })
        })
        .when(keys::repeated(result), |columns| {
            columns.key("repeat", |(_, trial)| trial.setup.planned.repeat)
        })
        .with("tps", |(_, trial)| trial.transactions.per_s)
        .with("mean", |(_, trial)| Some(trial.response_ms?.mean))
        .with("p50", move |row| time(row, |response| response.p50))
        .with("p95", move |row| time(row, |response| response.p95))
        .with("p99", move |row| time(row, |response| response.p99))
        .with("max", move |row| time(row, |response| response.max))
        .with("errors", |(_, trial)| trial.failures())
        .with("restarts", |(_, trial)| trial.restarts())
        .when(steady, |columns| {
            columns.with("steady", |(_, trial)| describe::steady_in_short(trial))
        })
        .words_if(verdict, "verdict", |(_, trial)| {
            Some(findings::bound_word(trial.verdict.as_ref()?.bound))
        })
        .words_if(early, "ended", |(_, trial)| findings::ended(&trial.outcome));
    Grid {
        links: true,
        ..columns.grid(explained(result, steady), result.trials.iter().enumerate())
    }
}

fn explained(result: &RunResult, steady: bool) -> String {
    let trials = result.trials.iter();
    let rates = trials.filter_map(|trial| trial.transactions.per_s);
    let (with, without): (Vec<_>, Vec<_>) = rates.partition(|rate| rate.half_width.is_some());
    let half =
        "±: half width of the mean's 95 % confidence interval, from the seconds within the trial.";
    let parts = [
        Some("One row per trial."),
        (!with.is_empty()).then_some(half),
        (!without.is_empty()).then(|| no_interval(result.trials.iter())),
        Some("Response times are in milliseconds, from the intended start of a transaction."),
        steady.then_some("Steady: when steady state began, from the start of the load."),
    ];
    joined_known(parts, " ")
}
