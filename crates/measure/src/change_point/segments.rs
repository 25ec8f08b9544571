//! Candidates for the beginnings of levels, the segmentation with the least squared error at a price
//! for each change, and how likely their steps are by chance.

use statrs::statistics::{Data, Median};

use crate::interval::{mean, squares};
use crate::long_run::first_correlation;
use crate::student;

/// Values that are further from the median of their surroundings, in standard deviations, are
/// pulled back.
const FAR: f64 = 6.0;
/// Number of values on each side that are a value's surroundings.
const AROUND: usize = 5;
/// Shorter series are not filtered.
const FILTERED: usize = 30;
/// The price of a candidate, in variances times the logarithm of the length.
const PRICE: f64 = 3.0;
/// Residuals are assumed to correlate by at most this much.
const MOST_CORRELATION: f64 = 0.97;
/// Median of the absolute values of the standard normal distribution.
const MEDIAN_OF_NORMAL: f64 = 0.674_49;

/// Standard deviation of single values, estimated from differences of neighbors, which changes of
/// level hardly affect. For values that mostly repeat, a tenth of the plain standard deviation.
pub(super) fn spread(values: &[f64]) -> f64 {
    let steps = values.windows(2).map(|two| (two[1] - two[0]).abs());
    let steps = Data::new(steps.collect::<Vec<_>>());
    let typical = steps.median() / MEDIAN_OF_NORMAL / std::f64::consts::SQRT_2;
    match typical > 0.0 {
        true => typical,
        false => 0.1 * squares(values).sqrt() / (values.len() as f64).sqrt(),
    }
}

/// Pulls outliers back towards the median of their neighbors.
pub(super) fn filtered(values: &[f64], spread: f64) -> Vec<f64> {
    if values.len() < FILTERED {
        return values.to_vec();
    }
    let far = FAR * spread;
    let around = |i: usize| {
        let (from, to) = (i.saturating_sub(AROUND), (i + AROUND + 1).min(values.len()));
        Data::new(values[from..to].to_vec()).median()
    };
    let kept = (0..values.len()).map(|i| {
        let level = around(i);
        values[i].clamp(level - far, level + far)
    });
    kept.collect()
}

/// The segmentation with the least sum of squares and prices: the first index of each level except
/// the first one.
pub(super) fn candidates(values: &[f64], spread: f64, shortest: usize) -> Vec<usize> {
    let price = PRICE * spread * spread * (values.len() as f64).ln();
    let sums = Sums::of(values);
    let mut best = vec![f64::INFINITY; values.len() + 1];
    let mut last = vec![0; values.len() + 1];
    best[0] = -price;
    for end in shortest..=values.len() {
        for start in 0..=end - shortest {
            let cost = best[start] + sums.squares(start, end) + price;
            if cost < best[end] {
                (best[end], last[end]) = (cost, start);
            }
        }
    }
    let mut cuts = Vec::new();
    let mut end = values.len();
    while last[end] > 0 {
        end = last[end];
        cuts.push(end);
    }
    cuts.reverse();
    cuts
}

/// Running sums, from which the squares around the mean of any stretch are computed.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(values: &[f64]) -> Self {
        // Relative to the mean, so that squares are not lost in large numbers.
        let middle = mean(values);
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in values {
            let off = value - middle;
            (sum, squares) = (sum + off, squares + off * off);
            sums.push((sum, squares));
        }
        Self(sums)
    }

    fn squares(&self, start: usize, end: usize) -> f64 {
        let ((sum, squares), (sum_before, squares_before)) = (self.0[end], self.0[start]);
        squares - squares_before - (sum - sum_before).powi(2) / (end - start) as f64
    }
}

/// The stretches between the cuts.
pub(super) fn levels<'a>(values: &'a [f64], cuts: &'a [usize]) -> impl Iterator<Item = &'a [f64]> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([values.len()]);
    starts.zip(ends).map(|(start, end)| &values[start..end])
}

/// The candidate that is most likely due to chance: its index among the cuts, and the probability
/// that chance makes a step of its size there.
pub(super) fn weakest(values: &[f64], cuts: &[usize]) -> Option<(usize, f64)> {
    let noise = Noise::of(values, cuts);
    let levels: Vec<&[f64]> = levels(values, cuts).collect();
    let steps = levels.windows(2).map(|two| noise.p_value(two[0], two[1]));
    steps
        .enumerate()
        .max_by(|one, other| one.1.total_cmp(&other.1))
}

/// How the values vary around their levels.
struct Noise {
    variance: f64,
    degrees: f64,
}

impl Noise {
    fn of(values: &[f64], cuts: &[usize]) -> Self {
        let (length, levels_count) = (values.len() as f64, cuts.len() as f64 + 1.0);
        let residuals: Vec<f64> = levels(values, cuts)
            .flat_map(|level| {
                let mean = mean(level);
                level.iter().map(move |value| value - mean)
            })
            .collect();
        let free = length - levels_count;
        let found = first_correlation(&residuals);
        // Each fitted level makes residuals look less correlated than they are.
        let unbiased = match length > 6.0 * levels_count {
            true => (length * found + levels_count) / (length - 3.0 * levels_count),
            false => found + 0.2,
        };
        let correlation = unbiased.clamp(0.0, MOST_CORRELATION);
        let shocks = residuals
            .windows(2)
            .map(|two| (two[1] - correlation * two[0]).powi(2));
        let of_shocks = shocks.sum::<f64>() / (free - 1.0).max(1.0);
        let doubt = 4.0 * (1.0 + correlation) / (length * (1.0 - correlation));
        Self {
            variance: of_shocks / (1.0 - correlation).powi(2),
            degrees: 2.0 / (2.0 / free + doubt),
        }
    }

    fn p_value(&self, before: &[f64], after: &[f64]) -> f64 {
        if self.degrees < 1.0 {
            return 1.0;
        }
        let lengths = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
        let t = (mean(after) - mean(before)) / (self.variance * lengths).sqrt();
        student::p_value(t, self.degrees)
    }
}
