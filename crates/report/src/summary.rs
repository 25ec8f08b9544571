//! A whole study on one screen: a line for each point, and what the trials have in common. The
//! report has the rest.

use measure::compare::Change;
use measure::finding::Level;
use measure::result::RunResult;
use measure::summary::{TrialSummary, counted};

use crate::benchmark;
use crate::cell::Cell;
use crate::columns::Columns;
use crate::compare;
use crate::findings::{self, TrialNote};
use crate::grid::Grid;
use crate::keys;
use crate::number;
use crate::point::{self, Point};
use crate::search;
use crate::sheet::{Block, Item, Section, Sheet};
use crate::study;
use crate::thresholds;

/// Points that have a line of their own.
const MOST_POINTS: usize = 12;
/// Kinds of warnings, and trials that ended early, that are listed one by one.
const MOST_LISTED: usize = 2;
/// Characters of a warning or an error that are shown.
const MOST_CHARS: usize = 120;

/// The result in a sentence, its points, and verdicts, failures and warnings by their number; of a
/// benchmark, its numbers and then the result.
pub fn sheet(result: &RunResult) -> Sheet {
    match benchmark::only_trial(result) {
        Some(trial) => benchmark::sheet(result, trial),
        None => of_study(result),
    }
}

/// As little as possible: of a benchmark, only the result in a sentence.
pub fn headline(result: &RunResult) -> Sheet {
    match benchmark::only_trial(result) {
        Some(_) => Sheet {
            sections: vec![benchmark::headline(result)],
            ..Sheet::default()
        },
        None => of_study(result),
    }
}

fn of_study(result: &RunResult) -> Sheet {
    let frame = study::frame(result);
    let mut blocks = numbers(result);
    let answers = study::answers(result).into_iter();
    let answers = answers.filter(|answer| !study::is_what_was_not_done(answer));
    let words = answers.flat_map(|Section { title, blocks, .. }| {
        blocks.into_iter().filter_map(move |block| match block {
            Block::Words(words) => Some((title.clone(), words)),
            _ => None,
        })
    });
    let mut lines: Vec<String> = words
        .filter(|(_, words)| !frame.lead.contains(words))
        .map(|(title, words)| format!("{title}: {words}"))
        .collect();
    lines.extend(verdicts(result));
    lines.extend(thresholds::lead(result));
    let early = findings::ended_early(result);
    lines.extend(shortened(
        early.iter().map(ended),
        ["trial", "trials"],
        "that ended early",
    ));
    lines.extend(findings::missing(result));
    let warnings = findings::warnings(result).into_iter();
    let warnings = warnings.map(|warning| {
        let (count, all) = (warning.count, result.trials.len());
        format!("Warning, {}: {}", of_trials(count, all), cut(&warning.text))
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

/// How many findings may distort the results.
pub(crate) fn distorting(result: &RunResult) -> Option<String> {
    let findings = result.findings.iter();
    match findings
        .filter(|finding| finding.level < Level::Note)
        .count()
    {
        0 => None,
        1 => Some("1 condition of this host or its servers may distort the results.".to_owned()),
        several => Some(format!(
            "{several} conditions of this host or its servers may distort the results."
        )),
    }
}

/// A line for each point, or for each step or search of a search.
fn numbers(result: &RunResult) -> Vec<Block> {
    let mut table = match search::section(result) {
        Some(found) => match search::first_table(found) {
            Some(table) => table,
            None => return Vec::new(),
        },
        None => points(result),
    };
    let more = table.rows.len().saturating_sub(MOST_POINTS);
    table.rows.truncate(MOST_POINTS);
    let mut blocks = vec![Block::Table(table)];
    if more > 0 {
        blocks.push(Block::Words(format!("and {more} more, in the report")));
    }
    blocks
}

pub(crate) fn points(result: &RunResult) -> Grid {
    let axes = keys::axes(result);
    let trials: Vec<&TrialSummary> = result.trials.iter().collect();
    let points = point::points(&trials, &axes, &axes);
    // Of two variants, the first sentence says it.
    let base = match compare::variants(result).as_slice() {
        [base, _, _, ..] => Some(*base),
        _ => None,
    };
    let verdicts = result.trials.iter().any(|trial| trial.verdict.is_some());
    let mean = |point: &Point<'_>, column| Cell::of(&point.trials, column).value();
    let columns = Columns::<&Point<'_>>::new()
        .each(&axes, |columns, key| {
            columns.key(keys::short(key, &axes), |point| {
                keys::value(point.trials.first()?, key)
            })
        })
        .with("n", |point| counted(&point.trials).len())
        .with("tps", |point| point.tps)
        .with("mean ms", move |point| mean(point, "response_ms.mean"))
        .with("p95", move |point| mean(point, "response_ms.p95"))
        .with("p99", move |point| mean(point, "response_ms.p99"))
        .with("errors", |point| {
            point
                .trials
                .iter()
                .map(|trial| trial.failures())
                .sum::<u64>()
        })
        .each(base, |columns, base| {
            columns.with("change %", |point| {
                change(point, of_base(point, base, &points, &axes))
            })
        })
        .when(verdicts, |columns| columns.words("verdict", bound));
    columns.grid("", &points)
}

/// The trials of the same point of the variant that the others are compared with.
fn of_base<'a>(
    point: &Point<'a>,
    base: &str,
    points: &'a [Point<'a>],
    axes: &[&str],
) -> &'a [&'a TrialSummary] {
    let is_same = |other: &TrialSummary, own: &TrialSummary| {
        let mut axes = axes.iter().filter(|key| **key != keys::VARIANT);
        axes.all(|key| keys::value(other, key) == keys::value(own, key))
            && keys::variant(other) == Some(base)
    };
    let found = points.iter().find(|other| {
        let pair = other.trials.first().zip(point.trials.first());
        pair.is_some_and(|(other, own)| is_same(other, own))
    });
    found.map_or(&[], |found| &found.trials)
}

