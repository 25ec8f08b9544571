//! The long-run variance of a series: how much the sum of many seconds varies.
//!
//! Seconds of a run depend on each other, so their mean varies by the *long-run* variance (the
//! spectrum at frequency zero), not by that of single seconds. It is estimated with equally
//! weighted cosines (Müller, "A theory of robust long-run variance estimation", Journal of
//! Econometrics 141, 2007; Lazarus, Lewis, Stock and Watson, "HAR inference: recommendations for
//! practice", Journal of Business and Economic Statistics 36, 2018): the projection onto each of the
//! first few cosines is one independent observation of it, as the mean of a batch is, but wastes
//! less of a short run.
//!
//! There are 0.4 n^(2/3) cosines, as in the second paper, or fewer if the series wanders slowly: its
//! spectrum falls with frequency, so that the higher ones underestimate the variance. The shortfall
//! is made good by a first-order autoregression, whose correlation is corrected for its bias
//! (Marriott and Pope, Biometrika 41, 1954); the uncertainty of that correction costs degrees of
//! freedom.

use std::f64::consts::PI;

/// Number of cosines for the shortest series, where the paper's rule gives hardly any.
const FEWEST_OF_SHORT: f64 = 6.0;
/// Minimum number of cosines.
const FEWEST: usize = 4;
/// More cosines do not improve an interval.
const MOST: f64 = 30.0;
/// Over the cosines that are used, the spectrum may fall to this share of its value at zero.
const FLAT: f64 = 0.8;
/// Below this share, the correction would be most of the estimate.
const STEEP: f64 = 0.3;
/// Minimum degrees of freedom for a useful estimate.
const LEAST_DEGREES: f64 = 2.5;
/// The correlation is assumed to be higher than found by this many standard errors: too narrow an
/// interval is worse than one that is too wide.
const CAUTION: f64 = 0.5;
/// Maximum correlation that is assumed.
const MOST_CORRELATION: f64 = 0.985;

/// An estimate of a long-run variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LongRun {
    /// Variance of one second: the sum of n seconds has n times this variance.
    pub(crate) variance: f64,
    /// Degrees of freedom, for Student's t.
    pub(crate) degrees: f64,
}

/// `series` is in order of time and has mean 0. `None` if it wanders too slowly for its length.
pub(crate) fn long_run(series: &[f64]) -> Option<LongRun> {
    let correlation = Correlation::of(series, 1.0);
    let flatness = |count| mean_spectrum(correlation.high, count, series.len());
    let most = cosine_count(series.len());
    let count = (FEWEST..=most)
        .take_while(|count| *count == FEWEST || flatness(*count) >= FLAT)
        .last()?;
    let found = coefficients(series, count);
    let power = found.iter().map(|c| c * c).sum::<f64>() / count as f64;
    let slope = log_slope(
        |correlation| mean_spectrum(correlation, count, series.len()),
        correlation.high,
    );
    let degrees = 2.0 / (2.0 / count as f64 + (slope * correlation.error).powi(2));
    (flatness(count) >= STEEP && degrees >= LEAST_DEGREES).then_some(LongRun {
        variance: power / flatness(count),
        degrees,
    })
}

/// How far a series moves in one direction, relative to its long-run variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    /// Change from the first to the last second, along a straight line.
    pub(crate) rise: f64,
    /// Student's t of the rise.
    pub(crate) t: f64,
    /// Degrees of freedom of `t`.
    pub(crate) degrees: f64,
}

/// The trend of a series with mean 0. Nearly all (98.6 %) of a straight line is in the first
/// cosine, and the other cosines show how much one varies without a line. `None` for fewer than 10
/// seconds.
pub(crate) fn trend(series: &[f64]) -> Option<Trend> {
    let length = series.len() as f64;
    if series.len() < 10 {
        return None;
    }
    let count = cosine_count(series.len());
    let all = coefficients(series, count);
    let (first, others) = all.split_first()?;
    let wave = (2.0 / length).sqrt() * first;
    let without: Vec<f64> = (0..series.len())
        .map(|i| series[i] - wave * (PI * (i as f64 + 0.5) / length).cos())
        .collect();
    let correlation = Correlation::of(&without, 2.0);
    let steeper = |correlation: f64| {
        let of = |number: usize| spectrum(correlation, number, series.len());
        let mean = (2..=count).map(of).sum::<f64>() / (count - 1) as f64;
        of(1) / mean
    };
    let slope = log_slope(steeper, correlation.high);
    let spread = others.iter().map(|c| c * c).sum::<f64>() / others.len() as f64;
    let degrees = 2.0 / (2.0 / others.len() as f64 + (slope * correlation.error).powi(2));
    // A line that rises by 1 has the coefficient -2 sqrt(2n) / pi².
    let rise = -first * PI * PI / (2.0 * (2.0 * length).sqrt());
    Some(Trend {
        rise,
        t: rise.signum() * first.abs() / (spread * steeper(correlation.high)).sqrt(),
        degrees,
    })
}

