//! What two sides come to, in sentences.

use measure::compare::{Change, Comparison, Decision, LEAST, LogRatio, NoVerdict};
use measure::interval::FEWEST_RUNS;

use super::ResultComparison;
use super::points::Number;
use crate::list::joined;
use crate::metric_comparison::TestOrder;
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

/// How the second compares with the first, number by number.
pub(super) fn lead(both: &ResultComparison) -> String {
    format!("{} against {}. {}", both.new, both.base, found(both))
}

pub(super) fn found(both: &ResultComparison) -> String {
    let columns = both.points.first().into_iter().flat_map(|p| &p.numbers);
    let reason = untested(std::slice::from_ref(both));
    let sentences = columns.filter_map(|number| sentence(both, number.column, reason));
    let sentences = joined(sentences.chain(reason.map(missing)), " ");
    if !sentences.is_empty() {
        return sentences;
    }
    let mut numbers = both.points.iter().flat_map(|point| &point.numbers);
    let reason = numbers.find_map(|number| number.reason.as_deref());
    format!(
        "No comparison: {}.",
        reason.unwrap_or("the two have no point in common")
    )
}

/// How the number that is tested first compares.
pub(super) fn in_short(both: &ResultComparison) -> String {
    let columns = both.points.first().into_iter().flat_map(|p| &p.numbers);
    let mut first = columns.filter(|number| {
        let mut points = both.points.iter();
        points.any(|point| point.test_order(number.column) == TestOrder::Primary)
    });
    let sentence = first.find_map(|number| sentence(both, number.column, None));
    format!(
        "{} against {}. {}",
        both.new,
        both.base,
        sentence.unwrap_or_default()
    )
}

/// Why nothing was tested, where all have one reason; of single runs, the fewest repeats that any
/// metric needs.
pub(super) fn untested(all: &[ResultComparison]) -> Option<NoVerdict> {
    let points = all.iter().flat_map(|both| &both.points);
    let found = points.flat_map(|point| point.numbers.iter().filter_map(|n| n.comparison));
    let mut reasons = found.map(|found| match found.decision {
        Decision::NoVerdict { reason } => Some(reason),
        _ => None,
    });
    let first = reasons.next()??;
    reasons.try_fold(first, |known, reason| match (known, reason?) {
        (
            NoVerdict::SingleRun { repeats_needed: a },
            NoVerdict::SingleRun { repeats_needed: b },
        ) => Some(NoVerdict::SingleRun {
            repeats_needed: a.into_iter().chain(b).min(),
        }),
        (known, reason) => (known == reason).then_some(known),
    })
}

/// What is missing for verdicts, as a sentence.
pub(super) fn missing(reason: NoVerdict) -> String {
    let words = reason.to_string();
    format!("{}{}.", words[..1].to_uppercase(), &words[1..])
}

/// Without the reason why `untested`, which another sentence gives. `None` for a number that no
/// point has, or that another one implies everywhere.
fn sentence(both: &ResultComparison, column: &str, untested: Option<NoVerdict>) -> Option<String> {
    let told = both
        .points
        .iter()
        .filter(|point| !matches!(point.test_order(column), TestOrder::Never(_)));
    let numbers = told.flat_map(|point| &point.numbers);
    let found = numbers.filter(|number| number.column == column);
    let found: Vec<Comparison> = found.filter_map(|number| number.comparison).collect();
    let words = match found.as_slice() {
        [] => return None,
        [one] if untested.is_some() => number::change(shown_change(one), " %"),
        several if untested.is_some() => {
            average(both, column).unwrap_or_else(|| by_decision(several))
        }
        [one] => of_one(one),
        several => of_several(several, average(both, column)),
    };
    Some(format!("{}: {words}.", spoken(column)))
}

