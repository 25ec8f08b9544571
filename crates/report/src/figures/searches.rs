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
#[derive(Debug, Default, Serialize)]
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
            curve: points(search.curve()),
            overloaded: overloaded(search),
            knee: points(search.knee()),
            held: points(search.held()),
        })
        .collect()
}

fn points(all: impl IntoIterator<Item = AtRate>) -> Points {
    let mut points = Points::default();
    for at in all {
        points.push(at.rate_per_s, at.achieved_per_s, at.value_ms);
    }
    points
}

fn overloaded(search: &FoundMax) -> Points {
    let mut points = Points::default();
    for step in &search.steps {
        if step.verdict == StepVerdict::Overloaded {
            points.push(step.rate_per_s, step.achieved_per_s, step.value_ms);
        }
    }
    points
}

impl Points {
    fn push(&mut self, rate: f64, tps: Option<f64>, ms: Option<f64>) {
        self.rate.push(rate);
        self.tps.push(tps);
        self.ms.push(ms);
    }
}
