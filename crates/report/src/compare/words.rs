//! What two sides come to, in sentences.

use measure::compare::{Comparison, Decision};
use measure::summary::{TrialSummary, counted};

use super::points::{Matched, Number};
use super::{Side, SideBySide};
use crate::doubts::{self, doubts};
use crate::findings;
use crate::number;

/// What a number is called at the start of a sentence.
fn spoken(column: &str) -> &'static str {
    match column {
        "tps" => "Throughput",
        "response_ms.mean" => "Mean response time",
        "response_ms.p95" => "95th percentile",
        _ => "99th percentile",
    }
}

/// How the second stands to the first, number by number.
pub(super) fn lead(both: &SideBySide) -> String {
    format!("{} against {}. {}", both.new, both.base, found(both))
}

/// The same without their names.
pub(super) fn found(both: &SideBySide) -> String {
    let columns = both.points.first().into_iter().flat_map(|p| &p.numbers);
    let sentences = columns.filter_map(|number| sentence(both, number.column));
    let sentences: Vec<String> = sentences.collect();
    if !sentences.is_empty() {
        return sentences.join(" ");
    }
    let mut numbers = both.points.iter().flat_map(|point| &point.numbers);
    let reason = numbers.find_map(|number| number.reason.as_deref());
    format!(
        "Nothing can be told: {}.",
        reason.unwrap_or("they have no point in common")
    )
}

/// How much the second gives against the first.
pub(super) fn in_short(both: &SideBySide) -> String {
    let throughput = sentence(both, "tps").unwrap_or_default();
    format!("{} against {}. {throughput}", both.new, both.base)
}

fn sentence(both: &SideBySide, column: &str) -> Option<String> {
    let numbers = both.points.iter().flat_map(|point| &point.numbers);
    let found = numbers.filter(|number| number.column == column);
    let found: Vec<Comparison> = found.filter_map(|number| number.comparison).collect();
    if found.is_empty() {
        return None;
    }
    let parts = [
        part(&found, "slower", |decision| decision == Decision::Slower),
        part(&found, "faster", |decision| decision == Decision::Faster),
        part(&found, "no difference shown", |decision| {
            decision == Decision::NoDifferenceShown
        }),
        part(&found, "too noisy to tell", |decision| {
            matches!(decision, Decision::TooNoisy { .. })
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(format!(
        "{}: {}{}.",
        spoken(column),
        parts.join(", "),
        average(&found)
    ))
}

/// `slower at 3 of 4 points (by 4.24 to 5.86 %)`.
fn part(found: &[Comparison], word: &str, is: fn(Decision) -> bool) -> Option<String> {
    let such = || found.iter().filter(|one| is(one.decision));
    let size = |one: &Comparison| one.change_pct.value.abs();
    let least = such().map(size).min_by(f64::total_cmp)?;
    let most = such().map(size).max_by(f64::total_cmp)?;
    let told = such().any(|one| matches!(one.decision, Decision::Slower | Decision::Faster));
    let by = match told {
        true if least == most => format!(" by {most:.2} %"),
        true => format!(" by {least:.2} to {most:.2} %"),
        false => String::new(),
    };
    Some(match found.len() {
        1 => format!("{word}{by}"),
        all => format!("{word} at {} of {all} points{by}", such().count()),
    })
}

/// The mean change of several points, whose errors do not depend on each other.
fn average(found: &[Comparison]) -> String {
    let count = found.len() as f64;
    let mean = found.iter().map(|one| one.change_pct.value).sum::<f64>() / count;
    let halves = found.iter().filter_map(|one| one.change_pct.half_width);
    let half = halves.map(|half| half * half).sum::<f64>().sqrt() / count;
    match found.len() {
        1 => String::new(),
        _ => format!("; {mean:+.2} ± {half:.2} % on average"),
    }
}

/// What one number shows, and what it would take to show more.
pub(super) fn verdict(number: &Number) -> String {
    match (&number.comparison, &number.reason) {
        (Some(found), _) => found.verdict(),
        (None, Some(reason)) => reason.clone(),
        (None, None) => number::ABSENT.to_owned(),
    }
}

/// What to know before it is believed.
pub(super) fn cautions(base: &Side<'_>, new: &Side<'_>, points: &[Matched]) -> Vec<String> {
    let mut cautions = Vec::new();
    cautions.extend(single_runs(points));
    cautions.extend(one_sided(base, new, points));
    let together = std::ptr::eq(base.result, new.result);
    let sides: &[&Side<'_>] = if together { &[base] } else { &[base, new] };
    for side in sides {
        cautions.extend(left_out(side, together));
    }
    let both = || sides.iter().flat_map(|side| &side.result.trials);
    cautions.extend(doubts::at_a_rate(both()));
    for side in sides {
        let all: Vec<&TrialSummary> = side.result.trials.iter().collect();
        let doubts = doubts(&counted(&all), side.result);
        match together {
            true => cautions.extend(doubts),
            false => cautions.extend(doubts::of(side.name, doubts)),
        }
    }
    cautions
}

fn single_runs(points: &[Matched]) -> Option<String> {
    let mut numbers = points.iter().flat_map(|point| &point.numbers);
    let single = |number: &Number| {
        let (base, new) = (number.base_n, number.new_n);
        base.min(new) == 1
    };
    numbers.any(single).then(|| {
        "One trial of a point on a side: there is no interval over repeats, so the one within the \
         run is used where it has one. It does not hold what varies from one run to the next, and \
         differences show that are none. Repeat both (load.repeats)."
            .to_owned()
    })
}

fn one_sided(base: &Side<'_>, new: &Side<'_>, points: &[Matched]) -> Vec<String> {
    let missing = |name: &str, is: fn(&Number) -> bool| {
        let absent = points.iter().filter(|p| p.numbers.iter().all(is));
        let absent: Vec<&str> = absent.map(|point| point.name.as_str()).collect();
        (!absent.is_empty()).then(|| format!("{name} has nothing at {}.", absent.join("; ")))
    };
    let base = missing(base.name, |number| number.base_n == 0);
    let new = missing(new.name, |number| number.new_n == 0);
    base.into_iter().chain(new).collect()
}

/// Trials that are in no number, with the side that they are of.
fn left_out(side: &Side<'_>, together: bool) -> Vec<String> {
    let words = findings::left_out(side.result).into_iter();
    match together {
        true => words.collect(),
        false => words
            .map(|words| format!("{}: {words}", side.name))
            .collect(),
    }
}
