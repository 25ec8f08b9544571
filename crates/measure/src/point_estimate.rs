//! The value of a column at a point, with its uncertainty.

use crate::column::{self, OverRepeats};
use crate::interval::{Estimate, FEWEST_RUNS, of_repeats};
use crate::quantile::{Range, is_known};
use crate::recovery::{Distribution, Observation};
use crate::summary::{TrialSummary, counted};

#[derive(Debug, Default)]
pub struct PointEstimate {
    /// The mean over the trials that count, with Student's interval; for a single trial, its own
    /// number with the interval of its seconds; or the statistic that [`OverRepeats`] selects.
    pub mean: Option<Estimate>,
    /// The confidence interval of a percentile, if there is a single trial; the minimum and maximum
    /// of fewer than [`FEWEST_RUNS`] trials and of an [`OverRepeats::Median`].
    pub range: Option<Range>,
    /// Whether the true number is larger: the event had not happened when the observation ended.
    pub is_censored: bool,
    pub is_max_censored: bool,
    pub trials: usize,
    /// Whether this is a percentile that only a few transactions exceed in some trial.
    pub few_slower: bool,
}

impl PointEstimate {
    /// Leaves failed trials out, but counts the anomalies that they found.
    pub fn of(trials: &[&TrialSummary], column: &str) -> Self {
        let counted = match column::over_repeats(column) {
            OverRepeats::Max => trials.to_vec(),
            OverRepeats::Mean | OverRepeats::Median => counted(trials),
        };
        let having = counted.into_iter().filter_map(|trial| {
            let seen = column::observation(trial, column)?;
            seen.bound().is_finite().then_some((trial, seen))
        });
        let having: Vec<(&TrialSummary, Observation)> = having.collect();
        let few_slower = column::percentile(column).is_some_and(|percentile| {
            let mut trials = having.iter().map(|(trial, _)| trial);
            trials.any(|trial| !is_known(trial.transactions.count, percentile))
        });
        let over = match having.as_slice() {
            [(trial, one)] => Self {
                mean: column::value(trial, column).or(Some(Estimate::exact(one.bound()))),
                range: column::range(trial, column),
                is_censored: one.is_censored(),
                ..Self::default()
            },
            several => Self::over(column, several.iter().map(|(_, seen)| *seen)),
        };
        Self {
            trials: having.len(),
            few_slower,
            ..over
        }
    }

    fn over(column: &str, seen: impl Iterator<Item = Observation> + Clone) -> Self {
        let Some(all) = Distribution::of(seen.clone()) else {
            return Self::default();
        };
        let exact = |one: Observation| Some(Estimate::exact(one.bound()));
        let range = Some(Range {
            low: all.min().bound(),
            high: all.max().bound(),
        });
        match column::over_repeats(column) {
            OverRepeats::Mean => {
                let values: Vec<f64> = seen.map(Observation::bound).collect();
                Self {
                    mean: of_repeats(&values),
                    range: range.filter(|_| values.len() < FEWEST_RUNS),
                    ..Self::default()
                }
            }
            OverRepeats::Median => Self {
                mean: exact(all.median()),
                range,
                is_censored: all.median().is_censored(),
                is_max_censored: all.max().is_censored(),
                ..Self::default()
            },
            OverRepeats::Max => Self {
                mean: exact(all.max()),
                ..Self::default()
            },
        }
    }

    /// The length of the interval from the value towards `towards`.
    pub(crate) fn reach(&self, towards: f64) -> Option<f64> {
        let mean = self.mean?;
        let side = |range: Range| match towards < mean.value {
            true => mean.value - range.low,
            false => range.high - mean.value,
        };
        mean.half_width.or(self.range.map(side))
    }

    pub(crate) fn longer_side(&self) -> Option<f64> {
        let down = self.reach(f64::NEG_INFINITY)?;
        Some(down.max(self.reach(f64::INFINITY)?))
    }
}
