//! A row for each point of a study.

use measure::compare::Change;
use measure::result::RunResult;
use measure::summary::{TrialSummary, counted};
use plan::Trial;

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
                change(point, of_base(point, base, &points))
            })
        })
        .words_if(verdicts, "verdict", bound);
    columns.grid("", &points)
}

/// The trials of the same point of the variant that the others are compared with.
fn of_base<'a>(point: &Group<'a>, base: &str, points: &'a [Group<'a>]) -> &'a [&'a TrialSummary] {
    let planned = |point: &Group<'a>| Some(&point.trials.first()?.setup.planned);
    let own = planned(point).map(Trial::common_point);
    let is_base = |one: &Trial| one.variant() == Some(base) && Some(one.common_point()) == own;
    let found = points
        .iter()
        .find(|other| planned(other).is_some_and(is_base));
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