/// Of its throughput, without an interval: whether there is a difference is a question of its own.
fn change(point: &Point<'_>, base: &[&TrialSummary]) -> String {
    let change = Cell::change(base, &point.trials, "tps", 1).value();
    let change = change.map(|value| Change {
        value,
        interval: None,
    });
    number::change(change, "")
}

/// The verdict of a point's trials, if they agree.
fn bound(point: &Point<'_>) -> String {
    let bounds = counted(&point.trials).into_iter();
    let mut bounds: Vec<_> = bounds
        .filter_map(|trial| Some(trial.verdict.as_ref()?.bound))
        .collect();
    bounds.dedup();
    match bounds.as_slice() {
        [] => number::ABSENT.to_owned(),
        [bound] => findings::bound_word(*bound),
        _ => "differs".to_owned(),
    }
}

/// Each verdict with the number of trials that have it, and the evidence of the first.
fn verdicts(result: &RunResult) -> Vec<String> {
    // A study of failures asks for something else.
    if result.trials.iter().any(|trial| !trial.faults.is_empty()) {
        return Vec::new();
    }
    let notes = findings::verdicts(result);
    let mut kinds: Vec<(&TrialNote, usize)> = Vec::new();
    for note in &notes {
        match kinds.iter_mut().find(|(known, _)| known.what == note.what) {
            Some((_, count)) => *count += 1,
            None => kinds.push((note, 1)),
        }
    }
    let all = result.trials.len();
    let told = kinds.into_iter().map(|(first, count)| {
        let evidence = &first.words;
        let of = of_trials(count, all);
        match count {
            1 => format!("{of}: {} ({evidence})", first.what),
            _ => format!("{of}: {} (first: {evidence})", first.what),
        }
    });
    told.collect()
}

fn ended(note: &TrialNote) -> String {
    format!(
        "Trial {} ({}) {}: {}",
        note.number,
        note.name,
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
    let mut told: Vec<String> = all.take(MOST_LISTED).collect();
    if more > 0 {
        let noun = if more == 1 { one } else { several };
        told.push(format!("and {more} more {noun} {what}"));
    }
    told
}

fn of_trials(count: usize, all: usize) -> String {
    match all {
        1 => "1 trial".to_owned(),
        _ if count == all => format!("all {all} trials"),
        _ => format!("{count} of {all} trials"),
    }
}

/// The beginning of a long text, to the end of a sentence or clause; of a longer one, of a word.
pub(crate) fn cut(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MOST_CHARS) else {
        return text.to_owned();
    };
    let start = &text[..end];
    let ends = [". ", "; ", " "]
        .iter()
        .find_map(|end| start.rsplit_once(end));
    let kept = ends.map_or(start, |(kept, _)| kept);
    format!("{} …", kept.trim_end_matches([',', ';', ':']))
}
