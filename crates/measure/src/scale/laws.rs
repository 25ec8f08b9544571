//! The laws as curves, and their fits within the bounds of their parameters.

use super::{FARTHEST, GoodnessOfFit, LEAST_R_SQUARED, NoLaw, Peak, Scaling, Serial};
use crate::interval::{Estimate, student_t};
use crate::least_squares::{Curve, Fit, fit};

/// A share below this is 0, but for the rounding of numbers.
const ROUNDING: f64 = 1e-6;

pub(super) fn universal_law(
    size: f64,
    [alone, contention, coherency]: &[f64; 3],
) -> (f64, [f64; 3]) {
    let (others, pairs) = (size - 1.0, size * (size - 1.0));
    let cost = 1.0 + contention * others + coherency * pairs;
    let per_s = alone * size / cost;
    (
        per_s,
        [size / cost, -per_s * others / cost, -per_s * pairs / cost],
    )
}

pub(super) fn amdahl_law(size: f64, [alone, contention]: &[f64; 2]) -> (f64, [f64; 2]) {
    let (per_s, slope) = universal_law(size, &[*alone, *contention, 0.0]);
    (per_s, [slope[0], slope[1]])
}

fn coherent_law(size: f64, [alone, coherency]: &[f64; 2]) -> (f64, [f64; 2]) {
    let (per_s, slope) = universal_law(size, &[*alone, 0.0, *coherency]);
    (per_s, [slope[0], slope[2]])
}

pub(super) fn proportional_law(size: f64, [alone]: &[f64; 1]) -> (f64, [f64; 1]) {
    (alone * size, [size])
}

pub(super) fn gustafson_law(size: f64, [alone, serial]: &[f64; 2]) -> (f64, [f64; 2]) {
    let speedup = size - serial * (size - 1.0);
    (alone * speedup, [speedup, -alone * (size - 1.0)])
}

/// The law within its bounds; an unknown that would fall below 0 is 0, and is then known.
pub(super) enum Universal {
    Full(Fit<3>),
    NoCoherency(Fit<2>),
    NoContention(Fit<2>),
    Proportional(Fit<1>),
}

pub(super) fn universal(
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
const NONE: Estimate = Estimate::exact(0.0);

impl Universal {
    /// How many unknowns were fitted.
    pub(super) fn parameters(&self) -> usize {
        match self {
            Self::Full(_) => 3,
            Self::NoCoherency(_) | Self::NoContention(_) => 2,
            Self::Proportional(_) => 1,
        }
    }

    pub(super) fn scaling(&self) -> Scaling {
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
            goodness_of_fit: GoodnessOfFit::Untested,
            peak: None,
            amdahl: None,
            gustafson: None,
        }
    }

    pub(super) fn peak(&self, largest: f64) -> Option<Peak> {
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
pub(super) fn serial(fit: Fit<2>, line: Fit<1>) -> Option<Serial> {
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
