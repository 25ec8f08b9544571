//! Confidence intervals of means over seconds that are correlated.
//!
//! A checkpoint or a full log slows many seconds in a row, so the textbook interval over single
//! seconds is far too narrow. The classical remedy, Student's t on the means of a few long batches
//! (Law & Kelton, *Simulation Modeling and Analysis*), needs longer runs than a minute: with seconds
//! that correlate by 0.8, ten batches of 60 s cover the mean in 82 % of the cases instead of 95 %. A
//! few cosines take the place of the batches (`long_run.rs` cites the papers, `benches/RESULTS.md`
//! has the measured coverage). A run that is too short for its slowest fluctuations has no interval.
//!
//! Every mean is a ratio of two sums (transactions by seconds, time by transactions), so that a
//! short second is weighted correctly; its variance is the ratio estimator's (Cochran, *Sampling
//! Techniques*, chapter 6).

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::long_run::long_run;
use crate::student;

/// Minimum number of points for an interval.
pub const MIN_POINTS: usize = 10;
/// Differences from the mean below this share of it are rounding errors.
const ROUNDING: f64 = 1e-9;
/// Confidence level: the share of intervals that cover the true mean.
pub const CONFIDENCE: f64 = 0.95;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    /// Half of the 95 % confidence interval: the true mean is within `value ± half_width`. `None`
    /// if too little was measured.
    pub half_width: Option<f64>,
}

impl Estimate {
    pub const fn exact(value: f64) -> Self {
        Self {
            value,
            half_width: None,
        }
    }

    /// The half width as a share of the value; `None` without an interval or when the value is 0.
    pub fn relative(&self) -> Option<f64> {
        self.half_width
            .map(|half| half / self.value.abs())
            .filter(|share| share.is_finite())
    }
}

/// One second's contribution to a mean: `total` (the numerator) over `weight`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Part {
    /// What is averaged, summed over the second.
    pub total: f64,
    /// What the total is divided by.
    pub weight: f64,
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.total += other.total;
        self.weight += other.weight;
    }
}

/// The mean of all `parts`, with its interval if there is one; `None` if their total weight is 0.
pub fn estimate(parts: &[Part]) -> Option<Estimate> {
    let value = ratio(parts)?;
    Some(Estimate {
        value,
        half_width: half_width(parts),
    })
}

/// Half of the 95 % confidence interval of the mean of `parts`. `None` if there are too few of them,
/// if they fluctuate so slowly that they amount to only a few independent ones, or if nothing happened.
pub fn half_width(parts: &[Part]) -> Option<f64> {
    if parts.len() < MIN_POINTS {
        return None;
    }
    let off = residuals(parts, ratio(parts)?);
    let (all, points) = (sum(parts), parts.len() as f64);
    let squares: f64 = off.iter().map(|value| value * value).sum();
    if squares <= (ROUNDING * all.total).powi(2) / points {
        return Some(0.0);
    }
    let found = long_run(&off)?;
    let error = (points * found.variance).sqrt() / all.weight;
    Some(student_t(found.degrees) * error).filter(|half| half.is_finite())
}

/// The difference of each part from its weight times the mean.
pub(crate) fn residuals(parts: &[Part], mean: f64) -> Vec<f64> {
    let off = |part: &Part| part.total - mean * part.weight;
    parts.iter().map(off).collect()
}

/// With fewer runs of a point, Student's interval is too wide to be useful, for example 1,869 ±
/// 6,578. The runs themselves say more.
pub const FEWEST_RUNS: usize = 4;

/// The mean of independent values, such as those of a trial's repeats, with Student's interval; a
/// single value has no interval. `None` without values.
///
/// The interval of one run says how well its own seconds determine its mean. Other runs differ by
/// more: different pages in memory, another layout on disk, another state of the host. Only repeats
/// show that (for benchmarks: Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM
/// 2013).
pub fn of_repeats(values: &[f64]) -> Option<Estimate> {
    let (count, mean) = (values.len() as f64, mean(values));
    let half = || student_t(count - 1.0) * (variance(values, mean) / count).sqrt();
    mean.is_finite().then(|| Estimate {
        value: mean,
        half_width: (values.len() > 1).then(half),
    })
}

