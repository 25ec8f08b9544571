//! The result of a search for the highest rate under a limit.

use serde::{Deserialize, Serialize};

use crate::column::percentile;
use crate::interval::mean;
use crate::quantile::is_known;
use crate::summary::TrialSummary;
use crate::words::words;

/// Duration of confirming trials, in multiples of short ones.
pub const LONG: u32 = 3;
/// Minimum number of points of a curve with a knee.
const MIN_POINTS: usize = 5;
/// A curve that stays closer to the line from its first to its last point has no knee.
const MIN_BEND: f64 = 0.1;

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
    pub end: SearchEnd,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchStep {
    pub trial: u32,
    /// Requested arrivals per second.
    pub rate_per_s: f64,
    /// Completed transactions per second.
    pub achieved_per_s: Option<f64>,
    pub mean_ms: Option<f64>,
    /// Value of the limited column, in milliseconds.
    pub value_ms: Option<f64>,
    /// Whether this was a longer trial that confirms a rate.
    pub long: bool,
    pub verdict: StepVerdict,
    pub caveats: Vec<StepCaveat>,
}

words! {
    StepVerdict {
        Held = "within limit",
        TooSlow = "above limit",
        /// Arrivals exceeded throughput, so response times grow without bound.
        Overloaded = "overloaded",
        Unsteady = "never steady",
        Nothing = "nothing measured",
    }
}

words! {
    /// Why the verdict on a step may be due to chance.
    StepCaveat {
        /// Too few transactions were slower than the limited percentile.
        FewSlower = "few slower",
        /// The trial was too short to detect steady state.
        Short = "short",
    }
}

impl StepCaveat {
    /// Every reason why a trial's value of this column may be due to chance.
    pub fn all_of(trial: &TrialSummary, column: &str) -> Vec<Self> {
        let few = percentile(column)
            .is_some_and(|percentile| !is_known(trial.transactions.count, percentile));
        let few = few.then_some(Self::FewSlower);
        let short = trial.steady.is_none().then_some(Self::Short);
        few.into_iter().chain(short).collect()
    }
}

/// The result at one rate: that of its longer trial if there is one, otherwise the mean of its
/// trials.
#[derive(Debug, Clone, PartialEq)]
pub struct AtRate {
    /// Requested arrivals per second.
    pub rate_per_s: f64,
    /// Completed transactions per second.
    pub achieved_per_s: Option<f64>,
    /// Value of the limited column, in milliseconds.
    pub value_ms: Option<f64>,
    /// Whether arrivals exceeded throughput, so that times depend on the length of the trial.
    pub is_overloaded: bool,
    pub is_long: bool,
    /// Why the result may be due to chance, for any of its trials.
    pub caveats: Vec<StepCaveat>,
    pub trials: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum SearchEnd {
    /// The highest rate that holds the limit and the lowest that does not are confirmed.
    Found { held_per_s: f64, failed_per_s: f64 },
    OutOfTrials {
        held_per_s: Option<f64>,
        failed_per_s: Option<f64>,
    },
    /// Even a small fraction of the capacity exceeded the limit.
    NoRate { failed_per_s: f64 },
    /// The closed loop completed nothing, a trial failed, or the user interrupted.
    Stopped {
        reason: String,
        held_per_s: Option<f64>,
        failed_per_s: Option<f64>,
    },
}

impl SearchEnd {
    /// The highest rate that held the limit, and the lowest that exceeded it.
    fn bounds_per_s(&self) -> [Option<f64>; 2] {
        match *self {
            Self::Found {
                held_per_s,
                failed_per_s,
            } => [Some(held_per_s), Some(failed_per_s)],
            Self::NoRate { failed_per_s } => [None, Some(failed_per_s)],
            Self::OutOfTrials {
                held_per_s,
                failed_per_s,
            }
            | Self::Stopped {
                held_per_s,
                failed_per_s,
                ..
            } => [held_per_s, failed_per_s],
        }
    }
}

impl FoundMax {
    /// The highest rate that held the limit, as far as is known.
    pub fn held(&self) -> Option<AtRate> {
        self.at(self.end.bounds_per_s()[0]?)
    }

    /// The lowest rate that exceeded the limit, as far as is known.
    pub fn failed(&self) -> Option<AtRate> {
        self.at(self.end.bounds_per_s()[1]?)
    }

