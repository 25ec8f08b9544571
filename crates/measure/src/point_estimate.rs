//! The value of a column at a point, with its uncertainty.

use crate::column::{self, OverRepeats};
use crate::interval::{Estimate, of_repeats};
use crate::quantile::{Range, is_known};
use crate::recovery::Distribution;
use crate::summary::{TrialSummary, counted};

/// The value of a column at a point.
#[derive(Debug)]
pub struct PointEstimate {
    /// The mean over the trials whose numbers count, with Student's interval; of one trial
    /// its own number, with the interval of its seconds; or what [`OverRepeats`] says.
    pub mean: Option<Estimate>,
    /// The confidence interval of a percentile, if there is only one trial; the minimum and maximum
    /// of a [`OverRepeats::Median`].
    pub range: Option<Range>,
    /// Trials that have the number.
    pub trials: usize,
    /// Whether it is a percentile that in some trial only a few transactions exceed.
    pub few_slower: bool,
}

/// What stands for these repeats, and their range.
fn over(repeats: OverRepeats, values: &[f64]) -> (Option<Estimate>, Option<Range>) {
    let all = Distribution::of(values.iter().copied().map(Some));
    let exact = |of: fn(&Distribution) -> f64| all.as_ref().map(of).map(Estimate::exact);
    let range = all.as_ref().map(|all| Range {
        low: all.min(),
        high: all.max(),
    });
    match repeats {
        OverRepeats::Mean => (of_repeats(values), None),
        OverRepeats::Median => (exact(Distribution::median), range),
        OverRepeats::Max => (exact(Distribution::max), None),
    }
}

impl PointEstimate {
    /// Computes it from the trials of one point, except failed ones.
    #[must_use]
    pub fn of(trials: &[&TrialSummary], column: &str) -> Self {
        let having = counted(trials).into_iter().filter_map(|trial| {
            let estimate = column::value(trial, column)?;
            estimate.value.is_finite().then_some((trial, estimate))
        });
        let having: Vec<(&TrialSummary, Estimate)> = having.collect();
        let (mean, range) = match having.as_slice() {
            [(trial, one)] => (Some(*one), column::range(trial, column)),
            several => {
                let values: Vec<f64> = several.iter().map(|(_, one)| one.value).collect();
                over(column::over_repeats(column), &values)
            }
        };
        let few_slower = column::percentile(column).is_some_and(|percentile| {
            let mut trials = having.iter().map(|(trial, _)| trial);
            trials.any(|trial| !is_known(trial.transactions.count, percentile))
        });
        Self {
            mean,
            range,
            trials: having.len(),
            few_slower,
        }
    }

    /// How far the interval reaches from the value towards another one.
    pub(crate) fn reach(&self, towards: f64) -> Option<f64> {
        let mean = self.mean?;
        let side = |range: Range| match towards < mean.value {
            true => mean.value - range.low,
            false => range.high - mean.value,
        };
        mean.half_width.or(self.range.map(side))
    }

    /// The longer side of the interval.
    pub(crate) fn longer_side(&self) -> Option<f64> {
        let down = self.reach(f64::NEG_INFINITY)?;
        Some(down.max(self.reach(f64::INFINITY)?))
    }
}