/// `slower by 4.69 % (3.95 to 5.71)`, or the change with the reason why that is all.
fn of_one(found: &Comparison) -> String {
    match found.decision {
        Decision::Slower | Decision::Faster => {
            format!(
                "{} by {}",
                found.verdict(),
                percent(found.change_pct.value.abs())
            )
        }
        Decision::Equivalent => found.verdict(),
        Decision::Undecided { .. } | Decision::NoVerdict { .. } => {
            let change = number::change(shown_change(found), " %");
            format!("{change}; {}", found.verdict())
        }
    }
}

/// Without its interval where it is undecided because of few runs: that would reach from nothing
/// to thousands of times as much.
pub(super) fn shown_change(found: &Comparison) -> Change {
    let few = |ratio: LogRatio| ratio.degrees + 1.0 < FEWEST_RUNS as f64;
    let is_wild = !found.is_conclusive() && found.log_ratio.is_some_and(few);
    let change = found.change_pct;
    Change {
        interval: change.interval.filter(|_| !is_wild),
        ..change
    }
}

/// `slower at 3 of 4 points by 4.24 to 5.86 %, undecided at 1 of 4 points; -4.91 % (-5.13 to
/// -4.69) on average`.
fn of_several(found: &[Comparison], average: Option<String>) -> String {
    let is_untested = |one: &Comparison| !one.is_tested();
    let words = match found {
        [first, rest @ ..]
            if is_untested(first) && rest.iter().all(|o| o.decision == first.decision) =>
        {
            [average, Some(first.verdict())]
        }
        _ => [Some(by_decision(found)), average],
    };
    joined(words.into_iter().flatten(), "; ")
}

/// Each verdict with the number of its points.
fn by_decision(found: &[Comparison]) -> String {
    let equivalent = format!("equivalent (within ±{} %)", 100.0 * LEAST);
    let kinds = [
        ("slower", "slower"),
        ("faster", "faster"),
        ("equivalent", &equivalent),
        ("undecided", "undecided"),
        ("no_verdict", "without a verdict"),
    ];
    let parts = kinds.map(|(code, words)| part(found, code, words));
    joined(parts.into_iter().flatten(), ", ")
}

fn part(found: &[Comparison], code: &str, word: &str) -> Option<String> {
    let such = || found.iter().filter(|one| one.decision.code() == code);
    let size = |one: &Comparison| one.change_pct.value.abs();
    let least = such().map(size).min_by(f64::total_cmp)?;
    let most = such().map(size).max_by(f64::total_cmp)?;
    let differ = such().any(|one| matches!(one.decision, Decision::Slower | Decision::Faster));
    let by = match differ {
        true if least == most => format!(" by {}", percent(most)),
        true => format!(" by {least:.2} to {}", percent(most)),
        false => String::new(),
    };
    let (count, all) = (such().count(), found.len());
    Some(format!("{word} at {count} of {all} points{by}"))
}

fn percent(size: f64) -> String {
    format!("{size:.2} %")
}

/// The mean change of several points.
fn average(both: &ResultComparison, column: &str) -> Option<String> {
    let mut averages = both.averages.iter();
    let found = averages.find(|average| average.column == column)?;
    let change = number::change(found.change_pct, " %");
    Some(format!("{change} on average"))
}

/// What one number shows, and what it would take to show more.
pub(super) fn verdict(number: &Number) -> String {
    match (&number.comparison, &number.reason) {
        (Some(found), _) => found.verdict(),
        (None, Some(reason)) => reason.clone(),
        (None, None) => number::ABSENT.to_owned(),
    }
}

/// The same in a table, whose footnote and the text above it say why something was not tested.
pub(super) fn cell(number: &Number, untested: Option<NoVerdict>) -> String {
    let decision = number.comparison.map(|found| found.decision);
    match decision {
        Some(Decision::NoVerdict { .. }) if untested.is_some() => String::new(),
        Some(Decision::NoVerdict {
            reason: NoVerdict::Gate | NoVerdict::FollowsThroughput | NoVerdict::ArrivalRate,
        }) => "not tested".to_owned(),
        _ => verdict(number),
    }
}
