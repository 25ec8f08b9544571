//! The curves of searches for the highest rate under a limit.

use measure::find_max::{AtRate, FoundMax, StepVerdict};
use measure::result::RunResult;
use serde::Serialize;

use crate::search;

#[derive(Debug, Serialize)]
pub(crate) struct Search {
    /// Empty where there is only one.
    name: String,
    column: String,
    limit: f64,
    curve: Points,
    overloaded: Points,
    /// The place on the curve where response times begin to climb.
    knee: Points,
    held: Points,
}

/// Throughput and response time, and the rate that was asked for.
#[derive(Debug, Serialize)]
struct Points {
    tps: Vec<Option<f64>>,
    ms: Vec<Option<f64>>,
    rate: Vec<f64>,
}

pub(super) fn searches(result: &RunResult) -> Vec<Search> {
    let searches = result.searches.iter();
    searches
        .map(|search| Search {
            name: match result.searches.len() {
                1 => String::new(),
                _ => search::name(search, result),
            },
            column: measure::column::heading(&search.column),
            limit: search.limit_ms,
            curve: points(search.curve().into_iter().map(numbers)),
            overloaded: points(overloaded(search)),
            knee: points(search.knee().map(numbers)),
            held: points(search.held().map(numbers)),
        })
        .collect()
}

/// A rate, and the throughput and response time at it.
type Numbers = (f64, (Option<f64>, Option<f64>));

fn numbers(at: AtRate) -> Numbers {
    (at.rate_per_s, (at.achieved_per_s, at.value_ms))
}

fn overloaded(search: &FoundMax) -> impl Iterator<Item = Numbers> {
    let steps = search.steps.iter();
    let steps = steps.filter(|step| step.verdict == StepVerdict::Overloaded);
    steps.map(|step| (step.rate_per_s, (step.achieved_per_s, step.value_ms)))
}

fn points(all: impl IntoIterator<Item = Numbers>) -> Points {
    let (rate, (tps, ms)) = all.into_iter().unzip();
    Points { tps, ms, rate }
}
