//! The laws as curves, and their fits within the bounds of their parameters.

use super::blocks::Adjusted;
use super::{FARTHEST, GoodnessOfFit, LEAST_R_SQUARED, NoLaw, Peak, Scaling, Serial};
use crate::interval::{Estimate, student_t};
use crate::least_squares::{Curve, Fit, fit};

/// A smaller share is 0 except for rounding.
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

pub(super) fn gustafson_law(size: f64, [alone, serial]: &[f64; 2]) -> (f64, [f64; 2]) {
    let speedup = size - serial * (size - 1.0);
    (alone * speedup, [speedup, -alone * (size - 1.0)])
}

/// The logarithm of a law, and its gradient.
fn log<const P: usize>((per_s, slope): (f64, [f64; P])) -> (f64, [f64; P]) {
    (per_s.ln(), slope.map(|slope| slope / per_s))
}

fn universal_log(size: f64, values: &[f64; 3]) -> (f64, [f64; 3]) {
    log(universal_law(size, values))
}

pub(super) fn amdahl_log(size: f64, values: &[f64; 2]) -> (f64, [f64; 2]) {
    log(amdahl_law(size, values))
}

fn coherent_log(size: f64, values: &[f64; 2]) -> (f64, [f64; 2]) {
    log(coherent_law(size, values))
}

pub(super) fn proportional_log(size: f64, [alone]: &[f64; 1]) -> (f64, [f64; 1]) {
    ((alone * size).ln(), [alone.recip()])
}

pub(super) fn gustafson_log(size: f64, values: &[f64; 2]) -> (f64, [f64; 2]) {
    log(gustafson_law(size, values))
}

/// Fits the logarithm of a law.
pub(super) fn fit_log<const P: usize>(
    data: &Adjusted,
    law: Curve<P>,
    guess: [f64; P],
) -> Option<Fit<P>> {
    fit(&data.points, law, guess, data.fitted)
}

/// The law within its bounds. A parameter that would fall below 0 is fixed at 0.
pub(super) enum Universal {
    Full(Fit<3>),
    NoCoherency(Fit<2>),
    NoContention(Fit<2>),
    Proportional(Fit<1>),
}

pub(super) fn universal(
    data: &Adjusted,
    alone: f64,
    amdahl: Option<Fit<2>>,
    line: Fit<1>,
) -> Result<Universal, NoLaw> {
    let full = fit_log(data, universal_log, [alone, 0.05, 0.0]);
    let found = match full {
        Some(fit) if fit.values[1] >= 0.0 && fit.values[2] >= 0.0 => Universal::Full(fit),
        Some(found) if found.values[1] < 0.0 && found.values[2] > 0.0 => {
            let bound = fit_log(data, coherent_log, [alone, found.values[2]]);
            // κ applies to each of the other users, so N times κ compares with σ.
            let sizes = data.points.iter().map(|(size, _)| *size);
            let largest = sizes.fold(0.0, f64::max);
            bounded(bound, largest, line, Universal::NoContention)?
        }
        _ => bounded(amdahl, 1.0, line, Universal::NoCoherency)?,
    };
    let scaling = found.scaling(data);
    if scaling.contention.value >= 1.0 - ROUNDING {
        return Err(NoLaw::Serial);
    }
    match scaling.r_squared >= LEAST_R_SQUARED {
        true => Ok(found),
        false => Err(NoLaw::BadFit {
            r_squared: scaling.r_squared.max(0.0),
        }),
    }
}

/// A law with one cost, or without a cost if that may be 0.
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

/// The sign of the cost, which is the second parameter of a fit.
enum Sign {
    /// 0 or more.
    Positive,
    /// Below 0, with an interval that includes 0.
    None,
    /// Certainly below 0.
    Negative,
}

/// `times` converts the cost to a share of the work.
fn sign(fit: &Fit<2>, times: f64) -> Sign {
    let cost = of(fit, 1);
    let highest = cost.value + cost.half_width.unwrap_or(0.0);
    match cost.value >= 0.0 {
        true => Sign::Positive,
        false if highest * times >= -ROUNDING => Sign::None,
        false => Sign::Negative,
    }
}

