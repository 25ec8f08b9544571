//! How many repeats would lead to a verdict.
//!
//! Power is that of the rule in force: a difference is shown when the interval excludes 0
//! *and* the estimate is at least the least difference that matters; equivalence when the
//! interval lies within it. Both depend on the estimated standard deviation, so power is the
//! mean over its distribution (chi-squared), computed numerically.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use super::{ERROR_RATE, LogRatio, Measured};
use crate::interval::Estimate;
use crate::student;

/// Probability (0 to 1) of a verdict with the suggested number of repeats.
pub const POWER: f64 = 0.8;
/// No more repeats than this are suggested.
pub const MOST_REPEATS: u32 = 1000;
/// Minimum number of repeats that is suggested if the noise between runs is unknown.
pub const FEWEST_REPEATS: u32 = 5;
/// Confidence of the upper limit of the noise. A few repeats hardly show how much runs differ, and
/// with the noise as observed, half of the studies would plan too few repeats. Found by simulation
/// (`tests/integration/compare.rs`).
const NOISE_CONFIDENCE: f64 = 0.8;
/// Half of a 95 % interval, in standard errors.
const HALF_WIDTH: f64 = 1.96;
const NODES: u32 = 60;

/// The fewest repeats of each side that give a verdict in 80 % of cases if the true change is as
/// observed and the noise is at its upper limit; `None` if more than [`MOST_REPEATS`].
pub(super) fn after_repeats(ratio: &LogRatio, least: f64, error_rate: f64) -> Option<u32> {
    let factor = ChiSquared::new(ratio.degrees).map_or(1.0, |squares| {
        (ratio.degrees / squares.inverse_cdf(1.0 - NOISE_CONFIDENCE)).sqrt()
    });
    let noisy = LogRatio {
        spread: factor * ratio.spread,
        ..*ratio
    };
    repeats_needed(&noisy, least, error_rate)
}

/// The repeats needed with the noise as observed.
fn repeats_needed(ratio: &LogRatio, least: f64, error_rate: f64) -> Option<u32> {
    let is_enough = |repeats: u32| power(ratio, least, error_rate, repeats) >= POWER;
    // Enough repeats stay enough when there are more.
    let repeats: Vec<u32> = (2..=MOST_REPEATS).collect();
    let few = repeats.partition_point(|repeats| !is_enough(*repeats));
    repeats.get(few).copied()
}

/// The repeats needed, estimated from single runs. Their own intervals do not include differences
/// between runs, so this is a lower bound.
pub(super) fn after_single_runs(
    base: &[Measured],
    new: &[Measured],
    mean: f64,
    least: f64,
) -> Option<u32> {
    let relative = |trial: &Measured| Estimate::relative(&trial.value).unwrap_or(0.0) / HALF_WIDTH;
    let widest = |side: &[Measured]| side.iter().map(relative).fold(0.0, f64::max);
    let spread = widest(base).hypot(widest(new));
    let within_runs = LogRatio {
        mean,
        error: spread,
        degrees: 1.0,
        spread,
        degrees_per_run: 1.0,
    };
    let needed = repeats_needed(&within_runs, least, ERROR_RATE)?;
    Some(needed.max(FEWEST_REPEATS))
}

/// The probability (0 to 1) that `repeats` repeats of each side give the true verdict if the true
/// change and noise are those of `ratio`.
pub(super) fn power(ratio: &LogRatio, least: f64, error_rate: f64, repeats: u32) -> f64 {
    let degrees = ratio.degrees_per_run * f64::from(repeats - 1);
    let error = ratio.spread / f64::from(repeats).sqrt();
    let t = student::quantile(1.0 - error_rate / 2.0, degrees);
    over_spreads(degrees, |factor| {
        let chances = Chances::of([ratio.mean, error], t * error * factor, least);
        if ratio.mean >= least.ln_1p() {
            chances.above
        } else if ratio.mean <= (-least).ln_1p() {
            chances.below
        } else {
            chances.within
        }
    })
}

/// The probability (0 to 1) of any verdict at the last look, after `most` starts, if noise stays as
/// observed in `starts` of them and the change is as uncertain as they leave it: the predictive power
/// (Spiegelhalter, Freedman and Blackburn, "Monitoring clinical trials: conditional or predictive
/// power?", Controlled Clinical Trials 7, 1986). `critical` is the boundary's constant then.
pub(super) fn predictive(
    ratio: &LogRatio,
    least: f64,
    critical: f64,
    [starts, most]: [u32; 2],
) -> f64 {
    let [starts, most] = [starts, most].map(f64::from);
    let deviation = ratio.spread * (1.0 / starts - 1.0 / most).sqrt();
    let half = critical * ratio.spread / most.sqrt();
    let chances = Chances::of([ratio.mean, deviation], half, least);
    chances.below + chances.within + chances.above
}

/// The probabilities (0 to 1) of the verdicts.
struct Chances {
    /// Of a change below 0.
    below: f64,
    /// Of equivalence.
    within: f64,
    above: f64,
}

impl Chances {
    /// If the estimate is normal with this mean and standard deviation, and its interval reaches so far.
    fn of([mean, deviation]: [f64; 2], half: f64, least: f64) -> Self {
        let (lowest, highest) = ((-least).ln_1p(), least.ln_1p());
        let below = |limit: f64| match deviation > 0.0 {
            true => Normal::standard().cdf((limit - mean) / deviation),
            false => f64::from(u8::from(mean <= limit)),
        };
        Self {
            below: below((-half).min(lowest)),
            within: (below(highest - half) - below(lowest + half)).max(0.0),
            above: 1.0 - below(half.max(highest)),
        }
    }
}

/// The mean of a function of the ratio of estimated to true standard deviation, whose square times
/// the degrees of freedom has a chi-squared distribution.
fn over_spreads(degrees: f64, of: impl Fn(f64) -> f64) -> f64 {
    // The logarithm u of the ratio of variances has a density proportional to exp(degrees / 2 (u -
    // e^u)), with its mode at 0.
    let deviation = (2.0 / degrees).sqrt();
    let (low, high) = (-6.0 * deviation - 16.0 / degrees, 6.0 * deviation);
    let (mut sum, mut weights) = (0.0, 0.0);
    for node in 0..NODES {
        let u = low + (high - low) * (f64::from(node) + 0.5) / f64::from(NODES);
        let weight = (degrees / 2.0 * (u - u.exp() + 1.0)).exp();
        weights += weight;
        sum += weight * of((u / 2.0).exp());
    }
    sum / weights
}
