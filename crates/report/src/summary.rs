//! A result on one screen; the report has the rest. Of a study, a line for each point, and what the
//! trials have in common; of a single trial, a few lines and then its headline, next to the prompt.

use measure::result::RunResult;
use measure::setup::Outcome;
use measure::summary::{LatencySummary, TrialSummary};

use crate::findings::{self, TrialNote};
use crate::keys::trials_of;
use crate::list::{joined_any, joined_known};
use crate::sheet::{Block, Item, Section, Sheet, known};
use crate::study::points;
use crate::{describe, doctor, lead, number, search, study, thresholds};

/// Points that have a line of their own.
const MOST_POINTS: usize = 12;
/// Kinds of warnings, and trials that ended early, that are listed one by one.
const MOST_LISTED: usize = 2;
/// Characters of a warning or an error that are shown.
const MOST_CHARS: usize = 120;

/// For a study, the result in a sentence, its points, and the numbers of verdicts, failures, and
/// warnings; for a benchmark, its numbers, unless `is_quiet`, and then the result.
pub fn sheet(result: &RunResult, is_quiet: bool) -> Sheet {
    let Some(trial) = only_trial(result) else {
        return of_study(result);
    };
    let numbers = (!is_quiet).then(|| numbers_of(result, trial));
    let blocks = numbers.into_iter().chain([headline_of(result)]);
    Sheet {
        sections: vec![Section::new("", blocks.collect())],
        ..Sheet::default()
    }
}

/// The trial of a result that is nothing but a benchmark: a single trial without faults.
fn only_trial(result: &RunResult) -> Option<&TrialSummary> {
    let is_plain = |trial: &&TrialSummary| {
        trial.faults.is_empty() && trial.ledgers.is_empty() && result.searches.is_empty()
    };
    match result.trials.as_slice() {
        [only] if result.design.trials <= 1 => Some(only).filter(is_plain),
        _ => None,
    }
}

/// With the headline, at most 15 lines on a terminal of 80 columns.
fn numbers_of(result: &RunResult, trial: &TrialSummary) -> Block {
    let times = |times: Option<LatencySummary>| {
        let ms = times?;
        let [mean, p50, p95, p99, max] =
            [ms.mean.value, ms.p50, ms.p95, ms.p99, ms.max].map(number::value);
        Some(format!(
            "mean {mean} ms, median {p50}, p95 {p95}, p99 {p99}, max {max}"
        ))
    };
    let is_early = trial.outcome != Outcome::Completed;
    let early = is_early.then(|| cut(&trial.outcome.to_string()));
    let warning = trial.warnings.first();
    let warning = warning.map(|one| first_sentence(&one.to_string()));
    Block::Facts(known([
        ("Load", Some(load(trial))),
        ("Transactions", Some(counts(trial))),
        ("Response", times(trial.response_ms)),
        ("Service", times(trial.service_ms)),
        ("Ended early", early),
        ("Verdict", trial.verdict.as_ref().map(ToString::to_string)),
        ("Server", describe::unseen(trial)),
        ("Warning", warning),
        ("Also", rest(result, trial)),
    ]))
}

fn headline_of(result: &RunResult) -> Block {
    let words = [thresholds::lead(result), Some(lead::lead(result))];
    Block::Words(joined_known(words, " "))
}

fn load(trial: &TrialSummary) -> String {
    let (setup, planned) = (&trial.setup, &trial.setup.planned);
    let instances = match planned.topology.instances {
        1 => String::new(),
        several => format!(" on each of {several} servers"),
    };
    let rows = number::counted(planned.data.rows, "row");
    let tables = match setup.tables {
        0 => String::new(),
        tables => format!("; {} of {rows}", number::counted(tables.into(), "table")),
    };
    format!(
        "{}, {}{instances}, {}{tables}; {} after {} of warm-up",
        planned.load.workload.value,
        number::counted(planned.load.threads.into(), "virtual user"),
        describe::pace(&planned.load),
        number::seconds(trial.measured_s),
        number::seconds(planned.load.warmup.as_secs_f64()),
    )
}

fn counts(trial: &TrialSummary) -> String {
    format!(
        "{} ({}), {}, {}",
        number::count(trial.transactions.count),
        number::counted(trial.statements.count, "statement"),
        number::counted(trial.failures(), "error"),
        number::counted(trial.restarts(), "restart"),
    )
}

/// The other warnings in short, and what the host may distort.
fn rest(result: &RunResult, trial: &TrialSummary) -> Option<String> {
    let warnings = trial.warnings.iter().skip(1);
    let mut warnings: Vec<_> = warnings.map(|warning| warning.in_short()).collect();
    // Several agents may have the same.
    warnings.dedup();
    let warnings = joined_any(warnings, ", ");
    let parts = joined_any(warnings.into_iter().chain(distorting(result)), "; ")?;
    Some(format!(
        "{} (--verbose, report)",
        parts.trim_end_matches('.')
    ))
}

