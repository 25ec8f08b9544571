//! The exact confidence interval of a share (Clopper and Pearson, "The use of confidence or fiducial
//! limits illustrated in the case of the binomial", Biometrika 26, 1934).

use statrs::distribution::{Beta, ContinuousCDF};

use crate::interval::CONFIDENCE;
use crate::quantile::Range;

/// The 95 % confidence interval of a share (0 to 1) that was observed as `count` of `of` cases. If
/// `count` is 0, the upper bound takes the whole error probability: 14 % for 0 of 20.
pub fn interval(count: usize, of: usize) -> Range {
    let tail = match count {
        0 => 1.0 - CONFIDENCE,
        _ => (1.0 - CONFIDENCE) / 2.0,
    };
    let (yes, no) = (count as f64, of.saturating_sub(count) as f64);
    // Undefined where the bound is 0 or 1.
    let quantile = |yes, no, share| Beta::new(yes, no).ok().map(|beta| beta.inverse_cdf(share));
    Range {
        low: quantile(yes, no + 1.0, tail).unwrap_or(0.0),
        high: quantile(yes + 1.0, no, 1.0 - tail).unwrap_or(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::interval;

    /// R: `binom.test(3, 12)`, `binom.test(1, 10)`, `binom.test(10, 10)`; of none, 1 - 0.05^(1/n).
    #[test]
    fn it_is_the_table_of_clopper_and_pearson() {
        for (count, of, low, high) in [
            (3, 12, 0.054_861, 0.571_858),
            (1, 10, 0.002_529, 0.445_016),
            (10, 10, 0.691_503, 1.0),
            (0, 20, 0.0, 0.139_108),
            (0, 12, 0.0, 0.220_922),
            (0, 1, 0.0, 0.95),
            (0, 0, 0.0, 1.0),
        ] {
            let found = interval(count, of);
            let near = |one: f64, other: f64| (one - other).abs() < 2e-6;
            assert!(
                near(found.low, low) && near(found.high, high),
                "{count} of {of}: {found:?}"
            );
        }
    }
}
