//! How a system scales: the Universal Scalability Law, with Amdahl's beside it.
//!
//! Gunther (*Guerrilla Capacity Planning*, 2007; "A general theory of computational scalability
//! based on rational functions", 2008): with N users (or instances, or nodes)
//!
//! > X(N) = λN / (1 + σ(N − 1) + κN(N − 1))
//!
//! λ is what one does alone, σ (contention) the share of the work that waits for its turn, κ
//! (coherency) what every pair costs by agreeing with each other. With κ = 0 it is Amdahl's law
//! ("Validity of the single processor approach", AFIPS 1967); with κ above 0 throughput has a peak,
//! at √((1 − σ)/κ).
//!
//! Fitted by least squares on the logarithm of throughput without what the trials of a block share
//! (`blocks.rs`); intervals are those of the linearized fit, Student's t. A cost that would fall
//! below 0 is 0, and the rest is fitted again (`laws.rs` has how large it may be all the same). A
//! fit where it certainly falls there, or that misses the points (`goodness_of_fit.rs`), is refused.

mod blocks;
pub(crate) mod goodness_of_fit;
mod laws;

use serde::{Deserialize, Serialize};

use crate::interval::Estimate;
use crate::summary::TrialSummary;
use blocks::adjusted;
use laws::{Cost, alone, fit, highest, parameter, peak, serial, universal, universal_law};

pub use goodness_of_fit::GoodnessOfFit;

/// Minimum number of different sizes for a fit.
pub const MIN_POINTS: usize = 6;
/// Minimum share of the variance that the law must explain.
pub const LEAST_R_SQUARED: f64 = 0.9;

/// A peak is not reported beyond this multiple of the largest measured size.
pub(crate) const FARTHEST: f64 = 10.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Number of users, instances, or nodes; above 0.
    pub size: f64,
    pub per_s: f64,
    /// Half of the 95 % interval of the point's own seconds, if it has one.
    pub half_width: Option<f64>,
    /// The block that the trial ran in: its repeat. A block has one trial of each size.
    pub block: u32,
}

impl Observation {
    /// Of a trial with such a size; `None` without a throughput.
    pub fn of(trial: &TrialSummary, size: f64) -> Option<Self> {
        let per_s = trial.transactions.per_s?;
        Some(Self {
            size,
            per_s: per_s.value,
            half_width: per_s.half_width,
            block: trial.setup.planned.repeat,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Serial {
    /// λ: throughput of a single user, in transactions per second.
    pub alone_per_s: Estimate,
    /// Share of the work that is serial (0 to 1). 0 without an interval if the fit would put it
    /// below 0.
    pub share: Estimate,
    /// Share (up to 1) of the variance of the logarithm of throughput that the law explains.
    pub r_squared: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// Number of users at the peak; no interval if the peak may be infinitely far away.
    pub size: Estimate,
    pub per_s: Estimate,
    /// Whether so many users were measured; otherwise the peak is extrapolated.
    pub is_measured: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// λ: throughput of a single user, in transactions per second.
    pub alone_per_s: Estimate,
    /// σ: share of the work that waits for its turn (0 to 1). If the fit would put it below 0, it
    /// is 0, and its half width is the largest value that it may have, absent if unknown.
    pub contention: Estimate,
    /// κ: cost of each pair that must agree, as a share of the work (0 or more). At 0, its half
    /// width is like σ's, and there is no peak. If σ and κ are both 0, throughput is proportional
    /// to the size.
    pub coherency: Estimate,
    /// Share (up to 1) of the variance of the logarithm of throughput that the law explains.
    pub r_squared: f64,
    /// Whether the law misses the points by no more than chance.
    pub goodness_of_fit: GoodnessOfFit,
    /// Where throughput is highest; `None` if it never stops growing, or not before ten times the
    /// largest measured size.
    pub peak: Option<Peak>,
    /// `None` if the law fits only with a share outside 0 to 1.
    pub amdahl: Option<Serial>,
}

impl Scaling {
    /// Throughput at `size` by the Universal Scalability Law, in transactions per second.
    pub fn per_s(&self, size: f64) -> f64 {
        let all = [self.alone_per_s, self.contention, self.coherency];
        universal_law(size, &all.map(|parameter| parameter.value)).0
    }

    /// Throughput at `size` by Amdahl's law, in transactions per second.
    pub fn amdahl_per_s(&self, size: f64) -> Option<f64> {
        let Serial {
            alone_per_s, share, ..
        } = self.amdahl?;
        Some(universal_law(size, &[alone_per_s.value, share.value, 0.0]).0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoLaw {
    #[error(
        "fitting its three parameters takes at least {MIN_POINTS} different sizes, and only \
         {points} were measured"
    )]
    TooFew { points: usize },
    #[error("invalid point: size {size}, {per_s} transactions/s")]
    BadPoint { size: f64, per_s: f64 },
    #[error("the fit did not converge")]
    NotFound,
    #[error(
        "it explains only {:.0} % of the variance; something other than contention and coherency \
         affects throughput", 100.0 * .r_squared
    )]
    BadFit { r_squared: f64 },
    /// The law misses a size by more than chance (lack of fit).
    #[error(
        "lack of fit: at {size} it is off by {:+.0} %, which happens by chance in one of {:.0} \
         studies; something other than contention and coherency affects throughput, such as a \
         hard limit", 100.0 * .off, (1.0 / .p).min(1e6)
    )]
    LackOfFit {
        /// The size that the law misses by the most.
        size: f64,
        /// By which share of the measured mean the law exceeds it.
        off: f64,
        /// Probability (0 to 1) that a true law would miss by as much.
        p: f64,
    },
    #[error(
        "throughput grows more than linearly, which no scalability law allows; something else, \
         such as a cold cache, slowed the small sizes"
    )]
    Superlinear,
    #[error("throughput does not grow with the size")]
    Serial,
}

