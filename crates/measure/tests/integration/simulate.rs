//! Series with a known truth.

#![allow(dead_code, reason = "each test file uses a part of it")]

use measure::interval::Part;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The seed is printed, so that a failure can be had again.
    pub(crate) fn new(seed: u64) -> Self {
        println!("seed {seed}");
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Evenly from 0 to below 1.
    pub(crate) fn chance(&mut self) -> f64 {
        StandardUniform.sample(&mut self.0)
    }

    pub(crate) fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// A stationary first-order autoregression: every value has mean 0 and variance 1,
    /// and correlates with the one before it by `correlation`.
    pub(crate) fn wander(&mut self, correlation: f64, length: usize) -> Vec<f64> {
        let shock = (1.0 - correlation * correlation).sqrt();
        let mut value = self.normal();
        (0..length)
            .map(|_| {
                let now = value;
                value = correlation * value + shock * self.normal();
                now
            })
            .collect()
    }

    /// A throughput of 1,000 that wanders by `spread` (a share of it).
    pub(crate) fn throughput(&mut self, spread: f64, correlation: f64, length: usize) -> Vec<f64> {
        let wander = self.wander(correlation, length).into_iter();
        wander
            .map(|value| 1000.0 * (1.0 + spread * value))
            .collect()
    }

    /// A throughput of 1,000 on average in which this share of the seconds begins a stall to a tenth,
    /// and this share of the stalled ones ends it.
    pub(crate) fn stalls(&mut self, begins: f64, ends: f64, length: usize) -> Vec<f64> {
        let share = begins / (begins + ends);
        let level = 1000.0 / (1.0 - 0.9 * share);
        let mut stalled = self.chance() < share;
        let second = |_| {
            let value = level * if stalled { 0.1 } else { 1.0 } * (1.0 + 0.02 * self.normal());
            stalled = self.chance() < if stalled { 1.0 - ends } else { begins };
            value
        };
        (0..length).map(second).collect()
    }

    /// A throughput of 1,000 on average that falls to `low` for the first seconds of every period, the
    /// first of which begins at any time, with independent noise.
    pub(crate) fn dips(
        &mut self,
        low: f64,
        noise: f64,
        [dip_s, period_s]: [usize; 2],
        length: usize,
    ) -> Vec<f64> {
        let start = (self.chance() * period_s as f64) as usize;
        let level = 1000.0 / (1.0 - (1.0 - low) * dip_s as f64 / period_s as f64);
        let share = |i: usize| {
            if (start + i) % period_s < dip_s {
                low
            } else {
                1.0
            }
        };
        let seconds = (0..length).map(|i| level * share(i) * (1.0 + noise * self.normal()));
        seconds.collect()
    }

    /// A throughput of 1,000 with independent noise, and as much again that correlates.
    pub(crate) fn two_noises(&mut self, spread: f64, correlation: f64, length: usize) -> Vec<f64> {
        let slow = self.wander(correlation, length);
        let both = slow.iter().map(|slow| spread * (slow + self.normal()));
        both.map(|noise| 1000.0 * (1.0 + noise)).collect()
    }
}

/// Whole seconds with so many transactions each.
pub(crate) fn seconds(values: &[f64]) -> Vec<Part> {
    let part = |&total| Part { total, weight: 1.0 };
    values.iter().map(part).collect()
}

/// So many runs in all; a fifth of them unless all tests were asked for, of which bounds by [`luck`]
/// are wider.
pub(crate) fn runs(all: usize) -> usize {
    match std::env::var_os("DYNO_TEST_ALL") {
        Some(_) => all,
        None => all / 5,
    }
}

/// The share (0 to 1) of so many runs that something holds for.
pub(crate) fn share(runs: usize, mut holds: impl FnMut() -> bool) -> f64 {
    (0..runs).filter(|_| holds()).count() as f64 / runs as f64
}

/// Three standard errors of a share that was counted in so many runs.
pub(crate) fn luck(share: f64, runs: usize) -> f64 {
    3.0 * (share * (1.0 - share) / runs as f64).sqrt()
}
