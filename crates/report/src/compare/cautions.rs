//! What to know before a comparison is trusted.

use std::collections::BTreeMap;

use measure::compare::Method;
use measure::summary::{TrialSummary, counted};

use super::Side;
use super::points::Matched;
use crate::findings;
use crate::keys::{self, VARIANT};

pub(super) fn cautions(base: &Side<'_>, new: &Side<'_>, points: &[Matched]) -> Vec<String> {
    let together = std::ptr::eq(base.result, new.result);
    let mut cautions = Vec::new();
    match together {
        true => cautions.extend(one_order(base, new)),
        false => cautions.push(not_interleaved(base.name, new.name)),
    }
    cautions.extend(single_runs(points));
    cautions.extend(one_sided(base, new, points));
    let sides: &[&Side<'_>] = if together { &[base] } else { &[base, new] };
    if points.iter().any(|point| point.open_loop) {
        cautions.push(
            "Some trials had a fixed arrival rate, which determines their throughput; their primary \
             metric is the mean response time."
                .to_owned(),
        );
    }
    for side in sides {
        let all: Vec<&TrialSummary> = side.result.trials.iter().collect();
        let name = (!together).then_some(side.name);
        cautions.extend(findings::cautions(name, side.result, &counted(&all)));
    }
    cautions
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
    let own = trials.filter(|trial| keys::variant(trial) == side.variant);
    let numbers = own.map(|trial| {
        let mut point = keys::ordered(&trial.setup.planned.point);
        point.retain(|(key, _)| *key != VARIANT);
        (
            (trial.setup.planned.repeat, point),
            trial.setup.planned.number,
        )
    });
    numbers.collect()
}

fn single_runs(points: &[Matched]) -> Option<String> {
    let numbers = points.iter().flat_map(|point| &point.numbers);
    let mut found = numbers.filter_map(|number| number.comparison);
    found
        .any(|found| found.method == Method::SingleRun)
        .then(|| {
            "At some points, one of the two ran only once, so run-to-run variation is unknown and the \
             change has no verdict. Repeat both (load.repeats)."
                .to_owned()
        })
}

fn one_sided(base: &Side<'_>, new: &Side<'_>, points: &[Matched]) -> Vec<String> {
    let missing = |name: &str, is_missing: fn(&Matched) -> bool| {
        let absent = points.iter().filter(|point| is_missing(point));
        let absent: Vec<&str> = absent.map(|point| point.name.as_str()).collect();
        (!absent.is_empty()).then(|| format!("{name} has no trials at {}.", absent.join("; ")))
    };
    let base = missing(base.name, |point| {
        point.numbers.iter().all(|n| n.base_n == 0)
    });
    let new = missing(new.name, |point| point.numbers.iter().all(|n| n.new_n == 0));
    base.into_iter().chain(new).collect()
}
