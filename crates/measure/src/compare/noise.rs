//! How much servers differ on a host, between pairs of blocks and between starts, and how many pairs a
//! start should have.
//!
//! One-way random effects: the log ratio of a pair is that of its start plus its own noise. The two
//! variances are estimated from mean squares around the mean of each run (unweighted means: Searle,
//! Casella and McCulloch, *Variance Components*, chapter 4), over all recorded runs of the host. In a given
//! time, the mean over starts is most precise with sqrt(c1 / c2) s2 / s1 pairs per start (Kalibera and
//! Jones, "Rigorous benchmarking in reasonable time", ISMM 2013), where c1 and c2 are the times of a start
//! and a pair, and s1 and s2 their standard deviations.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Block, Boundary, percent, starts_in_turns};
use crate::interval::{mean, squares};
use crate::summary::TrialSummary;

/// Minimum and maximum number of pairs per start: with fewer, one unlucky block decides; more hardly help.
pub const PAIRS: [u32; 2] = [6, 40];

/// The noise of a run whose variants took turns, recorded for later runs on the same host. The variants
/// may differ: only the noise of their ratio counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseRun {
    /// Identifies the host.
    pub host: String,
    /// Duration of a start without its turns and without the initial loading of data.
    pub start_s: f64,
    /// Of pairs around the mean of their start.
    pairs: Squares,
    /// Of the starts' means around the mean of all.
    starts: Squares,
    /// The sum, over the degrees of freedom of `starts`, of the mean of 1 / pairs per start.
    shares: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Squares {
    sum: f64,
    degrees: f64,
}

/// The noise of a host: standard deviations of the log ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Between starts, without the noise of their pairs.
    pub sd_start: f64,
    /// Between pairs of the same start.
    pub sd_pair: f64,
    /// Time of a start without its pairs.
    pub start_s: f64,
}

/// The log ratio, new over base, of each pair of adjacent blocks of two variants.
pub(super) fn pairs(blocks: &[Block], [base, new]: [usize; 2]) -> Vec<f64> {
    let (mut pairs, mut rest) = (Vec::new(), blocks);
    while let [one, two, ..] = rest {
        let log = (two.rate / one.rate).ln();
        let (pair, length) = match [one.variant, two.variant] {
            order if order == [base, new] => (Some(log), 2),
            order if order == [new, base] => (Some(-log), 2),
            _ => (None, 1),
        };
        pairs.extend(pair.filter(|log| log.is_finite()));
        rest = &rest[length..];
    }
    pairs
}

impl NoiseRun {
    /// Of trials that took `spent_s` in total; `None` unless they took turns in several starts.
    pub fn of(host: String, trials: &[TrialSummary], spent_s: f64) -> Option<Self> {
        let mut run = Self::new(host, 0.0);
        let (mut starts, mut turns_s, mut load_s) = (0, 0.0, 0.0);
        let mut rest: Vec<&TrialSummary> = trials.iter().collect();
        while let Some(point) = rest.first().map(|trial| trial.setup.planned.common_point()) {
            let is_there = |trial: &&TrialSummary| trial.setup.planned.common_point() == point;
            let (of_point, others) = rest.into_iter().partition::<Vec<_>, _>(is_there);
            rest = others;
            let variants = of_point
                .iter()
                .filter_map(|trial| trial.setup.planned.variant());
            let variants: Vec<&str> = variants.collect::<BTreeSet<_>>().into_iter().collect();
            let all = starts_in_turns(&of_point, &variants);
            for variant in 1..variants.len() {
                let two = all.iter().map(|blocks| pairs(blocks, [0, variant]));
                run.add(&two.collect::<Vec<_>>());
            }
            starts += all.len();
            turns_s += of_point.iter().map(|trial| turns_s_of(trial)).sum::<f64>();
            let resets = of_point.iter().filter_map(|trial| trial.reset.as_ref());
            load_s += resets.filter_map(|reset| reset.load_s).sum::<f64>();
        }
        run.start_s = ((spent_s - load_s - turns_s) / starts as f64).max(0.0);
        run.is_useful().then_some(run)
    }

    pub(super) fn new(host: String, start_s: f64) -> Self {
        Self {
            host,
            start_s,
            pairs: Squares::default(),
            starts: Squares::default(),
            shares: 0.0,
        }
    }

    /// Adds two variants of a point, given the log ratios of each start's pairs.
    pub(super) fn add(&mut self, starts: &[Vec<f64>]) {
        let starts: Vec<_> = starts.iter().filter(|pairs| !pairs.is_empty()).collect();
        if starts.is_empty() {
            return;
        }
        starts.iter().for_each(|pairs| self.pairs.add(pairs));
        let means: Vec<f64> = starts.iter().map(|pairs| mean(pairs)).collect();
        self.starts.add(&means);
        let shares = starts.iter().map(|pairs| 1.0 / pairs.len() as f64);
        self.shares += (means.len() as f64 - 1.0) * mean(&shares.collect::<Vec<_>>());
    }

    /// Whether it suffices to estimate both variances.
    fn is_useful(&self) -> bool {
        self.pairs.degrees > 0.0 && self.starts.degrees > 0.0
    }
}

/// The time of a trial's turns, including their lead-ins, which `Turn::length_s` leaves out.
fn turns_s_of(trial: &TrialSummary) -> f64 {
    let compare = trial.setup.planned.compare;
    let block_s = compare.map_or(0.0, |compare| compare.block.as_secs_f64());
    trial.turns.len() as f64 * block_s
}

impl Squares {
    fn add(&mut self, values: &[f64]) {
        self.sum += squares(values);
        self.degrees += values.len() as f64 - 1.0;
    }
}

impl Noise {
    /// The noise in all runs of a host; `None` if none of them is useful.
    pub fn of(runs: &[NoiseRun], host: &str) -> Option<Self> {
        let runs = runs.iter().filter(|run| run.host == host);
        let runs: Vec<&NoiseRun> = runs.filter(|run| run.is_useful()).collect();
        let sum = |of: fn(&NoiseRun) -> f64| runs.iter().map(|run| of(run)).sum::<f64>();
        let pair_variance = sum(|run| run.pairs.sum) / sum(|run| run.pairs.degrees);
        let of_means = sum(|run| run.starts.sum) - pair_variance * sum(|run| run.shares);
        let start_variance = of_means / sum(|run| run.starts.degrees);
        (!runs.is_empty()).then(|| Self {
            sd_start: start_variance.max(0.0).sqrt(),
            sd_pair: pair_variance.sqrt(),
            start_s: sum(|run| run.start_s) / runs.len() as f64,
        })
    }

    /// The best number of pairs per start, within [`PAIRS`]: even, so that both variants come first
    /// equally often.
    pub fn pairs(&self, pair_s: f64) -> u32 {
        let best = (self.start_s / pair_s).sqrt() * self.sd_pair / self.sd_start;
        // Without noise between starts, the quotient is infinite or NaN.
        let best = best.min(f64::from(PAIRS[1]));
        PAIRS[0].max(2 * (best / 2.0).floor() as u32)
    }

    /// Expected half width of an interval, in percent, after this many starts of this many pairs.
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
