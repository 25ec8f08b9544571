//! Searches for the highest rate under a limit: their results so far, and the next rate.
//!
//! A search first brackets the limit, and then probes on either side of the pooled estimate, until
//! its confidence interval is narrow enough.

mod knee;
pub mod pooled;
pub mod probes;

use serde::{Deserialize, Serialize};

use crate::column::{self, percentile};
use crate::curve::share_above;
use crate::interval::{Estimate, of_repeats};
use crate::summary::TrialSummary;
use crate::words::words;
use knee::knee;
use pooled::{Probe, highest_rate};
use probes::next_probe;

/// Maximum number of steps of a search.
pub const MAX_STEPS: usize = 26;
/// Rates up to this multiple of the lowest of them are one point of the curve.
const SAME_RATE: f64 = 1.02;

/// A search with its steps and its result. Rates are those of all servers together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundMax {
    /// The point of the study, without the rate.
    pub point: plan::Point,
    /// The repeat of this point, counted from 1.
    pub repeat: u32,
    /// The limited column, for example `response_ms.p99`.
    pub column: String,
    pub limit_ms: f64,
    /// Throughput of the closed loop at the start, in transactions per second.
    pub capacity_per_s: Option<f64>,
    /// In the order in which they ran.
    pub steps: Vec<SearchStep>,
    /// The highest rate that keeps the limit, in arrivals per second, estimated from all steps; `None`
    /// until one of them was below the limit and one above it.
    pub rate: Option<Estimate>,
    pub end: SearchEnd,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchStep {
    pub trial: u32,
    /// Requested arrivals per second.
    pub rate_per_s: f64,
    /// Completed transactions per second.
    pub achieved_per_s: Option<f64>,
    pub transactions: u64,
    /// The share of transactions (0 to 1) that took longer than the limit.
    pub slower: f64,
    pub mean_ms: Option<f64>,
    /// Value of the limited column, in milliseconds.
    pub value_ms: Option<f64>,
    pub verdict: StepVerdict,
}

words! {
    StepVerdict {
        Held = "within limit",
        TooSlow = "above limit",
        /// Arrivals exceeded throughput, so response times grow without bound.
        Overloaded = "overloaded",
        Nothing = "nothing measured",
    }
}

/// Why a search ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum SearchEnd {
    /// The interval is narrow enough.
    Precise,
    OutOfSteps,
    /// Even a small fraction of the capacity exceeded the limit.
    NoRate,
    /// The closed loop completed nothing, a trial failed, or the user interrupted.
    Stopped {
        reason: String,
    },
}

/// The result at about one rate.
#[derive(Debug, Clone, PartialEq)]
pub struct AtRate {
    /// Requested arrivals per second.
    pub rate_per_s: f64,
    /// Completed transactions per second.
    pub achieved_per_s: f64,
    /// Value of the limited column, in milliseconds; with an interval over several steps.
    pub value_ms: Estimate,
    pub trials: Vec<u32>,
}

impl SearchStep {
    /// The result of a trial at this rate.
    pub fn of(
        summary: &TrialSummary,
        search: &FoundMax,
        rate_per_s: f64,
        is_overloaded: bool,
    ) -> Self {
        let number = |column| column::value(summary, column).map(|estimate| estimate.value);
        let value_ms = number(&search.column);
        Self {
            trial: summary.setup.planned.number,
            rate_per_s,
            achieved_per_s: number("tps"),
            transactions: summary.transactions.count,
            slower: share_above(&summary.response_curve, search.limit_ms),
            mean_ms: number("response_ms.mean"),
            value_ms,
            verdict: match value_ms {
                _ if is_overloaded => StepVerdict::Overloaded,
                None => StepVerdict::Nothing,
                Some(value) if value >= search.limit_ms => StepVerdict::TooSlow,
                Some(_) => StepVerdict::Held,
            },
        }
    }
}

impl FoundMax {
    /// Estimates the rate from all steps; returns the rate of the next one, or `None` if the search
    /// has ended.
    pub fn next_rate(&mut self) -> Option<f64> {
        let (limit, probes) = (self.limit(), self.probes());
        let exceeds: Vec<bool> = probes.iter().map(|probe| probe.exceeds(limit)).collect();
        let is_bracketed = exceeds.contains(&true) && exceeds.contains(&false);
        let rate = highest_rate(&probes, limit).filter(|_| is_bracketed);
        self.rate = rate.map(|rate| Estimate {
            value: rate.per_s,
            half_width: rate.half_width.map(|share| share * rate.per_s),
        });
        self.end = match next_probe(self.capacity_per_s?, limit, &probes) {
            Ok(rate) if self.steps.len() < MAX_STEPS => return Some(rate),
            Ok(_) => SearchEnd::OutOfSteps,
            Err(end) => end,
        };
        None
    }

