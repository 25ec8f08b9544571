//! Decides which rate to try next. Pure: its caller reports the outcome of each step.
//!
//! Starting at a fraction of the capacity, the rate is multiplied by a factor until a rate that
//! holds the limit and one that fails are known. A bisection on the logarithm of the rate then
//! narrows the interval. Finally, longer steps confirm both ends, because a single stall of the host
//! can fail a short step. A step whose value is close to the limit is repeated, and the mean counts.

use std::time::Duration;

use measure::find_max::{LONG, SearchEnd, SearchStep, StepVerdict};

/// The first rate, as a fraction of the capacity.
const START: f64 = 0.7;
/// The factor to the next rate while no rate has failed.
const UP: f64 = 1.2;
/// The factor to the next rate while no rate has held the limit.
const DOWN: f64 = 0.5;
/// The lowest rate that is tried, as a fraction of the capacity.
const LOWEST: f64 = 1.0 / 128.0;
/// The search ends when the lowest rate that fails is at most this multiple of the highest rate that
/// holds the limit.
const RESOLUTION: f64 = 1.05;
/// A value within this fraction of the limit needs a second step.
const DOUBTFUL: f64 = 0.1;
const MAX_SHORT: usize = 13;
/// Maximum number of longer steps, which confirm a rate.
const MAX_LONG: usize = 4;

/// Maximum number of trials of a search, including the closed loop.
pub(crate) const MAX_TRIALS: usize = 1 + MAX_SHORT + MAX_LONG;

/// The longest measurement time of a search, in multiples of a short step.
const MAX_LOAD_STEPS: u32 = 1 + MAX_SHORT as u32 + LONG * MAX_LONG as u32;

/// Maximum time under load of a search.
pub(crate) fn max_load_time(warmup: Duration, step: Duration) -> Duration {
    warmup
        .saturating_mul(MAX_TRIALS as u32)
        .saturating_add(step.saturating_mul(MAX_LOAD_STEPS))
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    Try(f64),
    Confirm(f64),
    End(SearchEnd),
}

/// A search as far as it has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    /// Transactions per second of the closed loop.
    pub(crate) capacity: f64,
    pub(crate) limit_ms: f64,
    pub(crate) steps: &'a [SearchStep],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RateVerdict {
    Holds,
    Fails,
    Doubtful,
}

impl Search<'_> {
    /// The highest rate that held the limit.
    pub(crate) fn held(&self) -> Option<f64> {
        let failed = self.failed().unwrap_or(f64::INFINITY);
        let rates = self.rates_that(RateVerdict::Holds);
        rates.filter(|rate| *rate < failed).reduce(f64::max)
    }

    /// The lowest rate that exceeded the limit.
    pub(crate) fn failed(&self) -> Option<f64> {
        self.rates_that(RateVerdict::Fails).reduce(f64::min)
    }

    pub(crate) fn next(&self) -> Next {
        let count = |long| self.steps.iter().filter(|step| step.long == long).count();
        let (held, failed) = (self.held(), self.failed());
        let may_try = count(false) < MAX_SHORT;
        if let Some(last) = self.steps.last()
            && self.verdict(last.rate_per_s) == RateVerdict::Doubtful
            && may_try
        {
            return Next::Try(last.rate_per_s);
        }
        let next = match (held, failed) {
            (None, None) => self.capacity * START,
            (Some(held), None) => held * UP,
            (None, Some(failed)) if failed <= self.capacity * LOWEST => {
                return Next::End(SearchEnd::NoRate {
                    failed_per_s: failed,
                });
            }
            (None, Some(failed)) => failed * DOWN,
            (Some(held), Some(failed)) if failed <= held * RESOLUTION => {
                return self.confirm(held, failed, count(true) < MAX_LONG);
            }
            (Some(held), Some(failed)) => (held * failed).sqrt(),
        };
        match may_try {
            true => Next::Try(rounded(next)),
            false => Next::End(self.out_of_trials()),
        }
    }

    fn confirm(&self, held: f64, failed: f64, may_confirm: bool) -> Next {
        let is_confirmed = |rate: &f64| self.at(*rate).any(|step| step.long);
        match [held, failed].into_iter().find(|rate| !is_confirmed(rate)) {
            None => Next::End(SearchEnd::Found {
                held_per_s: held,
                failed_per_s: failed,
            }),
            Some(rate) if may_confirm => Next::Confirm(rate),
            Some(_) => Next::End(self.out_of_trials()),
        }
    }

    fn out_of_trials(&self) -> SearchEnd {
        SearchEnd::OutOfTrials {
            held_per_s: self.held(),
            failed_per_s: self.failed(),
        }
    }

    fn at(&self, rate: f64) -> impl Iterator<Item = &SearchStep> {
        let steps = self.steps.iter();
        steps.filter(move |step| step.rate_per_s.total_cmp(&rate).is_eq())
    }

    fn rates_that(&self, verdict: RateVerdict) -> impl Iterator<Item = f64> {
        let rates = self.steps.iter().map(|step| step.rate_per_s);
        rates.filter(move |rate| self.verdict(*rate) == verdict)
    }

    /// A longer step overrides all short ones. A step without a meaningful value fails the rate.
    fn verdict(&self, rate: f64) -> RateVerdict {
        let long = self.at(rate).filter(|step| step.long).last();
        let counting: Vec<&SearchStep> = match long {
            Some(long) => vec![long],
            None => self.at(rate).collect(),
        };
        let has_value =
            |verdict| !matches!(verdict, StepVerdict::Overloaded | StepVerdict::Nothing);
        let values = counting.iter();
        let values = values.map(|step| step.value_ms.filter(|_| has_value(step.verdict)));
        let Some(values) = values.collect::<Option<Vec<f64>>>() else {
            return RateVerdict::Fails;
        };
        let is_unsteady = |step: &&&SearchStep| step.verdict == StepVerdict::Unsteady;
        let unsteady = counting.iter().filter(is_unsteady).count();
        let mean_ms = values.iter().sum::<f64>() / values.len() as f64;
        let near = (mean_ms / self.limit_ms - 1.0).abs() <= DOUBTFUL;
        let once = values.len() == 1 && long.is_none();
        match mean_ms < self.limit_ms {
            _ if once && (near || unsteady > 0) => RateVerdict::Doubtful,
            true if unsteady == values.len() => RateVerdict::Fails,
            true => RateVerdict::Holds,
            false => RateVerdict::Fails,
        }
    }
}

fn rounded(rate: f64) -> f64 {
    let factor = 10_f64.powi(3 - rate.log10().floor() as i32);
    let rounded = (rate * factor).round() / factor;
    match rounded.is_finite() && rounded > 0.0 {
        true => rounded,
        false => rate,
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