/// A cost that is known to be 0.
const NONE: Estimate = Estimate::exact(0.0);

impl Universal {
    /// Number of fitted parameters.
    pub(super) fn parameters(&self) -> usize {
        match self {
            Self::Full(_) => 3,
            Self::NoCoherency(_) | Self::NoContention(_) => 2,
            Self::Proportional(_) => 1,
        }
    }

    pub(super) fn scaling(&self, data: &Adjusted) -> Scaling {
        let (alone_per_s, contention, coherency, r_squared) = match self {
            Self::Full(fit) => (alone(fit, data), of(fit, 1), of(fit, 2), fit.r_squared),
            Self::NoCoherency(fit) => (alone(fit, data), of(fit, 1), NONE, fit.r_squared),
            Self::NoContention(fit) => (alone(fit, data), NONE, of(fit, 1), fit.r_squared),
            Self::Proportional(fit) => (alone(fit, data), NONE, NONE, fit.r_squared),
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

    pub(super) fn peak(&self, largest: f64, data: &Adjusted) -> Option<Peak> {
        let (size, per_s) = match self {
            Self::Full(fit) => peak(fit, universal_law, fit.values, |slope| slope, data),
            Self::NoContention(fit) => {
                let [alone, coherency] = fit.values;
                let all = [alone, 0.0, coherency];
                peak(fit, coherent_law, all, |slope| [slope[0], slope[2]], data)
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

/// The peak of a law with these parameters; `of` selects the fitted ones.
fn peak<const P: usize>(
    fit: &Fit<P>,
    curve: Curve<P>,
    [_, contention, coherency]: [f64; 3],
    of: impl Fn([f64; 3]) -> [f64; P],
    data: &Adjusted,
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
    // κ is the last parameter. If it may be 0, the peak may be arbitrarily far away.
    let is_certain = coherency - t * fit.error_of(P - 1) > 0.0;
    let (per_s, of_per_s) = curve(size, &fit.values);
    Some((
        Estimate {
            value: size,
            half_width: is_certain.then(|| t * fit.error(&slope)),
        },
        // At the peak, the derivative of throughput by size is 0.
        Estimate {
            value: per_s,
            half_width: is_certain.then(|| with_level(per_s, fit.error(&of_per_s), fit, data)),
        },
    ))
}

/// λ.
fn alone<const P: usize>(fit: &Fit<P>, data: &Adjusted) -> Estimate {
    let value = fit.values[0];
    Estimate {
        value,
        half_width: Some(with_level(value, fit.error_of(0), fit, data)),
    }
}

/// The half width of a throughput with this error within the blocks. The level of blocks differs
/// too, which moves all throughputs equally (degrees of freedom by Satterthwaite's formula).
fn with_level<const P: usize>(per_s: f64, error: f64, fit: &Fit<P>, data: &Adjusted) -> f64 {
    let (within, between) = (error.powi(2), (per_s * data.level_error).powi(2));
    let of_between = match data.fitted {
        0 => 0.0,
        others => between.powi(2) / others as f64,
    };
    let degrees = (within + between).powi(2) / (within.powi(2) / fit.degrees + of_between);
    let degrees = if degrees.is_nan() {
        fit.degrees
    } else {
        degrees
    };
    student_t(degrees) * (within + between).sqrt()
}

fn of<const P: usize>(fit: &Fit<P>, parameter: usize) -> Estimate {
    Estimate {
        value: fit.values[parameter],
        half_width: Some(student_t(fit.degrees) * fit.error_of(parameter)),
    }
}

/// A law with one share, within its bounds. If the share may be 0, throughput is proportional to
/// the size. `None` if the share exceeds 1 or is certainly below 0.
pub(super) fn serial(fit: Fit<2>, line: Fit<1>, data: &Adjusted) -> Option<Serial> {
    match sign(&fit, 1.0) {
        Sign::Positive => (fit.values[1] <= 1.0).then(|| Serial {
            alone_per_s: alone(&fit, data),
            share: of(&fit, 1),
            r_squared: fit.r_squared,
        }),
        Sign::None => Some(Serial {
            alone_per_s: alone(&line, data),
            share: NONE,
            r_squared: line.r_squared,
        }),
        Sign::Negative => None,
    }
}