    /// The limit of a mean over transactions: the share of them that is slower than `limit_ms`, or
    /// their response time in milliseconds.
    fn limit(&self) -> f64 {
        percentile(&self.column).map_or(self.limit_ms, |share| 1.0 - share)
    }

    fn probes(&self) -> Vec<Probe> {
        let is_share = percentile(&self.column).is_some();
        let probe = |step: &SearchStep| {
            let mean = match is_share {
                _ if step.verdict == StepVerdict::Overloaded => None,
                true => Some(step.slower),
                false => step.mean_ms,
            };
            // An overloaded or empty step only shows that its rate was too high: the transactions that
            // completed may have been fast.
            let transactions = step.transactions.max(1) as f64;
            Probe {
                rate_per_s: step.rate_per_s,
                transactions,
                amount: transactions * mean.unwrap_or(f64::INFINITY),
            }
        };
        self.steps.iter().map(probe).collect()
    }

    /// The step with the highest rate that kept the limit.
    pub fn held(&self) -> Option<&SearchStep> {
        let held = self
            .steps
            .iter()
            .filter(|step| step.verdict == StepVerdict::Held);
        held.max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))
    }

    /// The step with the lowest rate that did not keep it.
    pub fn failed(&self) -> Option<&SearchStep> {
        let failed = self
            .steps
            .iter()
            .filter(|step| step.verdict != StepVerdict::Held);
        failed.min_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))
    }

    /// The limited column by throughput, in order of rates, without overloaded steps. Steps at about
    /// the same rate are one point.
    pub fn curve(&self) -> Vec<AtRate> {
        let mut steps: Vec<&SearchStep> = self.steps.iter().collect();
        steps.retain(|step| step.verdict != StepVerdict::Overloaded);
        steps.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        let mut points: Vec<Vec<&SearchStep>> = Vec::new();
        for step in steps {
            let same = |point: &&mut Vec<&SearchStep>| {
                let lowest = point.first().map_or(0.0, |step| step.rate_per_s);
                step.rate_per_s <= lowest * SAME_RATE
            };
            match points.last_mut().filter(same) {
                Some(point) => point.push(step),
                None => points.push(vec![step]),
            }
        }
        points
            .iter()
            .filter_map(|steps| AtRate::of(steps))
            .collect()
    }

    /// Where response times begin to climb: the knee of the curve by Kneedle. `None` with too few
    /// rates, or on a curve without a bend.
    pub fn knee(&self) -> Option<AtRate> {
        let mut curve = self.curve();
        let points = curve
            .iter()
            .map(|at| (at.achieved_per_s, at.value_ms.value));
        let points: Vec<(f64, f64)> = points.collect();
        knee(&points).map(|place| curve.swap_remove(place))
    }
}