    fn at(&self, rate_per_s: f64) -> Option<AtRate> {
        let steps = self.steps.iter();
        let steps = steps.filter(|step| step.rate_per_s.total_cmp(&rate_per_s).is_eq());
        let mut steps: Vec<&SearchStep> = steps.collect();
        if let Some(long) = steps.iter().rev().find(|step| step.long) {
            steps = vec![long];
        }
        let overloaded = |step: &&SearchStep| step.verdict == StepVerdict::Overloaded;
        let mut caveats: Vec<StepCaveat> = steps
            .iter()
            .flat_map(|step| step.caveats.iter().copied())
            .collect();
        caveats.sort_unstable();
        caveats.dedup();
        let mean_of = |number: fn(&SearchStep) -> Option<f64>| {
            let numbers: Vec<f64> = steps.iter().filter_map(|step| number(step)).collect();
            (!numbers.is_empty()).then(|| mean(&numbers))
        };
        (!steps.is_empty()).then(|| AtRate {
            rate_per_s,
            achieved_per_s: mean_of(|step| step.achieved_per_s),
            value_ms: mean_of(|step| step.value_ms),
            is_overloaded: steps.iter().any(overloaded),
            is_long: steps.iter().all(|step| step.long),
            caveats,
            trials: steps.iter().map(|step| step.trial).collect(),
        })
    }

    /// The limited column by achieved rate, in order of rates, without overloaded ones.
    pub fn curve(&self) -> Vec<AtRate> {
        let mut rates: Vec<f64> = self.steps.iter().map(|step| step.rate_per_s).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup_by(|a, b| a.total_cmp(b).is_eq());
        let rates = rates.into_iter().filter_map(|rate| self.at(rate));
        let curve = rates
            .filter(|at| !at.is_overloaded && at.achieved_per_s.is_some() && at.value_ms.is_some());
        curve.collect()
    }

