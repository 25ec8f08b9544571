//! The random distributions of keys: which, with which parameters.

mod sampler;
mod text;

use serde::{Deserialize, Serialize};

pub use sampler::KeySampler;

/// The most uniform numbers that a Gaussian's mean is made of.
const MAX_ITER: u32 = 1_000;
/// Far past the exponent at which all keys are the first.
const MAX_EXPONENT: f64 = 100.0;

/// How keys are drawn from a range, as sysbench 1.0 defines them.
///
/// As text (on the command line, in a study): the name, then parameters that
/// differ from the defaults: `special:pct=1,res=75`, `zipfian:exp=0.99`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Distribution {
    Uniform,
    /// `res` percent of the draws are uniform over a hot zone, `pct` percent of
    /// the range in its middle; the others are [`Distribution::Gaussian`] over
    /// the whole range.
    ///
    /// This is what sysbench documents. Its 1.0.20 uses one random number both
    /// to choose the zone and as the key within it, and so reaches only the
    /// upper three quarters of the hot zone (with the default `res`); hot rows
    /// are a little hotter there.
    Special {
        /// Percent of the rows that are hot, 1 to 100.
        pct: u32,
        /// Percent of the draws that go to them, 0 to 100.
        res: u32,
        /// As for [`Distribution::Gaussian`].
        iter: u32,
    },
    /// The mean of uniform draws over the range: a bell in its middle.
    Gaussian {
        /// How many draws, 1 to 1,000.
        iter: u32,
    },
    /// A self-similar law: a part `h` of the keys, the lowest, gets a part
    /// `1 - h` of the draws, and so again within that part.
    Pareto {
        /// Above 0 and below 1.
        h: f64,
    },
    /// The key of rank r, the lowest being the first, is drawn in proportion to
    /// r to the power of `-exponent`.
    Zipfian {
        /// 0 (uniform) to 100.
        exponent: f64,
    },
}

/// A distribution that cannot be understood, or has parameters that make none.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DistributionError {
    #[error(
        "there is no distribution '{0}'; there are uniform, special, gaussian, pareto and zipfian"
    )]
    Unknown(String),
    #[error("{distribution} has no parameter '{parameter}'; it has: {known}")]
    UnknownParameter {
        distribution: &'static str,
        parameter: String,
        known: &'static str,
    },
    #[error("'{0}' is not a parameter; write name=number")]
    NotANumber(String),
    #[error("{distribution}'s {parameter} is {value}; it must be {bounds}")]
    OutOfRange {
        distribution: &'static str,
        parameter: &'static str,
        value: f64,
        bounds: &'static str,
    },
    #[error("there is no key from {low} to {high}")]
    Empty {
        low: u64,
        /// The highest key, which is below it.
        high: u64,
    },
}

impl From<DistributionError> for plan::Failure {
    fn from(error: DistributionError) -> Self {
        Self::usage(error)
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution::SPECIAL
    }
}

impl Distribution {
    /// sysbench's default.
    pub const SPECIAL: Distribution = Distribution::Special {
        pct: 1,
        res: 75,
        iter: 12,
    };
    /// With sysbench's default parameter.
    pub const GAUSSIAN: Distribution = Distribution::Gaussian { iter: 12 };
    /// With sysbench's default parameter.
    pub const PARETO: Distribution = Distribution::Pareto { h: 0.2 };
    /// With sysbench's default parameter.
    pub const ZIPFIAN: Distribution = Distribution::Zipfian { exponent: 0.8 };

    pub fn name(&self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Special { .. } => "special",
            Distribution::Gaussian { .. } => "gaussian",
            Distribution::Pareto { .. } => "pareto",
            Distribution::Zipfian { .. } => "zipfian",
        }
    }

    pub fn validate(&self) -> Result<(), DistributionError> {
        match *self {
            Distribution::Uniform => Ok(()),
            Distribution::Special { pct, res, iter } => {
                let percent = (1..=100).contains(&pct);
                self.check(percent, "pct", pct.into(), "from 1 to 100")?;
                self.check(res <= 100, "res", res.into(), "from 0 to 100")?;
                self.check_iter(iter)
            }
            Distribution::Gaussian { iter } => self.check_iter(iter),
            Distribution::Pareto { h } => {
                self.check(h > 0.0 && h < 1.0, "h", h, "above 0 and below 1")
            }
            Distribution::Zipfian { exponent } => {
                let valid = (0.0..=MAX_EXPONENT).contains(&exponent);
                self.check(valid, "exp", exponent, "from 0 to 100")
            }
        }
    }

    fn check_iter(&self, iter: u32) -> Result<(), DistributionError> {
        let valid = (1..=MAX_ITER).contains(&iter);
        self.check(valid, "iter", iter.into(), "from 1 to 1000")
    }

    fn check(
        &self,
        valid: bool,
        parameter: &'static str,
        value: f64,
        bounds: &'static str,
    ) -> Result<(), DistributionError> {
        if valid {
            return Ok(());
        }
        Err(DistributionError::OutOfRange {
            distribution: self.name(),
            parameter,
            value,
            bounds,
        })
    }
}
