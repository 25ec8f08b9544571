//! The mean over the repeats of a trial, on two levels.
//!
//! The interval of one run says how well its own seconds tell its mean. Another run of the
//! same trial differs by more: other pages in memory, another layout on the disk, another
//! state of the host. Only repeats show that, so wherever there are repeats, theirs is the
//! interval that counts: Student's t over the means of the runs. Beside it stands what the
//! runs' own intervals would have made of it; the difference is the variance between runs
//! (one-way random effects: Searle, Casella and McCulloch, *Variance Components*, 1992,
//! chapter 3; for benchmarks: Kalibera and Jones, "Rigorous benchmarking in reasonable
//! time", ISMM 2013).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::interval::{Estimate, of_repeats};

/// A half width of an interval is about two standard errors.
const HALF_WIDTH: f64 = 2.0;

/// What an interval rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The seconds of one run: another run may well lie outside of it.
    WithinRun,
    /// Several runs.
    OverRepeats,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WithinRun => "within one run: another run may differ by more",
            Self::OverRepeats => "over repeats",
        })
    }
}

/// The mean over repeats, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// How many runs there were, at least 1.
    pub runs: usize,
    /// Mean of the runs' means, with the interval of its `basis`.
    pub mean: Estimate,
    /// What the interval rests on.
    pub basis: Basis,
    /// The half width of the mean if runs differed by nothing but chance within them;
    /// `None` when a run has no interval.
    pub within: Option<f64>,
    /// Standard deviation from run to run, chance within runs taken off; `None` with one
    /// run, or when a run has no interval.
    pub between: Option<f64>,
}

impl Repeats {
    /// Of the runs' means, each with its own interval; `None` without a run.
    #[must_use]
    pub fn of(runs: &[Estimate]) -> Option<Self> {
        let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        let count = runs.len() as f64;
        let halves: Option<Vec<f64>> = runs.iter().map(|run| run.half_width).collect();
        let squares = halves.map(|halves| halves.iter().map(|half| half * half).sum::<f64>());
        let within = squares.map(|squares| squares.sqrt() / count);
        let over = of_repeats(&values)?;
        let (basis, mean) = match runs {
            [only] => (Basis::WithinRun, *only),
            _ => (Basis::OverRepeats, over),
        };
        let between = squares.filter(|_| runs.len() > 1).map(|squares| {
            let chance = squares / count / HALF_WIDTH.powi(2);
            (variance(&values, over.value) - chance).max(0.0).sqrt()
        });
        Some(Self {
            runs: runs.len(),
            mean,
            basis,
            within,
            between,
        })
    }
}

/// Unbiased variance of values around their mean.
pub(crate) fn variance(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(value: f64, half: f64) -> Estimate {
        Estimate {
            value,
            half_width: Some(half),
        }
    }

    #[test]
    fn repeats_hold_what_differs_from_run_to_run() {
        // s = 10, t(2) 10 / sqrt(3) = 24.84; within: sqrt(3 * 4²) / 3 = 2.31; between:
        // sqrt(100 - 4) = 9.80.
        let found = Repeats::of(&[run(90.0, 4.0), run(100.0, 4.0), run(110.0, 4.0)]).unwrap();
        assert_eq!((found.runs, found.basis), (3, Basis::OverRepeats));
        assert!((found.mean.half_width.unwrap() - 24.841_377).abs() < 1e-5);
        assert!((found.within.unwrap() - 2.309_401).abs() < 1e-5);
        assert!((found.between.unwrap() - 9.797_959).abs() < 1e-5);
        // Runs that differ by less than their seconds.
        let alike = Repeats::of(&[run(99.0, 40.0), run(101.0, 40.0)]).unwrap();
        assert_eq!(alike.between, Some(0.0));
    }

    #[test]
    fn one_run_has_its_own_interval_and_says_so() {
        let found = Repeats::of(&[run(90.0, 4.0)]).unwrap();
        assert_eq!(
            (found.basis, found.mean),
            (Basis::WithinRun, run(90.0, 4.0))
        );
        assert_eq!((found.within, found.between), (Some(4.0), None));
        assert_eq!(Repeats::of(&[]), None);
    }
}