/// What is wrong, without what to do about it.
fn first_sentence(text: &str) -> String {
    let first = text.split_once(". ").map_or(text, |(first, _)| first);
    cut(first.trim_end_matches('.'))
}

fn of_study(result: &RunResult) -> Sheet {
    let frame = study::frame(result);
    let mut blocks = numbers(result);
    let answers = study::answers(result).into_iter();
    let answers = answers.filter(|answer| !study::is_what_was_not_done(answer));
    let lead = &frame.lead;
    let told = answers.flat_map(|Section { title, blocks, .. }| {
        blocks.into_iter().filter_map(move |block| match block {
            Block::Words(words) if !lead.contains(&words) => Some(format!("{title}: {words}")),
            _ => None,
        })
    });
    let mut lines: Vec<String> = told.collect();
    lines.extend(verdicts(result));
    lines.extend(thresholds::lead(result));
    let early = findings::ended_early(&trials_of(result), result);
    let early = early.iter().map(ended);
    lines.extend(shortened(early, ["trial", "trials"], "that ended early"));
    lines.extend(findings::missing(result));
    let warnings = findings::warnings(result).into_iter();
    let warnings = warnings.map(|(count, warning)| {
        let of = of_trials(count, result.trials.len());
        format!("Warning, {of}: {}", cut(&warning.words))
    });
    lines.extend(shortened(warnings, ["kind", "kinds"], "of warnings"));
    lines.extend(distorting(result));
    lines.push("The report and --verbose show every trial, verdict and warning.".to_owned());
    blocks.push(Block::List(lines.into_iter().map(Item::words).collect()));
    Sheet {
        sections: vec![Section::new("", blocks)],
        notices: Vec::new(),
        ..frame
    }
}

fn distorting(result: &RunResult) -> Option<String> {
    let count = doctor::distorting(&result.findings).len();
    let conditions = number::counted(count as u64, "condition");
    (count > 0)
        .then(|| format!("{conditions} of this host or its servers may distort the results."))
}

/// A line for each point, or for each step or search of a search.
fn numbers(result: &RunResult) -> Vec<Block> {
    let mut table = search::table(result).unwrap_or_else(|| points::grid(result));
    let more = table.rows.len().saturating_sub(MOST_POINTS);
    table.rows.truncate(MOST_POINTS);
    let more = (more > 0).then(|| Block::Words(format!("and {more} more, in the report")));
    [Block::Table(table)].into_iter().chain(more).collect()
}

/// Each verdict with the number of trials that have it, and the evidence of the first.
fn verdicts(result: &RunResult) -> Vec<String> {
    // A study of failures asks for something else.
    if result.trials.iter().any(|trial| !trial.faults.is_empty()) {
        return Vec::new();
    }
    let told = findings::verdicts(result).into_iter().map(|notes| {
        let of = of_trials(notes.len(), result.trials.len());
        let first = if notes.len() > 1 { "first: " } else { "" };
        format!("{of}: {} ({first}{})", notes[0].what, notes[0].words)
    });
    told.collect()
}

fn ended(note: &TrialNote) -> String {
    let TrialNote { number, name, .. } = note;
    format!(
        "Trial {number} ({name}) {}: {}",
        note.what,
        cut(&note.words)
    )
}

/// The first few, and how many more there are.
fn shortened(
    all: impl ExactSizeIterator<Item = String>,
    [one, several]: [&str; 2],
    what: &str,
) -> Vec<String> {
    let more = all.len().saturating_sub(MOST_LISTED);
    let noun = if more == 1 { one } else { several };
    let more = (more > 0).then(|| format!("and {more} more {noun} {what}"));
    all.take(MOST_LISTED).chain(more).collect()
}

fn of_trials(count: usize, all: usize) -> String {
    match all {
        1 => "1 trial".to_owned(),
        _ if count == all => format!("all {all} trials"),
        _ => format!("{count} of {all} trials"),
    }
}

/// The beginning of a long text, to the end of a sentence or clause; of a longer one, of a word.
fn cut(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MOST_CHARS) else {
        return text.to_owned();
    };
    let start = &text[..end];
    let mut ends = [". ", "; ", " "].iter();
    let ends = ends.find_map(|end| start.rsplit_once(end));
    let kept = ends.map_or(start, |(kept, _)| kept);
    format!("{} …", kept.trim_end_matches([',', ';', ':']))
}
