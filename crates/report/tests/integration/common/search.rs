//! A study with searches for the highest rate, made without a server.

use measure::find_max::{FoundMax, SearchEnd, SearchStep, StepVerdict};
use measure::interval::Estimate;
use plan::Point;

use super::made::{Made, made};
use super::scale_up::Left;
use super::typed;

/// Rates, 99th percentiles, and verdicts.
pub(crate) const STEPS: [(f64, f64, StepVerdict); 7] = [
    (700.0, 12.0, StepVerdict::Held),
    (840.0, 900.0, StepVerdict::Overloaded),
    (350.0, 8.0, StepVerdict::Held),
    (766.8, 16.5, StepVerdict::Held),
    (802.6, 30.0, StepVerdict::TooSlow),
    (175.0, 7.5, StepVerdict::Held),
    (766.8, 18.5, StepVerdict::Held),
];

/// The highest rate, and why the search ended.
pub(crate) type Found = (Option<Estimate>, SearchEnd);

/// The trials of one search after the other, each for a value of `data.rows`.
pub(crate) fn searched(ends: &[(&str, Found)]) -> Left {
    let rates: Vec<String> = STEPS.iter().map(|(rate, ..)| rate.to_string()).collect();
    let mut points = Vec::new();
    for (rows, _) in ends {
        points.push([("data.rows", *rows), ("load.rate", "closed loop")]);
        let steps = rates.iter().map(|rate| ("load.rate", rate.as_str()));
        points.extend(steps.map(|rate| [("data.rows", *rows), rate]));
    }
    let trials: Vec<Made<'_>> = points
        .iter()
        .map(|point| (&point[..], 1, point[1].1.parse().unwrap_or(1000.0), 5.0))
        .collect();
    let mut result = made("How much may arrive?", &trials);
    let each = STEPS.len() as u32 + 1;
    let searches = (0..)
        .zip(ends)
        .map(|(place, (rows, (rate, end)))| FoundMax {
            point: Point::from_iter([("data.rows", typed(rows))]),
            repeat: 1,
            column: "response_ms.p99".into(),
            limit_ms: 20.0,
            capacity_per_s: Some(1000.0),
            steps: steps(place * each + 2),
            rate: *rate,
            end: end.clone(),
        });
    result.searches = searches.collect();
    Left {
        result,
        series: Vec::new(),
        monitors: Vec::new(),
    }
}

fn steps(first: u32) -> Vec<SearchStep> {
    let steps = (first..).zip(STEPS);
    steps
        .map(|(trial, (rate_per_s, value_ms, verdict))| SearchStep {
            trial,
            rate_per_s,
            achieved_per_s: Some(rate_per_s),
            transactions: 20_000,
            slower: 0.000_5 * value_ms,
            mean_ms: Some(5.0),
            value_ms: Some(value_ms),
            verdict,
        })
        .collect()
}

pub(crate) const FOUND: Found = (
    Some(Estimate {
        value: 780.0,
        half_width: Some(15.6),
    }),
    SearchEnd::Precise,
);