/// Number of cosines for a series of this length.
fn cosine_count(length: usize) -> usize {
    let rule = 0.4 * (length as f64).powf(2.0 / 3.0);
    (rule.clamp(FEWEST_OF_SHORT, MOST) as usize).min(length / 2)
}

/// Projections onto the cosines 1 to `count`. The variance of each is the spectrum at its
/// frequency.
fn coefficients(series: &[f64], count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    for (i, value) in series.iter().enumerate() {
        // cos(jx) from the previous two: cos(jx) = 2 cos(x) cos((j-1)x) - cos((j-2)x).
        let cosine = (PI * (i as f64 + 0.5) / series.len() as f64).cos();
        let (mut before, mut now) = (1.0, cosine);
        for sum in &mut sums {
            *sum += value * now;
            (before, now) = (now, 2.0 * cosine * now - before);
        }
    }
    let scale = (2.0 / series.len() as f64).sqrt();
    sums.into_iter().map(|sum| sum * scale).collect()
}

/// The correlation of each second with the previous one.
struct Correlation {
    /// A cautiously high estimate (0 to below 1).
    high: f64,
    /// Standard error.
    error: f64,
}

impl Correlation {
    /// `fitted` is how many numbers have been fitted to the series: 1 for its mean, 2 for a line.
    fn of(series: &[f64], fitted: f64) -> Self {
        let length = series.len() as f64;
        let found = first_correlation(series);
        let unbiased = (length * found + fitted) / (length - fitted - 2.0);
        let likely = unbiased.clamp(0.0, MOST_CORRELATION);
        let error = ((1.0 - likely * likely).max(0.02) / length).sqrt();
        Self {
            high: (unbiased + CAUTION * error).clamp(0.0, MOST_CORRELATION),
            error,
        }
    }
}

/// Correlation of each value with the previous one (-1 to 1), biased; 0 for a series that does not
/// vary.
pub(crate) fn first_correlation(series: &[f64]) -> f64 {
    let squares: f64 = series.iter().map(|value| value * value).sum();
    let products: f64 = series.windows(2).map(|two| two[0] * two[1]).sum();
    match squares > 0.0 {
        true => products / squares,
        false => 0.0,
    }
}

/// Spectrum of a first-order autoregression at a cosine, as a share of its value at zero.
fn spectrum(correlation: f64, number: usize, length: usize) -> f64 {
    let cosine = (PI * number as f64 / length as f64).cos();
    (1.0 - correlation).powi(2) / (1.0 + correlation * correlation - 2.0 * correlation * cosine)
}

/// Mean of [`spectrum`] over the first `count` cosines.
fn mean_spectrum(correlation: f64, count: usize, length: usize) -> f64 {
    let of = |number| spectrum(correlation, number, length);
    (1..=count).map(of).sum::<f64>() / count as f64
}

/// Derivative of the logarithm of `of` with respect to the correlation.
fn log_slope(of: impl Fn(f64) -> f64, correlation: f64) -> f64 {
    const STEP: f64 = 0.005;
    let (low, high) = ((correlation - STEP).max(0.0), correlation + STEP);
    (of(high) / of(low)).ln() / (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series that is easy to reproduce: 0.8 times the last value plus a number that jumps about.
    fn wandering(length: usize) -> Vec<f64> {
        let (mut last, mut series) = (0.0, Vec::new());
        for i in 0..length {
            let jump = ((31 * i * i + 7 * i + 13) % 101) as f64 / 101.0 - 0.5;
            last = 0.8 * last + jump;
            series.push(last);
        }
        let mean = series.iter().sum::<f64>() / length as f64;
        series.iter().map(|value| value - mean).collect()
    }

    /// Expected values: the same formulas in numpy 2, with whole cosine matrices and no recurrence.
    #[test]
    fn it_is_what_another_program_computes() {
        for (length, variance, degrees) in [
            (24, 0.059_699_396_63, 5.824_283_37),
            (120, 9.798_624_445, 3.310_926_666),
            (600, 8.436_844_114, 17.368_401_22),
        ] {
            let found = long_run(&wandering(length)).unwrap();
            assert!((found.variance / variance - 1.0).abs() < 1e-6, "{found:?}");
            assert!((found.degrees / degrees - 1.0).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn a_trend_is_the_line_that_is_there() {
        let line: Vec<f64> = (0..120)
            .map(|i| 0.1 * (f64::from(i) - 59.5) + if i % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        let found = trend(&line).unwrap();
        assert!((found.rise / 12.0 - 1.0).abs() < 0.01, "{found:?}");
        assert!(found.t > 20.0);
        assert_eq!(trend(&line[..9]), None);
    }

    #[test]
    fn what_wanders_as_slowly_as_it_is_long_has_none() {
        let line: Vec<f64> = (0..60).map(|i| f64::from(i) - 29.5).collect();
        assert_eq!(long_run(&line), None);
    }
}
