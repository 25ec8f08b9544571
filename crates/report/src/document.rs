//! Everything that a report says, in the order in which it says it; the page and
//! Markdown write it down.

use measure::ended::Ended;
use measure::result::RunResult;
use measure::summary::{LatencySummary, TrialSummary};

use crate::Report;
use crate::compare;
use crate::describe::{self, Facts};
use crate::doctor::{self, Spoiler};
use crate::environment;
use crate::findings::{self, Remark, WarningView};
use crate::grid::{Grid, heads};
use crate::keys;
use crate::list::{distinct, listed};
use crate::number;
use crate::provenance;
use crate::scale;
use crate::search;
use crate::settings::{self, Setting};
use crate::sheet::Section;
use crate::table;
use crate::thresholds;

/// A report in words and tables.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) result: &'a RunResult,
    pub(crate) lead: String,
    /// The description, paragraph by paragraph.
    pub(crate) description: Vec<String>,
    /// Planned trials that are not there.
    pub(crate) missing: Option<String>,
    pub(crate) ended_early: Vec<Remark>,
    pub(crate) warnings: Vec<WarningView>,
    pub(crate) spoilers: Vec<Spoiler>,
    /// What else was found of host and servers.
    pub(crate) found: Grid,
    /// The study's own tables.
    pub(crate) tables: Vec<Grid>,
    /// What the study was made to answer besides.
    pub(crate) answers: Vec<Section>,
    pub(crate) all_trials: Grid,
    pub(crate) verdicts: Grid,
    /// Whether the thresholds were kept, in a sentence and one by one.
    pub(crate) kept: Option<String>,
    pub(crate) thresholds: Grid,
    pub(crate) setup: Facts,
    pub(crate) data: Facts,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) study: Option<&'a str>,
}

impl<'a> Document<'a> {
    pub(crate) fn of(report: &Report<'a>) -> Self {
        let result = report.result;
        Self {
            result,
            lead: findings::lead(result),
            description: paragraphs(result.description.as_deref().unwrap_or_default()),
            missing: findings::missing(result),
            ended_early: findings::ended_early(result),
            warnings: findings::warnings(result),
            spoilers: doctor::spoilers(result),
            found: doctor::others(result),
            tables: table::tables(result)
                .iter()
                .map(table::PaperTable::grid)
                .collect(),
            answers: answers(result),
            all_trials: all_trials(result),
            verdicts: verdicts(result),
            kept: thresholds::lead(result),
            thresholds: thresholds::grid(result),
            setup: setup(result),
            data: provenance::facts(result),
            environment: environment::facts(&result.environment),
            settings: settings::settings(result),
            study: report.study.filter(|study| !study.trim().is_empty()),
        }
    }
}

/// A study's lines end where its file has them; its paragraphs, where a line is empty.
fn paragraphs(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let paragraphs = lines.split(|line| line.is_empty());
    let paragraphs = paragraphs.filter(|lines| !lines.is_empty());
    paragraphs.map(|lines| lines.join(" ")).collect()
}

/// What searches found, or what two variants cost against each other and how far it scales.
pub(crate) fn answers(result: &RunResult) -> Vec<Section> {
    if let Some(found) = search::section(result) {
        // Its trials are steps, whose rates it chose: there is nothing in them to compare.
        return vec![found];
    }
    let mut answers: Vec<Section> = compare::answer(result).into_iter().collect();
    answers.extend(scale::section(result));
    answers
}

