//! How likely a step is by chance.

use super::segments::levels;
use crate::interval::mean;
use crate::long_run::first_correlation;
use crate::student;

/// Residuals are assumed to correlate by at most this much.
const MOST_CORRELATION: f64 = 0.97;

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
