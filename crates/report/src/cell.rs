//! One number of a table or figure: of a trial, or the mean over its repeats.

use measure::compare::Sense;
use measure::interval::Estimate;
use measure::point_estimate::PointEstimate;
use measure::quantile::Range;
use measure::recovery::Observation;
use measure::summary::TrialSummary;
use serde::Serialize;

use crate::metric_comparison;
use crate::number;

/// What people have to know of a column that may have ranges.
pub(crate) const RANGES: &str = "In parentheses: 95 % confidence interval of a single trial's \
                                 percentile.";

/// The same of a table with columns of recovery or of the ledger.
pub(crate) const SPREADS: &str = "Of recovery, the median, with the minimum and maximum in \
                                  parentheses; of the ledger's anomalies, the maximum; of a \
                                  single trial's percentile, its 95 % confidence interval.";

/// A number, how sure it is, and how many trials it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Cell {
    /// `None` when no trial measured it.
    #[serde(flatten)]
    pub(crate) estimate: Option<Estimate>,
    /// Trials that measured it.
    pub(crate) n: usize,
    /// Where the percentile of a single trial lies, which is not symmetric; minimum and maximum of
    /// recovery times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) range: Option<Range>,
    /// Whether the number, and the end of its range, are only known to be longer.
    #[serde(skip)]
    censored: [bool; 2],
}

impl Cell {
    /// Of the trials of one point. One trial has its own interval, from the seconds
    /// within it; several have Student's, from the differences between them.
    pub(crate) fn of(trials: &[&TrialSummary], column: &str) -> Self {
        let found = PointEstimate::of(trials, column);
        Self {
            estimate: found.mean,
            n: found.trials,
            range: found.range,
            censored: [found.is_censored, found.is_max_censored],
        }
    }

    /// By how many per cent the trials of a point differ from those of the base; nothing for the
    /// base itself, and where there is no ratio.
    pub(crate) fn change(base: &[&TrialSummary], new: &[&TrialSummary], column: &str) -> Self {
        let number = (column, Sense::HigherIsBetter);
        let found = match base == new {
            true => None,
            false => metric_comparison::against(base, new, number, true).ok(),
        };
        let change = found.map(|found| found.change_pct);
        Self {
            estimate: change.map(|change| Estimate::exact(change.value)),
            n: Self::of(new, column).n,
            range: change.and_then(|change| change.interval),
            censored: [false; 2],
        }
    }

    /// As people read it: `1,010 ± 12`, or `17.22 (16.90–17.80)` with a range.
    pub(crate) fn shown(&self) -> String {
        let seen = |is_censored: bool| match is_censored {
            true => Observation::Longer,
            false => Observation::Exactly,
        };
        let [value_of, high_of] = self.censored.map(seen);
        match (self.value(), self.range) {
            (Some(value), None) if self.censored[0] => number::observation(value_of(value)),
            (Some(value), Some(range)) if self.censored[1] => number::observed_within(
                value_of(value),
                Observation::Exactly(range.low),
                high_of(range.high),
            ),
            (Some(value), Some(range)) => number::within(value, Some(range)),
            _ => number::estimate(self.estimate),
        }
    }

    /// The number without its error.
    pub(crate) fn value(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate.value)
    }

    /// Half of its interval.
    pub(crate) fn half_width(&self) -> Option<f64> {
        self.estimate.and_then(|estimate| estimate.half_width)
    }
}