/// Widens the interval of a mean of `runs` runs that was picked among `points` points for being the
/// highest (Bonferroni's correction), so that the intervals of all points hold at once.
pub fn picked(mean: Estimate, runs: usize, points: usize) -> Estimate {
    let degrees = match runs {
        // An interval from the seconds of one run, of which there are many.
        0 | 1 => f64::INFINITY,
        several => several as f64 - 1.0,
    };
    let t = |share: f64| student::quantile(1.0 - share / 2.0, degrees);
    let chance = 1.0 - CONFIDENCE;
    let factor = t(chance / points.max(1) as f64) / t(chance);
    Estimate {
        half_width: mean.half_width.map(|half| factor * half),
        ..mean
    }
}

/// Unbiased variance of values around their mean.
pub(crate) fn variance(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// Sum of the squared differences of values from their mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// NaN without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn sum(parts: &[Part]) -> Part {
    let mut sum = Part::default();
    parts.iter().for_each(|part| sum += *part);
    sum
}

pub(crate) fn ratio(parts: &[Part]) -> Option<f64> {
    let all = sum(parts);
    Some(all.total / all.weight).filter(|value| value.is_finite())
}

/// Student's t for a two-sided interval of [`CONFIDENCE`].
pub(crate) fn student_t(degrees: f64) -> f64 {
    student::quantile(f64::midpoint(1.0, CONFIDENCE), degrees)
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub count: u64,
    /// `None` if no time passed.
    pub per_s: Option<Estimate>,
}

impl Rate {
    pub(crate) fn of(parts: &[Part]) -> Self {
        Self {
            count: parts.iter().map(|part| part.total as u64).sum(),
            per_s: estimate(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_second(values: &[f64]) -> Vec<Part> {
        let part = |&total| Part { total, weight: 1.0 };
        values.iter().map(part).collect()
    }

    #[test]
    fn repeats_have_students_interval() {
        // s = 10, s / sqrt(3) = 5.773503, times t(2) = 4.302653.
        let found = of_repeats(&[90.0, 100.0, 110.0]).unwrap();
        assert!((found.value - 100.0).abs() < 1e-12);
        assert!((found.half_width.unwrap() - 24.841_377).abs() < 1e-5);
        let alone = of_repeats(&[3.0]).unwrap();
        assert_eq!((alone.value, alone.half_width), (3.0, None));
        assert_eq!(of_repeats(&[]), None);
    }

    /// From tables of Student's t: t(2) is 4.303 at 95 % and 7.649 at 98.33 % (a third of the error
    /// rate).
    #[test]
    fn the_best_of_several_has_a_wider_interval() {
        let mean = Estimate {
            value: 100.0,
            half_width: Some(4.303),
        };
        let half = |runs, points| picked(mean, runs, points).half_width.unwrap();
        assert!((half(3, 1) - 4.303).abs() < 1e-9);
        assert!((half(3, 3) - 7.649).abs() < 2e-3, "{}", half(3, 3));
        assert!((half(1, 3) - 4.303 * 2.394 / 1.96).abs() < 2e-3);
    }

    #[test]
    fn a_series_that_only_rises_has_no_interval() {
        let values: Vec<f64> = (1..=60).map(f64::from).collect();
        let found = estimate(&per_second(&values)).unwrap();
        assert_eq!((found.value, found.half_width), (30.5, None));
    }

    #[test]
    fn too_short_a_series_or_nothing_has_no_interval() {
        let found = estimate(&per_second(&[3.0; 9])).unwrap();
        assert_eq!((found.value, found.half_width), (3.0, None));
        assert_eq!(estimate(&[]), None);
        let (total, weight) = (0.0, 0.0);
        let nothing = Part { total, weight };
        assert_eq!(estimate(&[nothing; 20]), None);
    }

    #[test]
    fn a_short_second_weighs_less() {
        let mut parts = vec![
            Part {
                total: 100.0,
                weight: 1.0
            };
            20
        ];
        parts.push(Part {
            total: 10.0,
            weight: 0.1,
        });
        let found = estimate(&parts).unwrap();
        assert!((found.value - 100.0).abs() < 1e-9);
        assert!(found.half_width.unwrap() < 1e-9);
    }
}
