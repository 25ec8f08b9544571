//! Student's t distribution, with degrees of freedom that need not be whole.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// With more degrees of freedom, it equals the normal distribution to five digits.
const MOST_DEGREES: f64 = 1e6;

/// The t below which a share (0 to 1) of the distribution lies; NaN without degrees of freedom.
pub(crate) fn quantile(share: f64, degrees: f64) -> f64 {
    distribution(degrees).map_or(f64::NAN, |t| t.inverse_cdf(share))
}

/// Probability (0 to 1) of a t at least this far from 0, on either side, by chance. 1 for NaN (0 /
/// 0), which shows nothing.
pub(crate) fn p_value(t: f64, degrees: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    distribution(degrees).map_or(f64::NAN, |known| 2.0 * known.sf(t.abs()))
}

fn distribution(degrees: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees.min(MOST_DEGREES)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `t.ppf(0.975, n)`, `2 * t.sf(x, n)`.
    #[test]
    fn it_is_the_tables() {
        for (degrees, table) in [
            (2.0, 4.302_652_7),
            (5.5, 2.501_858_6),
            (9.0, 2.262_157_2),
            (29.0, 2.045_229_6),
        ] {
            let found = quantile(0.975, degrees);
            assert!((found - table).abs() < 1e-5, "{degrees}: {found}");
        }
        assert!((p_value(2.5, 4.0) - 0.066_766_5).abs() < 1e-5);
        assert!((p_value(-2.5, 4.0) - 0.066_766_5).abs() < 1e-5);
        assert_eq!(
            (p_value(f64::INFINITY, 4.0), p_value(f64::NAN, 4.0)),
            (0.0, 1.0)
        );
        assert!(quantile(0.975, 0.0).is_nan());
    }
}
