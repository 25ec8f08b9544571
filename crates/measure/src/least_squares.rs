//! Nonlinear least squares by Levenberg and Marquardt (Marquardt, "An algorithm for
//! least-squares estimation of nonlinear parameters", SIAM Journal 11, 1963), for curves
//! with two or three parameters.

/// Maximum number of steps; a curve that has not converged by then does not fit.
const MOST_STEPS: usize = 500;
/// A step that reduces the squares by a smaller share is the last one.
const DONE: f64 = 1e-14;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Fit<const P: usize> {
    pub(crate) values: [f64; P],
    /// Which of them were fitted; the others are as in the first guess.
    pub(crate) free: [bool; P],
    /// Their covariances, from the residuals; 0 of those that were not fitted.
    pub(crate) covariance: [[f64; P]; P],
    pub(crate) squares: f64,
    /// Share (up to 1) of the variance of the points that the curve explains.
    pub(crate) r_squared: f64,
    /// Number of points minus all numbers that were fitted to them.
    pub(crate) degrees: f64,
}

/// Fits `curve`, its value and gradient at x, to points (x, y) from a first guess by its `free`
/// parameters, `fitted` numbers having been fitted to the points before; `None` when there are too
/// few points or no curve is found.
pub(crate) fn fit<const P: usize>(
    points: &[(f64, f64)],
    curve: impl Fn(f64, &[f64; P]) -> (f64, [f64; P]),
    guess: [f64; P],
    free: [bool; P],
    fitted: usize,
) -> Option<Fit<P>> {
    let unknowns = free.iter().filter(|free| **free).count() + fitted;
    let degrees = points.len().checked_sub(unknowns)?;
    if degrees == 0 {
        return None;
    }
    let mut now = Normal::at(points, &curve, guess, free);
    let mut damping = 1e-3;
    for _ in 0..MOST_STEPS {
        let next = Normal::at(points, &curve, now.step(damping)?, free);
        if next.squares >= now.squares || !next.squares.is_finite() {
            // No direction is an improvement.
            if damping > 1e12 {
                return now.fit(points, free, degrees as f64);
            }
            damping *= 4.0;
            continue;
        }
        let gain = (now.squares - next.squares) / now.squares;
        now = next;
        damping = (damping / 4.0).max(1e-15);
        if gain < DONE || now.squares <= 0.0 {
            return now.fit(points, free, degrees as f64);
        }
    }
    None
}

/// The normal equations of the residuals around a guess.
struct Normal<const P: usize> {
    values: [f64; P],
    squares: f64,
    gradient: [f64; P],
    curvature: [[f64; P]; P],
}

impl<const P: usize> Normal<P> {
    fn at(
        points: &[(f64, f64)],
        curve: impl Fn(f64, &[f64; P]) -> (f64, [f64; P]),
        values: [f64; P],
        free: [bool; P],
    ) -> Self {
        let mut normal = Self {
            values,
            squares: 0.0,
            gradient: [0.0; P],
            curvature: [[0.0; P]; P],
        };
        for (x, y) in points {
            let (found, mut slope) = curve(*x, &values);
            for (slope, _) in slope.iter_mut().zip(free).filter(|(_, free)| !free) {
                *slope = 0.0;
            }
            let off = y - found;
            normal.squares += off * off;
            for (i, row) in normal.curvature.iter_mut().enumerate() {
                normal.gradient[i] += slope[i] * off;
                for (cell, other) in row.iter_mut().zip(slope) {
                    *cell += slope[i] * other;
                }
            }
        }
        // A parameter that is not free has no part in the inverse.
        for i in (0..P).filter(|i| !free[*i]) {
            normal.curvature[i][i] = 1.0;
        }
        normal
    }

