//! The value of a column at a point, with its uncertainty.

use crate::column;
use crate::interval::{Estimate, of_repeats};
use crate::quantile::{Range, is_known};
use crate::recovery::Distribution;
use crate::summary::{TrialSummary, counted};

/// The value of a column at a point.
#[derive(Debug)]
pub struct PointEstimate {
    /// The mean over the trials whose numbers count, with Student's interval; of one trial
    /// its own number, with the interval of its seconds; of a skewed column the median.
    pub mean: Option<Estimate>,
    /// The confidence interval of a percentile, if there is only one trial; the minimum and maximum
    /// of a skewed column, if there are several.
    pub range: Option<Range>,
    /// Trials that have the number.
    pub trials: usize,
    /// Whether it is a percentile that in some trial only a few transactions exceed.
    pub few_slower: bool,
}

/// Median, minimum, and maximum.
fn skewed(values: impl Iterator<Item = f64>) -> (Option<Estimate>, Option<Range>) {
    let found = Distribution::of(values.map(Some));
    let range = |all: &Distribution| Range {
        low: all.min(),
        high: all.max(),
    };
    (
        found.as_ref().map(|all| Estimate::exact(all.median())),
        found.as_ref().map(range),
    )
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
                let values = several.iter().map(|(_, one)| one.value);
                match column::is_skewed(column) {
                    true => skewed(values),
                    false => (of_repeats(&values.collect::<Vec<_>>()), None),
                }
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
