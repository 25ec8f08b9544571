//! The law as a curve, and its fits within the bounds of its parameters.
//!
//! Where the fit puts a cost at its bound of 0, the linearized fit has no interval. The profile of
//! the squares has one: the largest value at which the best choice of the other unknowns, within
//! their bounds, fits no worse than chance allows (Bates and Watts, *Nonlinear Regression Analysis
//! and Its Applications*, 1988, chapter 6).

use super::blocks::Adjusted;
use super::{FARTHEST, LEAST_R_SQUARED, NoLaw, Peak, Serial};
use crate::curve::bisect;
use crate::interval::{Estimate, squares, student_t};
use crate::least_squares;

/// A smaller share is 0 except for rounding.
const ROUNDING: f64 = 1e-6;
/// Number of bisections, for 12 digits.
const STEPS: usize = 40;
const GOLDEN: f64 = 0.618_033_988_749_895;

/// λ, σ, and κ.
type Parameters = [f64; 3];

pub(super) type Fit = least_squares::Fit<3>;

/// Throughput with so many users, and its gradient in the parameters.
pub(super) fn universal_law(
    size: f64,
    [alone, contention, coherency]: &Parameters,
) -> (f64, Parameters) {
    let (others, pairs) = (size - 1.0, size * (size - 1.0));
    let cost = 1.0 + contention * others + coherency * pairs;
    let per_s = alone * size / cost;
    (
        per_s,
        [size / cost, -per_s * others / cost, -per_s * pairs / cost],
    )
}

/// Fits the logarithm of the law by the parameters that are `free`.
pub(super) fn fit(data: &Adjusted, guess: Parameters, free: [bool; 3]) -> Option<Fit> {
    let log = |size: f64, values: &Parameters| {
        let (per_s, slope) = universal_law(size, values);
        (per_s.ln(), slope.map(|slope| slope / per_s))
    };
    least_squares::fit(&data.points, log, guess, free, data.fitted)
}

/// The Universal Scalability Law within its bounds; a cost that would fall below 0 is 0, and not
/// free. `amdahl` is its fit without coherency, `line` without any cost.
pub(super) fn universal(
    data: &Adjusted,
    alone: f64,
    amdahl: Option<Fit>,
    line: Fit,
) -> Result<Fit, NoLaw> {
    let found = match fit(data, [alone, 0.05, 0.0], [true; 3]) {
        Some(full) if full.values[1] >= 0.0 && full.values[2] >= 0.0 => full,
        Some(full) if full.values[1] < 0.0 && full.values[2] > 0.0 => {
            let guess = [alone, 0.0, full.values[2]];
            let coherent = fit(data, guess, [true, false, true]);
            // κ is paid to each of the others, so N times it compares with σ.
            let sizes = data.points.iter().map(|(size, _)| *size);
            let largest = sizes.fold(0.0, f64::max);
            bounded(coherent.ok_or(NoLaw::NotFound)?, 2, largest, line)?
        }
        _ => bounded(amdahl.ok_or(NoLaw::NotFound)?, 1, 1.0, line)?,
    };
    if found.values[1] >= 1.0 - ROUNDING {
        return Err(NoLaw::Serial);
    }
    match found.r_squared >= LEAST_R_SQUARED {
        true => Ok(found),
        false => Err(NoLaw::BadFit {
            r_squared: found.r_squared.max(0.0),
        }),
    }
}

/// A law with one cost, of which so many `times` are a share of the work; `line` where the cost may
/// as well be none.
fn bounded(fit: Fit, cost: usize, times: f64, line: Fit) -> Result<Fit, NoLaw> {
    let cost = parameter(&fit, cost);
    let highest = cost.value + cost.half_width.unwrap_or(0.0);
    match cost.value >= 0.0 {
        true => Ok(fit),
        false if highest * times >= -ROUNDING => Ok(line),
        false => Err(NoLaw::Superlinear),
    }
}