impl AtRate {
    fn of(steps: &[&SearchStep]) -> Option<Self> {
        let mean_of = |number: fn(&SearchStep) -> Option<f64>| {
            let numbers: Vec<f64> = steps.iter().filter_map(|step| number(step)).collect();
            of_repeats(&numbers)
        };
        Some(Self {
            rate_per_s: mean_of(|step| Some(step.rate_per_s))?.value,
            achieved_per_s: mean_of(|step| step.achieved_per_s)?.value,
            value_ms: mean_of(|step| step.value_ms)?,
            trials: steps.iter().map(|step| step.trial).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(trial: u32, rate_per_s: f64, value_ms: f64) -> SearchStep {
        SearchStep {
            trial,
            rate_per_s,
            achieved_per_s: Some(rate_per_s),
            transactions: 20_000,
            slower: 0.01 * (12.0 * (rate_per_s / 777.0 - 1.0)).exp(),
            mean_ms: Some(value_ms / 3.0),
            value_ms: Some(value_ms),
            verdict: match value_ms < 20.0 {
                true => StepVerdict::Held,
                false => StepVerdict::TooSlow,
            },
        }
    }

    fn search(steps: Vec<SearchStep>) -> FoundMax {
        FoundMax {
            point: plan::Point::default(),
            repeat: 1,
            column: "response_ms.p99".into(),
            limit_ms: 20.0,
            capacity_per_s: Some(1000.0),
            steps,
            rate: None,
            end: SearchEnd::OutOfSteps,
        }
    }

    /// Response times of a server whose 99th percentile reaches 20 ms at 777 per second.
    fn run(column: &str, limit: fn(f64) -> f64) -> FoundMax {
        let mut search = search(Vec::new());
        column.clone_into(&mut search.column);
        while let Some(rate) = search.next_rate() {
            let number = search.steps.len() as u32 + 2;
            search.steps.push(step(number, rate, limit(rate)));
        }
        search
    }

    #[test]
    fn a_search_ends_when_its_interval_is_narrow() {
        let found = run("response_ms.p99", |rate| 20.0 * (rate / 777.0).powi(5));
        assert_eq!(found.end, SearchEnd::Precise);
        let rate = found.rate.unwrap();
        assert!((rate.value / 777.0 - 1.0).abs() < 1e-3, "{rate:?}");
        assert!(rate.half_width.unwrap() < 0.03 * rate.value);
    }

    #[test]
    fn a_mean_is_limited_by_the_response_time_itself() {
        let found = run("response_ms.mean", |rate| {
            60.0 * (10.0 * (rate / 600.0 - 1.0)).exp()
        });
        let rate = found.rate.unwrap();
        assert!((rate.value / 600.0 - 1.0).abs() < 1e-3, "{found:?}");
    }

    /// A queue that grows takes a while to reach a limit of seconds.
    #[test]
    fn an_overloaded_step_is_above_the_limit_however_fast_its_transactions_were() {
        let mut search = search(Vec::new());
        while let Some(rate) = search.next_rate() {
            let mut step = step(search.steps.len() as u32 + 2, rate, 5.0);
            step.slower = 0.0;
            if rate > 777.0 {
                step.verdict = StepVerdict::Overloaded;
            }
            search.steps.push(step);
        }
        let rate = search.rate.unwrap();
        assert!((rate.value / 777.0 - 1.0).abs() < 0.1, "{search:?}");
        let highest = search.steps.iter().map(|step| step.rate_per_s);
        assert!(highest.reduce(f64::max).unwrap() < 777.0 * 1.2);
    }

    #[test]
    fn a_search_without_a_rate_has_no_estimate() {
        let never = run("response_ms.mean", |_| 1e6);
        assert_eq!((never.end.clone(), never.rate), (SearchEnd::NoRate, None));
        assert_eq!(never.held(), None);
        let always = run("response_ms.mean", |_| 1.0);
        assert_eq!(
            (always.end.clone(), always.rate),
            (SearchEnd::OutOfSteps, None)
        );
        assert_eq!((always.steps.len(), always.failed()), (MAX_STEPS, None));
    }

    #[test]
    fn steps_at_about_the_same_rate_are_one_point_of_the_curve() {
        let mut search = search(vec![
            step(2, 700.0, 10.0),
            step(3, 840.0, 900.0),
            step(4, 770.0, 18.0),
            step(5, 780.0, 22.0),
        ]);
        search.steps[1].verdict = StepVerdict::Overloaded;
        let curve = search.curve();
        let trials: Vec<_> = curve.iter().map(|at| at.trials.as_slice()).collect();
        assert_eq!(trials, [[2].as_slice(), &[4, 5]]);
        let both = &curve[1];
        assert_eq!((both.rate_per_s, both.value_ms.value), (775.0, 20.0));
        assert!(both.value_ms.half_width.is_some() && curve[0].value_ms.half_width.is_none());
        let json = serde_json::to_string(&search).unwrap();
        assert_eq!(serde_json::from_str::<FoundMax>(&json).unwrap(), search);
    }

    #[test]
    fn the_knee_is_where_times_begin_to_climb() {
        // M/M/1 with 1000 transactions per second.
        let rates = [100.0, 300.0, 500.0, 700.0, 800.0, 900.0, 950.0, 980.0];
        let steps = (1..).zip(rates);
        let steps = steps.map(|(trial, rate)| step(trial, rate, 4605.0 / (1000.0 - rate)));
        let mut search = search(steps.collect());
        assert_eq!(search.knee().map(|at| at.trials), Some(vec![6]));
        search.steps.truncate(3);
        assert_eq!(search.knee(), None);
    }
}
