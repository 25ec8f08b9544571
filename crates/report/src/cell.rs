//! One number of a table or figure: of a trial, or the mean over its repeats.

use measure::compare::{Change, Sense};
use measure::interval::{Estimate, FEWEST_RUNS};
use measure::point_estimate::PointEstimate;
use measure::quantile::Range;
use measure::recovery::Observation;
use measure::summary::TrialSummary;
use serde::Serialize;

use crate::{metric_comparison, number};

pub(crate) const PERCENTILES: &str =
    "In parentheses: 95 % confidence interval of a single trial's percentile.";

pub(crate) const FEW: &str = "In parentheses: minimum and maximum of two or three trials, which are \
                              too few for a confidence interval.";

pub(crate) const SPREADS: &str = "Of recovery, the median, with the minimum and maximum in \
                                  parentheses; of the ledger's anomalies, the maximum.";

/// The columns that have an interval within a single trial.
pub(crate) const INTERVALS: [&str; 4] = [
    "tps",
    "statements_per_s",
    "response_ms.mean",
    "service_ms.mean",
];

/// Why one of them may lack it.
pub(crate) fn no_interval<'a>(mut trials: impl Iterator<Item = &'a TrialSummary>) -> &'static str {
    match trials.any(|trial| trial.setup.planned.turns().is_some()) {
        true => "Without ±: variants took turns, so a trial has no interval from its own seconds.",
        false => "Without ±: too short (10 s or less) or too unsteady for a confidence interval.",
    }
}

/// A number, how sure it is, and how many trials it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Cell {
    #[serde(flatten)]
    pub(crate) estimate: Option<Estimate>,
    pub(crate) n: usize,
    /// Where the percentile of a single trial lies, which is not symmetric; minimum and maximum of
    /// recovery times, and of trials that are too few for an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) range: Option<Range>,
    /// Whether the number, and the end of its range, are only known to be longer.
    #[serde(skip)]
    censored: [bool; 2],
}

fn is_too_few(trials: usize) -> bool {
    (2..FEWEST_RUNS).contains(&trials)
}

impl Cell {
    /// Of the trials of one point. One trial has its own interval, from the seconds
    /// within it; several have Student's, from the differences between them.
    pub(crate) fn of(trials: &[&TrialSummary], column: &str) -> Self {
        let found = PointEstimate::of(trials, column);
        let without = |mean: Estimate| match is_too_few(found.trials) {
            true => Estimate::exact(mean.value),
            false => mean,
        };
        Self {
            estimate: found.mean.map(without),
            n: found.trials,
            range: found.range,
            censored: [found.is_censored, found.is_max_censored],
        }
    }

    /// Whether there are several trials, but too few for an interval of use.
    pub(crate) fn has_few_trials(&self) -> bool {
        is_too_few(self.n)
    }

    /// By how many per cent the trials of a point differ from those of the base; nothing for the
    /// base itself, and where there is no ratio.
    /// The interval is one of so many `changes`, which all hold at once in 95 % of the cases.
    pub(crate) fn change(
        base: &[&TrialSummary],
        new: &[&TrialSummary],
        column: &str,
        changes: usize,
    ) -> Self {
        let number = (column, Sense::HigherIsBetter);
        let found = metric_comparison::against(base, new, number, true);
        let found = found.ok().filter(|_| base != new);
        let change = found.map(|found| found.change_among(changes));
        let n = Self::of(new, column).n;
        let interval = change.and_then(|change| change.interval);
        Self {
            estimate: change.map(|change| Estimate::exact(change.value)),
            n,
            range: interval.filter(|_| !is_too_few(n)),
            censored: [false; 2],
        }
    }

    pub(crate) fn scaled(&self, scale: f64) -> Self {
        Self {
            estimate: self.estimate.map(|estimate| Estimate {
                value: estimate.value / scale,
                half_width: estimate.half_width.map(|half| half / scale),
            }),
            range: self.range.map(|range| Range {
                low: range.low / scale,
                high: range.high / scale,
            }),
            ..*self
        }
    }

    /// What it shows if it is of a [`Self::change`].
    pub(crate) fn as_change(&self) -> Option<Change> {
        let (value, interval) = (self.value()?, self.range);
        Some(Change { value, interval })
    }

    /// As people read it: `1,010 ± 12`, or `17.22 (16.90–17.80)` with a range.
    pub(crate) fn shown(&self) -> String {
        self.shown_to(usize::MAX)
    }

    /// The same with at most so many decimals of a mean.
    pub(crate) fn shown_to(&self, most: usize) -> String {
        let [value_of, high_of] = self.censored.map(|is_censored| match is_censored {
            true => Observation::Longer,
            false => Observation::Exactly,
        });
        match (self.value(), self.range) {
            (Some(value), None) if self.censored[0] => number::observation(value_of(value)),
            (Some(value), Some(Range { low, high })) => {
                number::observed_within(value_of(value), Observation::Exactly(low), high_of(high))
            }
            _ => number::estimate_to(self.estimate, most),
        }
    }

    pub(crate) fn value(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate.value)
    }

    pub(crate) fn half_width(&self) -> Option<f64> {
        self.estimate.and_then(|estimate| estimate.half_width)
    }
}