/// Amdahl's law within its bounds: where the share may as well be none, throughput grows in
/// proportion. `None` when it is more than the whole work, or certainly below 0.
pub(super) fn serial(fit: Fit, line: Fit, data: &Adjusted) -> Option<Serial> {
    let fit = bounded(fit, 1, 1.0, line).ok()?;
    (fit.values[1] <= 1.0).then(|| Serial {
        alone_per_s: alone(&fit, data),
        share: parameter(&fit, 1),
        r_squared: fit.r_squared,
    })
}

/// The peak of the Universal Scalability Law, not too far beyond the largest size measured.
pub(super) fn peak(fit: &Fit, largest: f64, data: &Adjusted) -> Option<Peak> {
    let [_, contention, coherency] = fit.values;
    let size = ((1.0 - contention) / coherency).sqrt();
    if !fit.free[2] || !size.is_finite() || size < 1.0 || size > FARTHEST * largest {
        return None;
    }
    let t = student_t(fit.degrees);
    let slope = [
        0.0,
        -size / (2.0 * (1.0 - contention)),
        -size / (2.0 * coherency),
    ];
    // When κ may be 0, the peak may be anywhere beyond.
    let is_certain = coherency - t * fit.error_of(2) > 0.0;
    let (per_s, of_per_s) = universal_law(size, &fit.values);
    Some(Peak {
        size: Estimate {
            value: size,
            half_width: is_certain.then(|| t * fit.error(&slope)),
        },
        // At the peak, moving it a little changes nothing.
        per_s: Estimate {
            value: per_s,
            half_width: is_certain.then(|| with_level(per_s, fit.error(&of_per_s), fit, data)),
        },
        is_measured: size <= largest,
    })
}

/// λ.
pub(super) fn alone(fit: &Fit, data: &Adjusted) -> Estimate {
    let value = fit.values[0];
    Estimate {
        value,
        half_width: Some(with_level(value, fit.error_of(0), fit, data)),
    }
}

/// A parameter; exact if it was not fitted.
pub(super) fn parameter(fit: &Fit, place: usize) -> Estimate {
    let half_width = || student_t(fit.degrees) * fit.error_of(place);
    Estimate {
        value: fit.values[place],
        half_width: fit.free[place].then(half_width),
    }
}

/// The half width of a throughput with this error within the blocks. Blocks differ in their level,
/// too, which moves all throughputs alike (degrees of freedom by Satterthwaite's formula).
fn with_level(per_s: f64, error: f64, fit: &Fit, data: &Adjusted) -> f64 {
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

/// One of the two costs, by its place among the parameters.
#[derive(Clone, Copy)]
pub(super) enum Cost {
    Contention = 1,
    Coherency = 2,
}

/// The upper end of the interval of a cost whose value in the `best` fit is 0. `None` where even
/// the whole work cannot be ruled out.
pub(super) fn highest(points: &[(f64, f64)], cost: Cost, best: &Fit) -> Option<f64> {
    let allowed = best.squares * (1.0 + student_t(best.degrees).powi(2) / best.degrees);
    let rules_out = |value: f64| profile(points, cost, value) > allowed;
    rules_out(1.0).then(|| bisect(0.0, 1.0, STEPS, rules_out))
}

/// The least squares with one cost fixed, the other one from 0 to 1, and λ free.
fn profile(points: &[(f64, f64)], cost: Cost, fixed: f64) -> f64 {
    let squares = |other: f64| match cost {
        Cost::Contention => with_best_rate(points, fixed, other),
        Cost::Coherency => with_best_rate(points, other, fixed),
    };
    // Golden section: the squares have one minimum, which may lie at 0.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..2 * STEPS {
        let width = GOLDEN * (high - low);
        let (left, right) = (high - width, low + width);
        match squares(left) <= squares(right) {
            true => high = right,
            false => low = left,
        }
    }
    squares(f64::midpoint(low, high)).min(squares(0.0))
}

/// The squares of the logarithms with these costs and the best λ for them.
fn with_best_rate(points: &[(f64, f64)], contention: f64, coherency: f64) -> f64 {
    let shape = |size: f64| universal_law(size, &[1.0, contention, coherency]).0.ln();
    let off = |(size, log): &(f64, f64)| log - shape(*size);
    let offs: Vec<f64> = points.iter().map(off).collect();
    squares(&offs)
}