    /// The next guess; more damping makes shorter steps.
    fn step(&self, damping: f64) -> Option<[f64; P]> {
        let mut damped = self.curvature;
        for (i, row) in damped.iter_mut().enumerate() {
            row[i] *= 1.0 + damping;
        }
        let inverse = inverse(damped)?;
        let mut next = self.values;
        for (value, row) in next.iter_mut().zip(inverse) {
            *value += row
                .iter()
                .zip(self.gradient)
                .map(|(a, b)| a * b)
                .sum::<f64>();
        }
        Some(next)
    }

    fn fit(&self, points: &[(f64, f64)], free: [bool; P], degrees: f64) -> Option<Fit<P>> {
        let mean = points.iter().map(|(_, y)| y).sum::<f64>() / points.len() as f64;
        let all: f64 = points.iter().map(|(_, y)| (y - mean).powi(2)).sum();
        let variance = self.squares / degrees;
        let mut covariance = inverse(self.curvature)?.map(|row| row.map(|cell| cell * variance));
        for i in (0..P).filter(|i| !free[*i]) {
            covariance[i][i] = 0.0;
        }
        Some(Fit {
            values: self.values,
            free,
            covariance,
            squares: self.squares,
            r_squared: 1.0 - self.squares / all,
            degrees,
        })
    }
}

impl<const P: usize> Fit<P> {
    /// Standard error of a quantity with this gradient in the parameters.
    pub(crate) fn error(&self, gradient: &[f64; P]) -> f64 {
        let rows = self.covariance.iter().zip(gradient);
        let variance: f64 = rows
            .map(|(row, g)| g * row.iter().zip(gradient).map(|(a, b)| a * b).sum::<f64>())
            .sum();
        variance.max(0.0).sqrt()
    }

    pub(crate) fn error_of(&self, parameter: usize) -> f64 {
        self.covariance[parameter][parameter].max(0.0).sqrt()
    }
}

/// Inverse by Gauss-Jordan elimination, with rows and columns scaled to a diagonal of 1, because
/// parameters differ by many powers of ten; `None` for a singular matrix.
fn inverse<const P: usize>(matrix: [[f64; P]; P]) -> Option<[[f64; P]; P]> {
    let mut scale = [0.0; P];
    for (i, row) in matrix.iter().enumerate() {
        scale[i] = row[i].sqrt().recip();
    }
    let (mut left, mut right) = (matrix, [[0.0; P]; P]);
    for i in 0..P {
        for j in 0..P {
            left[i][j] *= scale[i] * scale[j];
        }
        right[i][i] = 1.0;
    }
    for i in 0..P {
        let pivot = left[i][i];
        if !(pivot.is_finite() && pivot.abs() > 1e-14) {
            return None;
        }
        for j in 0..P {
            left[i][j] /= pivot;
            right[i][j] /= pivot;
        }
        let (row, unit) = (left[i], right[i]);
        for other in (0..P).filter(|other| *other != i) {
            let factor = left[other][i];
            for j in 0..P {
                left[other][j] -= factor * row[j];
                right[other][j] -= factor * unit[j];
            }
        }
    }
    for i in 0..P {
        for j in 0..P {
            right[i][j] *= scale[i] * scale[j];
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(x: f64, values: &[f64; 2]) -> (f64, [f64; 2]) {
        (values[0] + values[1] * x, [1.0, x])
    }

    /// scipy: `linregress([1, 2, 3, 4], [2.1, 3.9, 6.2, 7.8])`.
    #[test]
    fn a_line_is_a_regression() {
        let points = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8)];
        let found = fit(&points, line, [0.0, 0.0], [true; 2], 0).unwrap();
        let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-6, "{one} {other}");
        near(found.values[0], 0.150000000);
        near(found.values[1], 1.940000000);
        near(found.error_of(0), 0.247991935);
        near(found.error_of(1), 0.090553851);
        near(found.r_squared, 0.995661376);
        assert!(fit(&points[..2], line, [0.0, 0.0], [true; 2], 0).is_none());
        // All at one place: no slope.
        assert!(
            fit(
                &[(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)],
                line,
                [0.0, 0.0],
                [true; 2],
                0
            )
            .is_none()
        );
    }
}
