//! Which rate to try next. Pure: it is told what came of each step.
//!
//! From a part of the capacity the rate goes up or down by factors until one that holds
//! the limit and one that does not are known; then it halves the factor between them
//! until they are near each other, and confirms both by longer steps: one stall of the
//! host is enough for a short one to fail. What was near the limit is tried a second time,
//! and the mean of both counts.

use measure::find_max::{LONG, SearchEnd};

/// The first rate, as a share of the capacity.
const START: f64 = 0.7;
/// How much higher the next rate is while all hold…
const UP: f64 = 1.2;
/// …and how much lower while none does.
const DOWN: f64 = 0.5;
/// Below this share of the capacity no rate is tried.
const LEAST: f64 = 1.0 / 128.0;
/// The search ends when the lowest rate that fails is no more than this times the highest
/// that holds.
const NEAR: f64 = 1.05;
/// Numbers within this share of the limit may be luck.
const DOUBT: f64 = 0.1;
/// Short steps, at most.
const MAX_SHORT: usize = 13;
/// Longer steps that confirm, at most.
const MAX_LONG: usize = 4;

/// All trials of a search at most, with the closed loop.
pub(crate) const MAX_TRIALS: usize = 1 + MAX_SHORT + MAX_LONG;

/// The load time of all trials of a search, in lengths of the warm-up and of a step.
pub(crate) const MAX_LOAD_STEPS: u32 = 1 + MAX_SHORT as u32 + LONG * MAX_LONG as u32;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// A step at this rate.
    Try(f64),
    /// A longer one.
    Confirm(f64),
    /// Nothing.
    End(SearchEnd),
}

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StepOutcome {
    /// The limited number.
    Value(f64),
    /// The same, of a load that was not steady.
    Unsteady(f64),
    /// There is none that means something.
    Failed,
}

#[derive(Debug, Clone, Copy)]
struct RateTrial {
    rate: f64,
    seen: StepOutcome,
    long: bool,
}

/// A search under way.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    capacity: f64,
    limit: f64,
    tried: Vec<RateTrial>,
}

/// What is known of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RateVerdict {
    Holds,
    Fails,
    Doubtful,
}

impl Search {
    /// For a server that does `capacity` transactions per second at most.
    pub(crate) fn new(capacity: f64, limit: f64) -> Self {
        Self {
            capacity,
            limit,
            tried: Vec::new(),
        }
    }

    /// A step is over.
    pub(crate) fn observe(&mut self, rate: f64, long: bool, seen: StepOutcome) {
        self.tried.push(RateTrial { rate, seen, long });
    }

    /// The highest rate that holds the limit, as far as is known.
    pub(crate) fn held(&self) -> Option<f64> {
        let failed = self.failed().unwrap_or(f64::INFINITY);
        let rates = self.rates_that(RateVerdict::Holds);
        rates.filter(|rate| *rate < failed).reduce(f64::max)
    }

    /// The lowest that does not.
    pub(crate) fn failed(&self) -> Option<f64> {
        self.rates_that(RateVerdict::Fails).reduce(f64::min)
    }

    pub(crate) fn next(&self) -> Next {
        let count = |long| self.tried.iter().filter(|tried| tried.long == long).count();
        let (held, failed) = (self.held(), self.failed());
        let may_try = count(false) < MAX_SHORT;
        if let Some(last) = self.tried.last()
            && self.standing(last.rate) == RateVerdict::Doubtful
            && may_try
        {
            return Next::Try(last.rate);
        }
        let wanted = match (held, failed) {
            (None, None) => self.capacity * START,
            (Some(held), None) => held * UP,
            (None, Some(failed)) if failed <= self.capacity * LEAST => {
                return Next::End(SearchEnd::NoRate {
                    failed_per_s: failed,
                });
            }
            (None, Some(failed)) => failed * DOWN,
            (Some(held), Some(failed)) if failed <= held * NEAR => {
                return self.confirm(held, failed, count(true) < MAX_LONG);
            }
            (Some(held), Some(failed)) => (held * failed).sqrt(),
        };
        match may_try {
            true => Next::Try(rounded(wanted)),
            false => Next::End(self.out_of_trials()),
        }
    }

    fn confirm(&self, held: f64, failed: f64, may_confirm: bool) -> Next {
        let is_confirmed = |rate: &f64| self.at(*rate).any(|tried| tried.long);
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

    fn at(&self, rate: f64) -> impl Iterator<Item = &RateTrial> {
        let tried = self.tried.iter();
        tried.filter(move |tried| tried.rate.total_cmp(&rate).is_eq())
    }

    fn rates_that(&self, standing: RateVerdict) -> impl Iterator<Item = f64> {
        let rates = self.tried.iter().map(|tried| tried.rate);
        rates.filter(move |rate| self.standing(*rate) == standing)
    }

    /// A longer trial says more than all short ones; an overload says it all.
    fn standing(&self, rate: f64) -> RateVerdict {
        let long = self.at(rate).filter(|tried| tried.long).last();
        let counting: Vec<&RateTrial> = match long {
            Some(long) => vec![long],
            None => self.at(rate).collect(),
        };
        let mut values = Vec::new();
        let mut unsteady = 0;
        for tried in &counting {
            match tried.seen {
                StepOutcome::Failed => return RateVerdict::Fails,
                StepOutcome::Value(value) => values.push(value),
                StepOutcome::Unsteady(value) => {
                    unsteady += 1;
                    values.push(value);
                }
            }
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let near = (mean / self.limit - 1.0).abs() <= DOUBT;
        let once = values.len() == 1 && long.is_none();
        match mean < self.limit {
            _ if once && (near || unsteady > 0) => RateVerdict::Doubtful,
            true if unsteady == values.len() => RateVerdict::Fails,
            true => RateVerdict::Holds,
            false => RateVerdict::Fails,
        }
    }
}

/// Four digits are enough, and are read more easily.
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
