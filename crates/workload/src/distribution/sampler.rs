//! Draws keys; all that can be computed before is.

use rand::Rng;
use rand_distr::Zipf;

use super::{Distribution, DistributionError};
use crate::random;

/// Bits of the uniform numbers whose mean makes a Gaussian; 2^40 is far finer
/// than any range of keys, and sums of 1,000 stay exact in an f64.
const GAUSSIAN_BITS: u32 = 40;

/// So near to 1, an exponent is 1: the formulas for others divide by `1 - e`.
const EXPONENT_ONE: f64 = 1e-9;

/// A distribution over the keys of one range, ready to draw from.
#[derive(Debug, Clone)]
pub struct KeySampler {
    low: u64,
    span: u64,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    Uniform,
    Special {
        hot: u64,
        hot_span: u64,
        /// Draws of 2^32 that go to the hot zone.
        share: u64,
        cold: Gaussian,
    },
    Gaussian(Gaussian),
    Pareto {
        power: f64,
    },
    Zipfian(Zipf<f64>),
}

impl KeySampler {
    /// Prepares to draw keys from `low` to `high`, both included.
    pub fn new(
        distribution: &Distribution,
        low: u64,
        high: u64,
    ) -> Result<KeySampler, DistributionError> {
        distribution.validate()?;
        if low > high || high - low == u64::MAX {
            return Err(DistributionError::Empty { low, high });
        }
        let span = high - low + 1;
        let shape = match *distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Special { pct, res, iter } => special(span, pct, res, iter),
            Distribution::Gaussian { iter } => Shape::Gaussian(Gaussian::new(iter, span)),
            Distribution::Pareto { h } => Shape::Pareto {
                power: h.ln() / (1.0 - h).ln(),
            },
            Distribution::Zipfian { exponent } => zipfian(span, exponent),
        };
        Ok(KeySampler { low, span, shape })
    }

    pub fn sample(&self, rng: &mut impl Rng) -> u64 {
        let offset = match &self.shape {
            Shape::Uniform => return self.low + random::below(rng, self.span),
            Shape::Special {
                hot,
                hot_span,
                share,
                cold,
            } => {
                if random::below(rng, 1 << 32) < *share {
                    hot + random::below(rng, *hot_span)
                } else {
                    cold.sample(rng)
                }
            }
            Shape::Gaussian(gaussian) => gaussian.sample(rng),
            Shape::Pareto { power } => (self.span as f64 * random::unit(rng).powf(*power)) as u64,
            Shape::Zipfian(zipf) => rand_distr::Distribution::sample(zipf, rng) as u64 - 1,
        };
        // Floating point may round up to the end of the range.
        self.low + offset.min(self.span - 1)
    }
}

fn special(span: u64, pct: u32, res: u32, iter: u32) -> Shape {
    let hot_span = (span * u64::from(pct) / 100).max(1);
    Shape::Special {
        hot: (span - hot_span) / 2,
        hot_span,
        share: (u64::from(res) << 32) / 100,
        cold: Gaussian::new(iter, span),
    }
}

/// The same law as rejection-inversion gives: both are exact.
fn zipfian(span: u64, exponent: f64) -> Shape {
    let exponent = if (exponent - 1.0).abs() < EXPONENT_ONE {
        1.0
    } else {
        exponent
    };
    // It refuses only what was refused before; no exponent is uniform.
    Zipf::new(span as f64, exponent).map_or(Shape::Uniform, Shape::Zipfian)
}

/// The mean of uniform numbers, scaled to the range.
#[derive(Debug, Clone)]
struct Gaussian {
    iter: u32,
    scale: f64,
}

impl Gaussian {
    fn new(iter: u32, span: u64) -> Gaussian {
        let most = f64::from(iter) * (1u64 << GAUSSIAN_BITS) as f64;
        Gaussian {
            iter,
            scale: span as f64 / most,
        }
    }

    fn sample(&self, rng: &mut impl Rng) -> u64 {
        let mut sum = 0;
        for _ in 0..self.iter {
            sum += rng.next_u64() >> (u64::BITS - GAUSSIAN_BITS);
        }
        (sum as f64 * self.scale) as u64
    }
}
