//! A row for each point of a study.

use measure::compare::Change;
use measure::result::RunResult;
use measure::summary::{TrialSummary, counted};

use crate::cell::Cell;
use crate::grid::{Columns, Grid};
use crate::keys::{self, Group};
use crate::list::distinct;
use crate::{findings, point};

pub(crate) fn grid(result: &RunResult) -> Grid {
    let (points, axes) = (point::of_result(result), keys::axes(result));
    // Of two variants, the first sentence says it.
    let base = match keys::variants(result).as_slice() {
        [base, _, _, ..] => Some(*base),
        _ => None,
    };
    let verdicts = result.trials.iter().any(|trial| trial.verdict.is_some());
    let mean = |point: &Group<'_>, column| Cell::of(&point.trials, column).value();
    let failures = |point: &Group<'_>| point.trials.iter().map(|trial| trial.failures()).sum();
    let columns = Columns::<&Group<'_>>::new()
        .each(&axes, |columns, key| {
            columns.key(keys::short(key, &axes), |point| {
                keys::value(point.trials.first()?, key)
            })
        })
        .with("n", |point| counted(&point.trials).len())
        .with("tps", Group::tps)
        .with("mean ms", move |point| mean(point, "response_ms.mean"))
        .with("p95", move |point| mean(point, "response_ms.p95"))
        .with("p99", move |point| mean(point, "response_ms.p99"))
        .with("errors", move |point| -> u64 { failures(point) })
        .each(base, |columns, base| {
            columns.with("change %", |point| {
                change(point, of_base(point, base, &points, &axes))
            })
        })
        .words_if(verdicts, "verdict", bound);
    columns.grid("", &points)
}

/// The trials of the same point of the variant that the others are compared with.
fn of_base<'a>(
    point: &Group<'a>,
    base: &str,
    points: &'a [Group<'a>],
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
fn change(point: &Group<'_>, base: &[&TrialSummary]) -> Option<Change> {
    let change = Cell::change(base, &point.trials, "tps", 1).as_change()?;
    let interval = None;
    Some(Change { interval, ..change })
}

fn bound(point: &Group<'_>) -> Option<String> {
    let bounds = counted(&point.trials).into_iter();
    let bounds = bounds.filter_map(|trial| Some(trial.verdict.as_ref()?.bound));
    match distinct(bounds).as_slice() {
        [] => None,
        [bound] => Some(findings::bound_word(*bound)),
        _ => Some("differs".to_owned()),
    }
}
