//! The upper limit of a cost that the fit puts at its bound of 0.
//!
//! There, the linearized fit has no interval. The profile of the squares has one: the largest value
//! at which the best choice of the other unknowns, within their bounds, fits no worse than chance
//! allows (Bates and Watts, *Nonlinear Regression Analysis and Its Applications*, 1988, chapter 6).

use super::laws::{Fit, universal_law};
use crate::curve::bisect;
use crate::interval::{mean, student_t};

/// Number of bisections, for 12 digits.
const STEPS: usize = 40;
const GOLDEN: f64 = 0.618_033_988_749_895;

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
    let alone = mean(&offs);
    offs.iter().map(|off| (off - alone).powi(2)).sum()
}
