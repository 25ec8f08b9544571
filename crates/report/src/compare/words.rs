//! What two sides come to, and what to know before that is trusted, in sentences.

use std::collections::BTreeMap;

use measure::compare::{Change, Comparison, Decision, LEAST, LogRatio, Method, NoVerdict};
use measure::interval::FEWEST_RUNS;
use measure::summary::counted;

use super::{Matched, Number, ResultComparison, Side, carried};
use crate::keys::{self, VARIANT, trials_of};
use crate::list::{joined_any, joined_known};
use crate::metric_comparison::{FLUSHED, NUMBERS, TestOrder};
use crate::{findings, number};

/// What a number is called at the start of a sentence.
fn spoken(column: &str) -> &'static str {
    match column {
        "tps" => "Throughput",
        FLUSHED => "Throughput with the flush",
        "response_ms.mean" => "Mean response time",
        "response_ms.p95" => "95th percentile",
        _ => "99th percentile",
    }
}

/// How the second compares with the first, number by number.
pub(super) fn lead(both: &ResultComparison) -> String {
    format!("{}. {}", both.merged.title, found(both))
}

pub(super) fn found(both: &ResultComparison) -> String {
    let reason = untested(std::slice::from_ref(both));
    let sentences = NUMBERS
        .iter()
        .filter_map(|(column, _)| sentence(both, column, reason));
    joined_any(sentences.chain(reason.map(missing)), " ").unwrap_or_else(|| {
        let mut numbers = both.points.iter().flat_map(|point| &point.numbers);
        let reason = numbers.find_map(|number| number.reason.as_deref());
        let reason = reason.unwrap_or("the two have no point in common");
        format!("No comparison: {reason}.")
    })
}

