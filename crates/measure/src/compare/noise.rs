//! How much identical servers differ on a host, from pair to pair of blocks and from start to start, and
//! how many pairs a start should have.
//!
//! One-way random effects: the log ratio of a pair is that of its start plus noise of its own. The two
//! variances are estimated from mean squares (Searle, Casella and McCulloch, *Variance Components*,
//! chapter 3), over all kept runs of the host, around the mean of each run. The noise of the mean over
//! starts is least for the time it takes with sqrt(c1 / c2) s2 / s1 pairs in each start (Kalibera
//! and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013), where c1 and c2 are what a start and
//! a pair take, and s1 and s2 their standard deviations.

use serde::{Deserialize, Serialize};

use super::{Boundary, percent};
use crate::interval::mean;

/// What a run showed of two servers that took turns, kept for the next run on the same host. The
/// servers may differ: only their ratio's noise counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseRun {
    /// Identifies the host.
    pub host: String,
    /// What a start took besides its pairs.
    pub start_s: f64,
    pub pair_s: f64,
    /// For each start the log ratio of each pair of adjacent blocks.
    pub starts: Vec<Vec<f64>>,
}

/// The noise of a host.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Standard deviation of the log ratio from start to start, besides that of its pairs.
    pub sd_start: f64,
    /// Standard deviation of the log ratio from pair to pair of a start.
    pub sd_pair: f64,
    pub start_s: f64,
    pub pair_s: f64,
}

impl Noise {
    /// The noise in all runs of a host; `None` without two starts in one of them, and two pairs in one
    /// of those.
    pub fn of(runs: &[NoiseRun], host: &str) -> Option<Self> {
        let runs: Vec<&NoiseRun> = runs.iter().filter(|run| run.host == host).collect();
        let squares = runs.iter().map(|run| Squares::of(&run.starts));
        let all = squares.reduce(Squares::and)?;
        let pair_variance = all.within / all.within_degrees;
        // How often the variance between starts is contained in their squares.
        let start_variance = (all.between - all.between_degrees * pair_variance) / all.times;
        let average =
            |of: fn(&NoiseRun) -> f64| mean(&runs.iter().map(|run| of(run)).collect::<Vec<_>>());
        (pair_variance + start_variance).is_finite().then(|| Self {
            sd_start: start_variance.max(0.0).sqrt(),
            sd_pair: pair_variance.sqrt(),
            start_s: average(|run| run.start_s),
            pair_s: average(|run| run.pair_s),
        })
    }

    /// The best number of pairs in a start: even, so that both variants come first equally often, at least
    /// two, and at most so many that `starts` starts take no longer than `budget_s`.
    pub fn pairs(&self, starts: u32, budget_s: f64) -> u32 {
        let best = (self.start_s / self.pair_s).sqrt() * self.sd_pair / self.sd_start;
        let most = (budget_s / f64::from(starts) - self.start_s) / self.pair_s;
        // An infinite or unknown number saturates.
        2 * (best.min(most) / 2.0).floor().max(1.0) as u32
    }

    /// Half of the width, in percent, to expect of an interval after `starts` starts of so many pairs.
    pub fn half_width_pct(
        &self,
        pairs: u32,
        starts: u32,
        (boundary, error_rate): (&Boundary, f64),
    ) -> f64 {
        let spread = self.sd_start.hypot(self.sd_pair / f64::from(pairs).sqrt());
        percent(boundary.critical(error_rate, starts) * spread / f64::from(starts).sqrt())
    }
}

/// Sums of squares of log ratios.
#[derive(Debug, Default)]
struct Squares {
    /// Of pairs around the mean of their start.
    within: f64,
    within_degrees: f64,
    /// Of starts' means around the mean of their run, for each pair.
    between: f64,
    between_degrees: f64,
    /// How many times the variance between starts `between` contains.
    times: f64,
}

impl Squares {
    fn of(starts: &[Vec<f64>]) -> Self {
        let starts: Vec<&[f64]> = starts
            .iter()
            .map(Vec::as_slice)
            .filter(|pairs| !pairs.is_empty())
            .collect();
        let grand = mean(&starts.concat());
        let mut all = Self::default();
        let mut squared_counts = 0.0;
        for pairs in &starts {
            let (count, mean) = (pairs.len() as f64, mean(pairs));
            all.within += pairs.iter().map(|pair| (pair - mean).powi(2)).sum::<f64>();
            all.within_degrees += count - 1.0;
            all.between += count * (mean - grand).powi(2);
            all.between_degrees += 1.0;
            all.times += count;
            squared_counts += count * count;
        }
        if !starts.is_empty() {
            all.between_degrees -= 1.0;
            all.times -= squared_counts / all.times;
        }
        all
    }

    fn and(self, other: Self) -> Self {
        Self {
            within: self.within + other.within,
            within_degrees: self.within_degrees + other.within_degrees,
            between: self.between + other.between,
            between_degrees: self.between_degrees + other.between_degrees,
            times: self.times + other.times,
        }
    }
}
