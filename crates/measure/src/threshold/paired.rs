//! Compares a number with a baseline that ran in the same blocks, in pairs.
//!
//! What slows the host down for a while slows both trials of a block, so it cancels in their ratio
//! (Box, Hunter and Hunter, *Statistics for Experimenters*: "block what you can"). The mean of the
//! logarithms of the ratios has Student's interval over the pairs.

use serde::{Deserialize, Serialize};

use crate::column;
use crate::interval::of_repeats;
use crate::summary::{TrialSummary, counted};

/// A number as a multiple of its limit, over pairs of trials of the same block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Number of pairs, at least 2.
    pub pairs: usize,
    /// Geometric mean of number / limit: 1 if the number equals its limit.
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

impl Paired {
    /// Whether the interval includes 1, so that the number may be on either side of its limit.
    pub(super) fn is_on_both_sides(&self) -> bool {
        self.low < 1.0 && self.high > 1.0
    }
}

/// Pairs trials by repeat number, and compares them with `factor` times the baseline's value.
/// `None` with fewer than two pairs, or if a number is not positive and so has no logarithm.
pub(super) fn paired(
    here: &[&TrialSummary],
    base: &[&TrialSummary],
    column: &str,
    factor: f64,
) -> Option<Paired> {
    let base = by_repeat(base, column);
    let partner = |repeat| base.iter().find(|(other, _)| *other == repeat);
    let here = by_repeat(here, column).into_iter();
    let pairs = here.filter_map(|(repeat, value)| Some((value, factor * partner(repeat)?.1)));
    let logs: Option<Vec<f64>> = pairs
        .map(|(value, limit)| (value > 0.0 && limit > 0.0).then(|| (value / limit).ln()))
        .collect();
    let logs = logs?;
    let mean = of_repeats(&logs)?;
    let half = mean.half_width?;
    Some(Paired {
        pairs: logs.len(),
        ratio: mean.value.exp(),
        low: (mean.value - half).exp(),
        high: (mean.value + half).exp(),
    })
}

fn by_repeat(trials: &[&TrialSummary], column: &str) -> Vec<(u32, f64)> {
    let values = counted(trials).into_iter().filter_map(|trial| {
        let value = column::value(trial, column)?.value;
        value
            .is_finite()
            .then_some((trial.setup.planned.repeat, value))
    });
    values.collect()
}
