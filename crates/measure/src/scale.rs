//! How a system scales: the Universal Scalability Law, with those of Amdahl and Gustafson
//! beside it.
//!
//! Gunther (*Guerrilla Capacity Planning*, 2007; "A general theory of computational
//! scalability based on rational functions", 2008): with N users (or instances, or nodes)
//!
//! > X(N) = λN / (1 + σ(N − 1) + κN(N − 1))
//!
//! λ is what one does alone, σ (contention) the share of the work that waits for its turn,
//! κ (coherency) what every pair costs by agreeing with each other. With κ = 0 it is
//! Amdahl's law ("Validity of the single processor approach", AFIPS 1967); with κ above 0
//! throughput has a peak, at √((1 − σ)/κ), and falls behind it. Gustafson ("Reevaluating
//! Amdahl's law", Communications of the ACM 31, 1988) lets the work grow with N:
//! X(N) = λ(N − s(N − 1)).
//!
//! Fitted by least squares on throughput; intervals are those of the linearised fit,
//! Student's t. A cost that would fall below 0 is 0, and the rest is fitted again (`bound.rs`
//! has how large it may be all the same); when it falls there for certain, or the law does not
//! fit (`misfit.rs`), it tells nothing and is refused.

mod bound;
pub(crate) mod misfit;

use serde::{Deserialize, Serialize};

use crate::interval::{Estimate, student_t};
use crate::least_squares::{Curve, Fit, fit};
use bound::{Cost, highest};

pub use misfit::Misfit;

/// Fewest numbers of users with which a law is fitted.
pub const MIN_POINTS: usize = 6;
/// Least share of the variance that the law has to explain.
pub const LEAST_R_SQUARED: f64 = 0.9;

/// A share below this is 0, but for the rounding of numbers.
const ROUNDING: f64 = 1e-6;
/// A peak is not told further out than so many times the largest size measured.
pub(crate) const FARTHEST: f64 = 10.0;

/// A measured point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Users, instances or nodes, above 0.
    pub size: f64,
    /// Throughput with them, in transactions per second.
    pub per_s: f64,
    /// Half of the 95 % interval of the point's own seconds, where it has one.
    pub half_width: Option<f64>,
}

/// A law with one serial share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Serial {
    /// Throughput of one alone, in transactions per second.
    pub alone_per_s: Estimate,
    /// Share of the work that is not done side by side (0 to 1). 0 without an interval when
    /// the fit would have it below.
    pub share: Estimate,
    /// Share (up to 1) of the variance of throughput that the law explains.
    pub r_squared: f64,
}

/// Where throughput is highest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// With so many users; no interval when it may as well be endlessly far away.
    pub size: Estimate,
    /// Throughput there, in transactions per second.
    pub per_s: Estimate,
    /// Whether so many users were measured; if not, it is a guess.
    pub is_measured: bool,
}

/// How a system scales.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// λ: throughput of one alone, in transactions per second.
    pub alone_per_s: Estimate,
    /// σ: share of the work that waits for its turn (0 to 1). Where the fit would have it
    /// below, it is 0 and its half width is the most that it may be, with none where that is
    /// not known.
    pub contention: Estimate,
    /// κ: cost of each pair that must agree, as a share of the work (0 or more). At 0 its half
    /// width is as σ's, and there is no peak. With σ and κ both 0 throughput grows in
    /// proportion to the size.
    pub coherency: Estimate,
    /// Share (up to 1) of the variance of throughput that the law explains.
    pub r_squared: f64,
    /// Whether it misses the points by no more than chance.
    #[serde(default)]
    pub misfit: Misfit,
    /// Where throughput is highest; `None` when it never stops growing, or not before ten
    /// times the largest size that was measured.
    pub peak: Option<Peak>,
    /// Amdahl's law; `None` when it would take a share that is none to fit.
    pub amdahl: Option<Serial>,
    /// Gustafson's law; `None` as with Amdahl's.
    pub gustafson: Option<Serial>,
}

impl Scaling {
    /// Throughput with so many users by the Universal Scalability Law, in transactions per
    /// second.
    #[must_use]
    pub fn per_s(&self, size: f64) -> f64 {
        let all = [self.alone_per_s, self.contention, self.coherency];
        universal_law(size, &all.map(|parameter| parameter.value)).0
    }