/// Fits the laws. Several points of one size are repeats.
pub fn scaling(points: &[Observation]) -> Result<Scaling, NoLaw> {
    let is_positive = |value: f64| value > 0.0 && value.is_finite();
    let is_bad = |point: &&Observation| !(is_positive(point.size) && is_positive(point.per_s));
    if let Some(Observation { size, per_s, .. }) = points.iter().find(is_bad).copied() {
        return Err(NoLaw::BadPoint { size, per_s });
    }
    let mut sizes: Vec<f64> = points.iter().map(|point| point.size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < MIN_POINTS {
        let points = sizes.len();
        return Err(NoLaw::TooFew { points });
    }
    let data = adjusted(points);
    let each = points.iter().map(|point| point.per_s / point.size);
    let guess = each.fold(0.0, f64::max);
    let largest = sizes.last().copied().unwrap_or(0.0);
    let line = fit(&data, [guess, 0.0, 0.0], [true, false, false]).ok_or(NoLaw::NotFound)?;
    let amdahl = fit(&data, [guess, 0.05, 0.0], [true, true, false]);
    let found = universal(&data, guess, amdahl, line)?;
    let per_s = |size: f64| universal_law(size, &found.values).0;
    let parameters = found.free.iter().filter(|free| **free).count();
    let goodness_of_fit = goodness_of_fit::test(points, &data, per_s, parameters)?;
    let cost = |cost| {
        let fitted = parameter(&found, cost as usize);
        let half_width = fitted.half_width;
        Estimate {
            half_width: half_width.or_else(|| highest(&data.points, cost, &found)),
            ..fitted
        }
    };
    Ok(Scaling {
        alone_per_s: alone(&found, &data),
        contention: cost(Cost::Contention),
        coherency: cost(Cost::Coherency),
        r_squared: found.r_squared,
        goodness_of_fit,
        peak: peak(&found, largest, &data),
        amdahl: amdahl.and_then(|fit| serial(fit, line, &data)),
    })
}

#[cfg(test)]
#[path = "scale_tests.rs"]
mod tests;