    /// Where response times begin to climb: the knee of the curve by Kneedle. `None` with too few
    /// rates, or on a curve without a bend.
    pub fn knee(&self) -> Option<AtRate> {
        let mut curve = self.curve();
        let points = curve
            .iter()
            .filter_map(|at| Some((at.achieved_per_s?, at.value_ms?)));
        let points: Vec<(f64, f64)> = points.collect();
        knee(&points).map(|place| curve.swap_remove(place))
    }
}

/// The index of the knee among points in order of x; `None` with too few of them, or on a curve
/// that is nearly straight or does not rise.
///
/// Satopaa, Albrecht, Irwin and Raghavan, "Finding a 'Kneedle' in a Haystack", ICDCS Workshops
/// 2011: both axes are scaled to 0…1, and the knee is where the curve is farthest below the line
/// from its first to its last point. This is the offline form, without smoothing: a search has few
/// points, each of them a trial of its own.
fn knee(points: &[(f64, f64)]) -> Option<usize> {
    let ((x0, y0), (x1, y1)) = (points.first()?, points.last()?);
    let (width, height) = (x1 - x0, y1 - y0);
    if points.len() < MIN_POINTS || !(width > 0.0 && height > 0.0) {
        return None;
    }
    let below = |(x, y): &(f64, f64)| (x - x0) / width - (y - y0) / height;
    let (place, most) = points
        .iter()
        .map(below)
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    (most >= MIN_BEND).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::Steady;

    fn step(
        trial: u32,
        rate_per_s: f64,
        value_ms: f64,
        verdict: StepVerdict,
        long: bool,
    ) -> SearchStep {
        SearchStep {
            trial,
            rate_per_s,
            achieved_per_s: Some(rate_per_s),
            mean_ms: Some(value_ms / 3.0),
            value_ms: Some(value_ms),
            long,
            verdict,
            caveats: Vec::new(),
        }
    }

    fn found() -> FoundMax {
        FoundMax {
            point: plan::Point::default(),
            repeat: 1,
            column: "response_ms.p99".into(),
            limit_ms: 20.0,
            capacity_per_s: Some(1000.0),
            steps: vec![
                step(2, 700.0, 10.0, StepVerdict::Held, false),
                step(3, 840.0, 900.0, StepVerdict::Overloaded, false),
                step(4, 767.0, 18.5, StepVerdict::Held, false),
                step(5, 803.0, 30.0, StepVerdict::TooSlow, false),
                step(6, 767.0, 19.0, StepVerdict::Held, true),
            ],
            end: SearchEnd::Found {
                held_per_s: 767.0,
                failed_per_s: 803.0,
            },
        }
    }

    #[test]
    fn a_longer_trial_speaks_for_its_rate_and_others_on_average() {
        let mut found = found();
        let held = found.held().unwrap();
        assert_eq!((held.trials, held.value_ms), (vec![6], Some(19.0)));
        assert_eq!(found.failed().unwrap().trials, [5]);
        found
            .steps
            .push(step(7, 803.0, 17.0, StepVerdict::Held, false));
        let failed = found.failed().unwrap();
        assert_eq!((failed.trials, failed.value_ms), (vec![5, 7], Some(23.5)));
        let rates: Vec<f64> = found.curve().iter().map(|at| at.rate_per_s).collect();
        assert_eq!(rates, [700.0, 767.0, 803.0]);
    }

    /// 30 transactions per second for 10 s: p99 is the third slowest of 300.
    #[test]
    fn a_number_of_a_handful_or_of_a_moment_may_be_luck() {
        let mut trial = crate::check::tests::trial();
        let mut of = |count, steady, column| {
            trial.transactions.count = count;
            trial.steady = steady;
            StepCaveat::all_of(&trial, column)
        };
        let steady = Some(Steady::From { s: 0.0 });
        assert_eq!(of(300, steady, "response_ms.p99"), [StepCaveat::FewSlower]);
        assert_eq!(of(1000, steady, "response_ms.p99"), []);
        assert_eq!(of(300, steady, "response_ms.p95"), []);
        assert_eq!(of(300, steady, "response_ms.mean"), []);
        assert_eq!(of(1000, None, "response_ms.p99"), [StepCaveat::Short]);
        let both = [StepCaveat::FewSlower, StepCaveat::Short];
        assert_eq!(of(300, None, "response_ms.p99"), both);
    }

    #[test]
    fn what_counts_at_a_rate_has_the_doubts() {
        let mut found = found();
        for step in &mut found.steps[2..4] {
            step.caveats = vec![StepCaveat::Short];
        }
        // Only the longer trial counts.
        assert_eq!(found.held().unwrap().caveats, []);
        assert_eq!(found.failed().unwrap().caveats, [StepCaveat::Short]);
        let mut again = step(7, 803.0, 17.0, StepVerdict::Held, false);
        again.caveats = vec![StepCaveat::FewSlower, StepCaveat::Short];
        found.steps.push(again);
        let both = [StepCaveat::FewSlower, StepCaveat::Short];
        assert_eq!(found.failed().unwrap().caveats, both);
    }

    #[test]
    fn what_a_stopped_search_knew_is_kept() {
        let stopped = FoundMax {
            end: SearchEnd::Stopped {
                reason: "x".into(),
                held_per_s: Some(700.0),
                failed_per_s: None,
            },
            ..found()
        };
        assert_eq!(stopped.held().unwrap().trials, [2]);
        assert_eq!(stopped.failed(), None);
        let json = serde_json::to_string(&stopped).unwrap();
        assert_eq!(serde_json::from_str::<FoundMax>(&json).unwrap(), stopped);
    }

    #[test]
    fn the_knee_is_where_times_begin_to_climb() {
        let mut found = found();
        // M/M/1 with 1000 transactions per second.
        let rates = [100.0, 300.0, 500.0, 700.0, 800.0, 900.0, 950.0, 980.0];
        let steps = (1..).zip(rates);
        found.steps = steps
            .map(|(trial, rate)| {
                step(
                    trial,
                    rate,
                    4605.0 / (1000.0 - rate),
                    StepVerdict::Held,
                    false,
                )
            })
            .collect();
        found
            .steps
            .push(step(9, 1100.0, 1e6, StepVerdict::Overloaded, false));
        assert_eq!(found.knee().map(|at| at.trials), Some(vec![6]));
        found.steps.truncate(3);
        assert_eq!(found.knee(), None);
    }

    /// y = 1 / (1 - x) from 0 to 0.9: the scaled slope is 1 where (1 - x)^2 = 0.1.
    #[test]
    fn it_is_where_the_slope_is_that_of_the_line() {
        let points: Vec<(f64, f64)> = (0..=900)
            .map(|n| f64::from(n) / 1000.0)
            .map(|x| (x, 1.0 / (1.0 - x)))
            .collect();
        let place = knee(&points).unwrap();
        let wanted = 1.0 - 0.1_f64.sqrt();
        assert!((points[place].0 - wanted).abs() < 0.002, "{place}");
    }

    #[test]
    fn what_does_not_bend_has_none() {
        let line: Vec<(f64, f64)> = (0..9).map(|n| (f64::from(n), f64::from(n) * 3.0)).collect();
        assert_eq!(knee(&line), None);
        let falling: Vec<(f64, f64)> = line.iter().map(|(x, y)| (*x, -y)).collect();
        assert_eq!(knee(&falling), None);
        assert_eq!(knee(&[(1.0, 1.0); 9]), None);
        assert_eq!(
            knee(&[(0.0, 0.0), (1.0, 0.0), (2.0, 0.1), (3.0, 9.0)]),
            None
        );
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[(0.0, f64::NAN); 6]), None);
    }
}