    /// The same by Amdahl's law.
    #[must_use]
    pub fn amdahl_per_s(&self, size: f64) -> Option<f64> {
        let law = self.amdahl?;
        Some(amdahl_law(size, &[law.alone_per_s.value, law.share.value]).0)
    }

    /// The same by Gustafson's law.
    #[must_use]
    pub fn gustafson_per_s(&self, size: f64) -> Option<f64> {
        let law = self.gustafson?;
        Some(gustafson_law(size, &[law.alone_per_s.value, law.share.value]).0)
    }
}

/// Why there is no law.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoLaw {
    /// Too few points.
    #[error(
        "{points} different sizes are too few for the scalability law, which has three unknowns \
         and needs {MIN_POINTS}: measure more"
    )]
    TooFew {
        /// How many different sizes there were.
        points: usize,
    },
    /// A point that is no measurement.
    #[error("a point with size {size} and {per_s} transactions/s is no measurement")]
    BadPoint {
        /// Its size.
        size: f64,
        /// Its throughput.
        per_s: f64,
    },
    /// The fit found nothing.
    #[error("no scalability law comes near these points")]
    NotFound,
    /// A bad fit.
    #[error(
        "the scalability law explains only {:.0} % of the variance of these points: something \
         else than contention and coherency is at work", 100.0 * .r_squared
    )]
    BadFit {
        /// Share of the variance that it explains.
        r_squared: f64,
    },
    /// It misses a size by more than chance.
    #[error(
        "the scalability law does not fit: with {size} it is off by {:+.0} %, which chance \
         would do once in {:.0} studies; something else than contention and coherency is at \
         work, such as a hard limit", 100.0 * .off, (1.0 / .p).min(1e6)
    )]
    LackOfFit {
        /// The size that it misses most.
        size: f64,
        /// By which share of the mean measured there the law is above it.
        off: f64,
        /// How likely (0 to 1) a true law would be off by as much.
        p: f64,
    },
    /// More than in proportion.
    #[error(
        "throughput grows by more than in proportion to the size, which no scalability law \
         allows: the small sizes were held back by something else, such as a cold cache"
    )]
    Superlinear,
    /// Nothing is done side by side.
    #[error("nothing is done side by side here: throughput never grows with the size")]
    Serial,
}

