//! Candidates for the beginnings of levels: the segmentation with the least squared error at a
//! price for each change.

use crate::interval::mean;

/// Values that are further from the median of their surroundings, in standard deviations, are
/// pulled back.
const FAR: f64 = 6.0;
/// Number of values on each side that are a value's surroundings.
const AROUND: usize = 5;
/// Shorter series are not filtered.
const FILTERED: usize = 30;
/// The price of a candidate, in variances times the logarithm of the length.
const PRICE: f64 = 3.0;
/// Median of the absolute values of the standard normal distribution.
const MEDIAN_OF_NORMAL: f64 = 0.674_49;

/// Standard deviation of single values, estimated from differences of neighbors, which changes of
/// level hardly affect. For values that mostly repeat, a tenth of the plain standard deviation.
pub(super) fn spread(values: &[f64]) -> f64 {
    let steps = values.windows(2).map(|two| (two[1] - two[0]).abs());
    let typical = median(steps.collect()) / MEDIAN_OF_NORMAL / std::f64::consts::SQRT_2;
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
        median(values[from..to].to_vec())
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

pub(super) fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}
