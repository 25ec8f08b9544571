//! How sure a mean is: confidence intervals from batch means.
//!
//! The seconds of one run are not independent: a checkpoint or a full log slows
//! many in a row, and the textbook interval over single seconds would be far too
//! narrow. So the run is cut into a few long batches whose means hardly depend on
//! each other, and Student's t is applied to those (Law & Kelton, *Simulation
//! Modeling and Analysis*, "batch means"). Schmeiser, "Batch Size Effects in the
//! Analysis of Simulation Output", Operations Research 30 (1982), shows that
//! between 10 and 30 batches lose little and are long enough: we take the square
//! root of the number of seconds, kept within these bounds.
//!
//! Every mean here is a ratio of two sums (transactions by seconds, time by
//! transactions), so that a second with few transactions, or a last one cut short,
//! has the weight it deserves; its variance is the ratio estimator's (Cochran,
//! *Sampling Techniques*, chapter 6). With equal weights that is plain batch means.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewest points for which an interval is given.
pub const MIN_POINTS: usize = 10;
/// Fewest batches.
const MIN_BATCHES: usize = 10;
/// Most batches.
const MAX_BATCHES: usize = 30;
/// Share of intervals that hold the true mean.
pub const CONFIDENCE: f64 = 0.95;

/// A value and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value, in the unit of its name.
    pub value: f64,
    /// Half of the 95 % confidence interval: the true mean is within `value ±
    /// half_width`. `None` when too little was measured to say.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The half width as a share of the value; `None` without an interval or
    /// when the value is 0.
    #[must_use]
    pub fn relative(&self) -> Option<f64> {
        self.half_width
            .map(|half| half / self.value.abs())
            .filter(|share| share.is_finite())
    }
}

/// Why there is no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoInterval {
    /// Too few seconds.
    #[error("{points} seconds are too few for a confidence interval, which needs {MIN_POINTS}")]
    TooShort {
        /// How many there were.
        points: usize,
    },
    /// Nothing happened, so there is no mean.
    #[error("nothing was counted")]
    Nothing,
}

/// One second's part of a mean: `total` (the numerator) over `weight`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// What is averaged, summed over the second.
    pub total: f64,
    /// What it is averaged over.
    pub weight: f64,
}

/// The mean of all `parts` with its interval, where one can be given; `None`
/// when they weigh nothing.
#[must_use]
pub fn estimate(parts: &[Part]) -> Option<Estimate> {
    let value = ratio(parts)?;
    Some(Estimate {
        value,
        half_width: half_width(parts).ok(),
    })
}

/// Half of the 95 % confidence interval of the mean of `parts`.
///
/// # Errors
/// When there are too few parts, or they weigh nothing.
pub fn half_width(parts: &[Part]) -> Result<f64, NoInterval> {
    if parts.len() < MIN_POINTS {
        return Err(NoInterval::TooShort {
            points: parts.len(),
        });
    }
    let count = batch_count(parts.len());
    let size = parts.len() / count;
    // What does not fill a batch is left out at the start, where the run is
    // least settled.
    let used = &parts[parts.len() - count * size..];
    let mean = ratio(used).ok_or(NoInterval::Nothing)?;
    let batches: Vec<Part> = used.chunks_exact(size).map(sum).collect();
    let weight = sum(&batches).weight / count as f64;
    let squares: f64 = batches
        .iter()
        .map(|batch| (batch.total - mean * batch.weight).powi(2))
        .sum();
    let variance = squares / (count - 1) as f64 / (count as f64 * weight * weight);
    let half = student_t(count - 1) * variance.sqrt();
    if half.is_finite() {
        Ok(half)
    } else {
        Err(NoInterval::Nothing)
    }
}

/// The mean of independent values, such as those of the repeats of a trial, with
/// Student's interval; one value has none. `None` without values.
#[must_use]
pub fn of_repeats(values: &[f64]) -> Option<Estimate> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let half = || student_t(values.len() - 1) * (squares / (count - 1.0) / count).sqrt();
    mean.is_finite().then(|| Estimate {
        value: mean,
        half_width: (values.len() > 1).then(half),
    })
}

/// Number of batches for `points` seconds.
fn batch_count(points: usize) -> usize {
    points.isqrt().clamp(MIN_BATCHES, MAX_BATCHES)
}

fn sum(parts: &[Part]) -> Part {
    Part {
        total: parts.iter().map(|part| part.total).sum(),
        weight: parts.iter().map(|part| part.weight).sum(),
    }
}

fn ratio(parts: &[Part]) -> Option<f64> {
    let all = sum(parts);
    Some(all.total / all.weight).filter(|value| value.is_finite())
}

/// Student's t for a two-sided interval of [`CONFIDENCE`].
fn student_t(degrees: usize) -> f64 {
    StudentsT::new(0.0, 1.0, degrees as f64).map_or(f64::NAN, |distribution| {
        distribution.inverse_cdf(f64::midpoint(1.0, CONFIDENCE))
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn per_second(values: &[f64]) -> Vec<Part> {
        let part = |&total| Part { total, weight: 1.0 };
        values.iter().map(part).collect()
    }

    #[test]
    fn student_t_is_the_tables() {
        for (degrees, table) in [(9, 2.262_157), (29, 2.045_230), (14, 2.144_787)] {
            assert!((student_t(degrees) - table).abs() < 1e-5, "{degrees}");
        }
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

    #[test]
    fn ten_seconds_are_ten_batches() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let found = estimate(&per_second(&values)).unwrap();
        assert!((found.value - 5.5).abs() < 1e-12);
        // s = 3.02765, s / sqrt(10) = 0.957427, times t(9) = 2.262157.
        assert!((found.half_width.unwrap() - 2.165_850).abs() < 1e-5);
    }

    #[test]
    fn too_short_says_so() {
        assert_eq!(
            half_width(&per_second(&[1.0; 9])),
            Err(NoInterval::TooShort { points: 9 })
        );
        let found = estimate(&per_second(&[3.0; 9])).unwrap();
        assert_eq!((found.value, found.half_width), (3.0, None));
        assert_eq!(estimate(&[]), None);
        let nothing = Part {
            total: 0.0,
            weight: 0.0,
        };
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

    /// Share of runs whose interval holds the true mean of an AR(1) series.
    fn coverage(seed: u64, correlation: f64, seconds: usize) -> f64 {
        const RUNS: usize = 2000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut held = 0;
        for _ in 0..RUNS {
            let mut noise = 0.0;
            let values: Vec<f64> = (0..seconds + 100)
                .map(|_| {
                    let shock: f64 = StandardNormal.sample(&mut random);
                    noise = correlation * noise + shock;
                    50.0 + noise
                })
                .skip(100)
                .collect();
            let found = estimate(&per_second(&values)).unwrap();
            held += usize::from((found.value - 50.0).abs() <= found.half_width.unwrap());
        }
        held as f64 / RUNS as f64
    }

    #[test]
    fn intervals_hold_the_mean_of_correlated_seconds() {
        let seed = 20_240_117;
        for (correlation, seconds, least) in [
            (0.0, 60, 0.94),
            (0.5, 60, 0.88),
            (0.5, 300, 0.92),
            (0.8, 900, 0.90),
        ] {
            let share = coverage(seed, correlation, seconds);
            println!("seed {seed}: AR({correlation}) over {seconds} s: {share}");
            assert!(
                (least..=0.97).contains(&share),
                "{correlation} {seconds} {share}"
            );
        }
    }
}