/// Fits the laws; several points of one size are repeats.
///
/// # Errors
/// Says why when the law would tell nothing.
pub fn scaling(points: &[Point]) -> Result<Scaling, NoLaw> {
    let is_bad = |point: &&Point| {
        !(point.size > 0.0
            && point.size.is_finite()
            && point.per_s > 0.0
            && point.per_s.is_finite())
    };
    if let Some(Point { size, per_s, .. }) = points.iter().find(is_bad).copied() {
        return Err(NoLaw::BadPoint { size, per_s });
    }
    let mut sizes: Vec<f64> = points.iter().map(|point| point.size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < MIN_POINTS {
        return Err(NoLaw::TooFew {
            points: sizes.len(),
        });
    }
    let data: Vec<(f64, f64)> = points
        .iter()
        .map(|point| (point.size, point.per_s))
        .collect();
    let alone = points
        .iter()
        .map(|point| point.per_s / point.size)
        .fold(0.0, f64::max);
    let largest = sizes.last().copied().unwrap_or(0.0);
    let line = fit(&data, proportional_law, [alone]).ok_or(NoLaw::NotFound)?;
    let amdahl = fit(&data, amdahl_law, [alone, 0.05]);
    let gustafson = fit(&data, gustafson_law, [alone, 0.5]);
    let found = universal(&data, alone, amdahl, line)?;
    let law = found.scaling();
    let misfit = misfit::test(points, |size| law.per_s(size), found.parameters())?;
    let off = |point: &Point| (point.per_s - law.per_s(point.size)).powi(2);
    let squares: f64 = points.iter().map(off).sum();
    let degrees = (points.len() - found.parameters()) as f64;
    let bounded = |cost: Estimate, which| match cost.half_width {
        Some(_) => cost,
        None => Estimate {
            half_width: highest(points, which, squares, degrees),
            ..cost
        },
    };
    Ok(Scaling {
        contention: bounded(law.contention, Cost::Contention),
        coherency: bounded(law.coherency, Cost::Coherency),
        misfit,
        peak: found.peak(largest),
        amdahl: amdahl.and_then(|fit| serial(fit, line)),
        gustafson: gustafson.and_then(|fit| serial(fit, line)),
        ..law
    })
}

fn universal_law(size: f64, [alone, contention, coherency]: &[f64; 3]) -> (f64, [f64; 3]) {
    let (others, pairs) = (size - 1.0, size * (size - 1.0));
    let cost = 1.0 + contention * others + coherency * pairs;
    let per_s = alone * size / cost;
    (
        per_s,
        [size / cost, -per_s * others / cost, -per_s * pairs / cost],
    )
}

fn amdahl_law(size: f64, [alone, contention]: &[f64; 2]) -> (f64, [f64; 2]) {
    let (per_s, slope) = universal_law(size, &[*alone, *contention, 0.0]);
    (per_s, [slope[0], slope[1]])
}

fn coherent_law(size: f64, [alone, coherency]: &[f64; 2]) -> (f64, [f64; 2]) {
    let (per_s, slope) = universal_law(size, &[*alone, 0.0, *coherency]);
    (per_s, [slope[0], slope[2]])
}

fn proportional_law(size: f64, [alone]: &[f64; 1]) -> (f64, [f64; 1]) {
    (alone * size, [size])
}

fn gustafson_law(size: f64, [alone, serial]: &[f64; 2]) -> (f64, [f64; 2]) {
    let speedup = size - serial * (size - 1.0);
    (alone * speedup, [speedup, -alone * (size - 1.0)])
}

/// The law within its bounds; an unknown that would fall below 0 is 0, and is then known.
enum Universal {
    Full(Fit<3>),
    NoCoherency(Fit<2>),
    NoContention(Fit<2>),
    Proportional(Fit<1>),
}

fn universal(
    data: &[(f64, f64)],
    alone: f64,
    amdahl: Option<Fit<2>>,
    line: Fit<1>,
) -> Result<Universal, NoLaw> {
    let full = fit(data, universal_law, [alone, 0.05, 0.0]);
    let found = match full {
        Some(fit) if fit.values[1] >= 0.0 && fit.values[2] >= 0.0 => Universal::Full(fit),
        Some(found) if found.values[1] < 0.0 && found.values[2] > 0.0 => {
            let bound = fit(data, coherent_law, [alone, found.values[2]]);
            // κ is paid to each of the others, so N times it compares with σ.
            let largest = data.iter().map(|(size, _)| *size).fold(0.0, f64::max);
            bounded(bound, largest, line, Universal::NoContention)?
        }
        _ => bounded(amdahl, 1.0, line, Universal::NoCoherency)?,
    };
    let scaling = found.scaling();
    if scaling.contention.value >= 1.0 {
        return Err(NoLaw::Serial);
    }
    match scaling.r_squared >= LEAST_R_SQUARED {
        true => Ok(found),
        false => Err(NoLaw::BadFit {
            r_squared: scaling.r_squared.max(0.0),
        }),
    }
}

/// A law with one cost; without it where it may as well be none.
fn bounded(
    fit: Option<Fit<2>>,
    times: f64,
    line: Fit<1>,
    with: fn(Fit<2>) -> Universal,
) -> Result<Universal, NoLaw> {
    let fit = fit.ok_or(NoLaw::NotFound)?;
    match sign(&fit, times) {
        Sign::Positive => Ok(with(fit)),
        Sign::None => Ok(Universal::Proportional(line)),
        Sign::Negative => Err(NoLaw::Superlinear),
    }
}

/// What the cost is, the second unknown of a fit.
enum Sign {
    /// 0 or more.
    Positive,
    /// Below 0, where its interval holds 0.
    None,
    /// Certainly below 0.
    Negative,
}

/// So many `times` the cost is a share of the work.
fn sign(fit: &Fit<2>, times: f64) -> Sign {
    let cost = of(fit, 1);
    let highest = cost.value + cost.half_width.unwrap_or(0.0);
    match cost.value >= 0.0 {
        true => Sign::Positive,
        false if highest * times >= -ROUNDING => Sign::None,
        false => Sign::Negative,
    }
}

/// A cost that is known to be none.
const NONE: Estimate = Estimate {
    value: 0.0,
    half_width: None,
};

impl Universal {
    /// How many unknowns were fitted.
    fn parameters(&self) -> usize {
        match self {
            Self::Full(_) => 3,
            Self::NoCoherency(_) | Self::NoContention(_) => 2,
            Self::Proportional(_) => 1,
        }
    }

    fn scaling(&self) -> Scaling {
        let (alone_per_s, contention, coherency, r_squared) = match self {
            Self::Full(fit) => (of(fit, 0), of(fit, 1), of(fit, 2), fit.r_squared),
            Self::NoCoherency(fit) => (of(fit, 0), of(fit, 1), NONE, fit.r_squared),
            Self::NoContention(fit) => (of(fit, 0), NONE, of(fit, 1), fit.r_squared),
            Self::Proportional(fit) => (of(fit, 0), NONE, NONE, fit.r_squared),
        };
        Scaling {
            alone_per_s,
            contention,
            coherency,
            r_squared,
            misfit: Misfit::Untested,
            peak: None,
            amdahl: None,
            gustafson: None,
        }
    }

    fn peak(&self, largest: f64) -> Option<Peak> {
        let (size, per_s) = match self {
            Self::Full(fit) => peak(fit, universal_law, fit.values, |slope| slope),
            Self::NoContention(fit) => {
                let [alone, coherency] = fit.values;
                let all = [alone, 0.0, coherency];
                peak(fit, coherent_law, all, |slope| [slope[0], slope[2]])
            }
            Self::NoCoherency(_) | Self::Proportional(_) => return None,
        }?;
        (size.value <= FARTHEST * largest).then_some(Peak {
            size,
            per_s,
            is_measured: size.value <= largest,
        })
    }
}

/// The peak of a law with these parameters; `of` picks those that were fitted.
fn peak<const P: usize>(
    fit: &Fit<P>,
    curve: Curve<P>,
    [_, contention, coherency]: [f64; 3],
    of: impl Fn([f64; 3]) -> [f64; P],
) -> Option<(Estimate, Estimate)> {
    let size = ((1.0 - contention) / coherency).sqrt();
    if !size.is_finite() || size < 1.0 {
        return None;
    }
    let t = student_t(fit.degrees);
    let slope = of([
        0.0,
        -size / (2.0 * (1.0 - contention)),
        -size / (2.0 * coherency),
    ]);
    // κ is the last parameter; when it may be 0, the peak may be anywhere beyond.
    let is_certain = coherency - t * fit.error_of(P - 1) > 0.0;
    let (per_s, of_per_s) = curve(size, &fit.values);
    Some((
        Estimate {
            value: size,
            half_width: is_certain.then(|| t * fit.error(&slope)),
        },
        // At the peak, moving it a little changes nothing.
        Estimate {
            value: per_s,
            half_width: is_certain.then(|| t * fit.error(&of_per_s)),
        },
    ))
}

fn of<const P: usize>(fit: &Fit<P>, parameter: usize) -> Estimate {
    Estimate {
        value: fit.values[parameter],
        half_width: Some(student_t(fit.degrees) * fit.error_of(parameter)),
    }
}

/// A law with one share, within its bounds: where the share may as well be none, throughput
/// grows in proportion. `None` when it is more than the whole work, or certainly below 0.
fn serial(fit: Fit<2>, line: Fit<1>) -> Option<Serial> {
    match sign(&fit, 1.0) {
        Sign::Positive => (fit.values[1] <= 1.0).then(|| Serial {
            alone_per_s: of(&fit, 0),
            share: of(&fit, 1),
            r_squared: fit.r_squared,
        }),
        Sign::None => Some(Serial {
            alone_per_s: of(&line, 0),
            share: NONE,
            r_squared: line.r_squared,
        }),
        Sign::Negative => None,
    }
}

#[cfg(test)]
#[path = "scale_tests.rs"]
mod tests;