/// A row for each trial.
pub(crate) fn all_trials(result: &RunResult) -> Grid {
    let axes = keys::axes(result);
    let any = |of: fn(&TrialSummary) -> bool| result.trials.iter().any(of);
    let verdict = any(|trial| trial.verdict.is_some());
    let steady = any(|trial| trial.steady.is_some());
    let early = any(|trial| trial.outcome != measure::setup::Outcome::Completed);
    let repeated = keys::repeated(result);

    let mut titles = vec!["trial"];
    titles.extend(axes.iter().map(|key| keys::short(key, &axes)));
    titles.extend(repeated.then_some("repeat"));
    let keys = titles.len();
    titles.extend([
        "tps", "mean", "p50", "p95", "p99", "max", "errors", "restarts",
    ]);
    titles.extend(steady.then_some("steady"));
    titles.extend(verdict.then_some("verdict"));
    titles.extend(early.then_some("ended"));

    let rows = result.trials.iter().enumerate().map(|(place, trial)| {
        let mut row = vec![number_of(trial, place)];
        row.extend(axes.iter().map(|key| keys::value(trial, key).to_owned()));
        row.extend(repeated.then(|| trial.repeat.to_string()));
        row.extend(numbers(trial));
        row.extend(steady.then(|| describe::steady_in_short(trial)));
        let bound = trial.verdict.as_ref().map(|verdict| verdict.bound);
        let bound = bound.map_or(number::ABSENT.to_owned(), findings::bound_word);
        row.extend(verdict.then_some(bound));
        row.extend(early.then(|| findings::ended(&trial.outcome).to_owned()));
        row
    });
    Grid {
        caption: "All trials. ± is half of the 95 % confidence interval of the mean, from the \
                  trial's own seconds; without it, too little was measured to say. Response times in \
                  milliseconds, from the intended start of a transaction. Steady says from when on \
                  the load was, counted from its start."
            .to_owned(),
        heads: heads(titles),
        keys,
        words: usize::from(verdict) + usize::from(early),
        links: true,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// A trial's number in the plan; of results without a plan its place.
fn number_of(trial: &TrialSummary, place: usize) -> String {
    match trial.number {
        0 => (place + 1).to_string(),
        number => number.to_string(),
    }
}

fn numbers(trial: &TrialSummary) -> Vec<String> {
    let time = |of: fn(LatencySummary) -> f64| number::maybe(trial.response_ms.map(of));
    vec![
        number::estimate(trial.transactions.per_s),
        number::estimate(trial.response_ms.map(|response| response.mean)),
        time(|response| response.p50),
        time(|response| response.p95),
        time(|response| response.p99),
        time(|response| response.max),
        number::count(trial.failures()),
        number::count(trial.restarts()),
    ]
}

/// What ending trials when they were sure has saved.
fn saved(result: &RunResult) -> Option<String> {
    let may = result
        .trials
        .iter()
        .filter(|trial| trial.setup.until.is_some());
    let ended = may.clone().filter_map(|trial| match &trial.ended {
        Some(ended @ Ended::Sure { .. }) => Some(ended.saved_s()),
        _ => None,
    });
    let saved: Vec<f64> = ended.collect();
    let longest: f64 = may.clone().filter_map(|trial| trial.setup.time_s).sum();
    (longest > 0.0).then(|| {
        format!(
            "{} of {} trials, {} saved of {} of measurement at most",
            saved.len(),
            may.count(),
            number::duration(saved.iter().sum::<f64>() + 0.0),
            number::duration(longest)
        )
    })
}

fn verdicts(result: &RunResult) -> Grid {
    let rows = findings::verdicts(result).into_iter();
    let rows = rows.map(|remark| vec![remark.name, remark.what, remark.words]);
    Grid {
        caption: "What held each trial back, and the numbers that say so.".to_owned(),
        heads: heads(["trial", "verdict", "evidence"]),
        keys: 1,
        words: 2,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// The set-up; what differs between trials is listed with its values.
fn setup(result: &RunResult) -> Facts {
    let trials: Vec<&TrialSummary> = result.trials.iter().collect();
    let points = keys::groups(&trials, &keys::axes(result)).into_iter();
    let setups = points.flat_map(|point| point.trials);
    let setups: Vec<Facts> = setups.map(|trial| describe::setup(&trial.setup)).collect();
    let Some(first) = setups.first() else {
        return Facts::new();
    };
    let names = first.iter().map(|(name, _)| *name).enumerate();
    let mut facts: Facts = names
        .map(|(place, name)| {
            let values = setups.iter().filter_map(|setup| setup.get(place));
            (name, listed(&distinct(values.map(|(_, value)| value))))
        })
        .collect();
    facts.extend(saved(result).map(|words| ("Ended when sure", words)));
    let order = &result.design.order;
    if !order.is_empty() {
        facts.push(("Order of the trials", order.clone()));
    }
    facts
}
