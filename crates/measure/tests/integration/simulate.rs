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

/// Three standard errors of a share that was counted in so many runs.
pub(crate) fn luck(share: f64, runs: usize) -> f64 {
    3.0 * (share * (1.0 - share) / runs as f64).sqrt()
}