/// How the number that is tested first compares.
pub(super) fn in_short(both: &ResultComparison) -> String {
    let mut first = NUMBERS.iter().filter(|(column, _)| {
        let mut points = both.points.iter();
        points.any(|point| point.test_order(column) == TestOrder::Primary)
    });
    let sentence = first.find_map(|(column, _)| sentence(both, column, None));
    let sentence = sentence.unwrap_or_default();
    format!("{}. {sentence}", both.merged.title)
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

pub(super) fn missing(reason: NoVerdict) -> String {
    let words = reason.to_string();
    format!("{}{}.", words[..1].to_uppercase(), &words[1..])
}

/// Without the reason why `untested`, which another sentence gives. `None` for a number that no
/// point has, or that another one implies everywhere.
fn sentence(both: &ResultComparison, column: &str, untested: Option<NoVerdict>) -> Option<String> {
    let points = both.points.iter();
    let told = points.filter(|one| !matches!(one.test_order(column), TestOrder::Never(_)));
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
pub(super) fn of_one(found: &Comparison) -> String {
    match found.decision {
        Decision::Slower | Decision::Faster => {
            let by = percent(found.change_pct.value.abs());
            format!("{} by {by}", found.verdict())
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
    let agree = |first: &Comparison| found.iter().all(|one| one.decision == first.decision);
    let words = match found.first() {
        Some(first) if is_untested(first) && agree(first) => [average, Some(first.verdict())],
        _ => [Some(by_decision(found)), average],
    };
    joined_known(words, "; ")
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
    joined_known(kinds.map(|(code, words)| part(found, code, words)), ", ")
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

pub(super) fn cautions(base: &Side<'_>, new: &Side<'_>, points: &[Matched]) -> Vec<String> {
    let together = std::ptr::eq(base.result, new.result);
    let mut cautions = Vec::new();
    match together {
        true => cautions.extend(one_order(base, new)),
        false => cautions.push(not_interleaved(base.name, new.name)),
    }
    cautions.extend(carried::caution(points));
    cautions.extend(single_runs(points));
    cautions.extend(one_sided(base, new, points));
    cautions.extend(deferred(points));
    let sides: &[&Side<'_>] = if together { &[base] } else { &[base, new] };
    if points.iter().any(|point| point.open_loop) {
        cautions.push(
            "Some trials had a fixed arrival rate, which determines their throughput; their primary \
             metric is the mean response time."
                .to_owned(),
        );
    }
    for side in sides {
        let name = (!together).then_some(side.name);
        let mut all = trials_of(side.result);
        all.retain(|trial| side.has(trial) || (together && new.has(trial)));
        cautions.extend(findings::cautions(name, side.result, &all, &counted(&all)));
    }
    cautions
}

/// A caution if counting the time of the flush changes the verdict on throughput.
fn deferred(points: &[Matched]) -> Option<String> {
    let found = |point: &Matched, column| {
        let mut numbers = point.numbers.iter();
        numbers.find(|number| number.column == column)?.comparison
    };
    let differ = |point: &&Matched| {
        let both = found(point, "tps").zip(found(point, FLUSHED));
        both.is_some_and(|(without, with)| {
            let [one, other] = [without, with].map(|found| found.change_pct.value);
            let is_reversed = without.decision.code() != "equivalent" && one * other < 0.0;
            let is_other = with.is_conclusive() && with.decision.code() != without.decision.code();
            without.is_conclusive() && (is_reversed || is_other)
        })
    };
    let count = points.iter().filter(differ).count();
    (count > 0).then(|| {
        format!(
            "With the flush counted, throughput compares differently at {count} of {} points: one side \
             deferred more writes than the other. A longer load.time shows more of what they cost.",
            points.len()
        )
    })
}

fn not_interleaved(base: &str, new: &str) -> String {
    format!(
        "{base} and {new} ran at different times, not interleaved. A difference between them may be \
         a change of the host over time, so there is no verdict. For a verdict, make them variants \
         ([[variant]]) of one study, which runs them in blocks: dyno run STUDY --set \
         load.repeats=5, then dyno compare RESULT."
    )
}

/// Where every block ran the sides in the same order, the order is a difference, too.
fn one_order(base: &Side<'_>, new: &Side<'_>) -> Option<String> {
    let (first, later) = (numbers(base), numbers(new));
    let pairs = first
        .iter()
        .filter_map(|(place, number)| Some((number, later.get(place)?)));
    let orders: Vec<bool> = pairs.map(|(base, new)| base < new).collect();
    let is_first = *orders.first()?;
    let repeats = first.keys().map(|(repeat, _)| repeat).max()?;
    if *repeats < 2 || orders.iter().any(|order| *order != is_first) {
        return None;
    }
    let (earlier, later) = if is_first { (base, new) } else { (new, base) };
    Some(format!(
        "{} ran before {} in every block, so a difference may be an order effect. load.order = \
         \"random\" balances the order.",
        earlier.name, later.name
    ))
}

/// A repeat of a point, without its variant.
type Place<'a> = (u32, Vec<(&'a str, String)>);

/// The places of a variant's trials in the study's order.
fn numbers<'a>(side: &Side<'a>) -> BTreeMap<Place<'a>, u32> {
    let trials = side.result.trials.iter();
    let own = trials.filter(|trial| side.has(trial));
    let numbers = own.map(|trial| {
        let mut point = keys::ordered(&trial.setup.planned.point);
        point.retain(|(key, _)| *key != VARIANT);
        let planned = &trial.setup.planned;
        ((planned.repeat, point), planned.number)
    });
    numbers.collect()
}

fn single_runs(points: &[Matched]) -> Option<String> {
    let numbers = points.iter().flat_map(|point| &point.numbers);
    let mut found = numbers.filter_map(|number| number.comparison);
    found
        .any(|found| found.method == Method::SingleRun && found.question.restarted)
        .then(|| {
            "At some points, one of the two ran only once, so run-to-run variation is unknown and the \
             change has no verdict. Repeat both (load.repeats)."
                .to_owned()
        })
}

fn one_sided(base: &Side<'_>, new: &Side<'_>, points: &[Matched]) -> Vec<String> {
    let sides = [base.name, new.name].into_iter().enumerate();
    let missing = sides.filter_map(|(side, name)| {
        let is_absent = |number: &Number| [number.base_n, number.new_n][side] == 0;
        let absent = points
            .iter()
            .filter(|point| point.numbers.iter().all(is_absent));
        let absent = joined_any(absent.map(|point| &point.name), "; ")?;
        Some(format!("{name} has no trials at {absent}."))
    });
    missing.collect()
}
