//! Reads the pulses of all loads every 10 ms.

use std::collections::VecDeque;
use std::thread::sleep;
use std::time::{Duration, Instant};

use load::TimedError;
use measure::recovery::{Count, FirstWrite, TimedError as ObservedError};

use super::{Watch, first_writes};
use crate::drive::clock::{Clock, seconds};
use crate::observe::probe::Level;

const INTERVAL: Duration = Duration::from_millis(10);
/// How long all readings are kept, in case a fault follows.
const RECENT_S: f64 = 5.0;
/// Interval of older readings, unless a fault follows.
const COARSE_S: f64 = 1.0;
/// Maximum number of readings of an instance at the full rate: 50 minutes.
const MAX_FINE: usize = 300_000;
/// Maximum number of errors that are kept after each fault.
const MAX_ERRORS: usize = 10_000;

pub(super) struct Sampler<'a> {
    watch: &'a Watch,
    kept: Vec<Count>,
    recent: VecDeque<Count>,
    errors: Vec<ObservedError>,
    /// When the last fault was requested, and the number of errors at that time.
    asked: Option<(Instant, usize)>,
}

/// The readings of one instance.
#[derive(Debug, Default)]
pub(crate) struct Sampled {
    pub(super) counts: Vec<Count>,
    pub(super) errors: Vec<ObservedError>,
    pub(super) first_writes: Vec<FirstWrite>,
}

/// Returns when the loads have ended.
pub(super) fn run(mut samplers: Vec<Sampler<'_>>, clock: Clock<'_>) -> Vec<Sampled> {
    if clock.begun().is_some() {
        let mut due = Instant::now();
        while !clock.is_over() {
            let now = Instant::now();
            let t_s = clock.seconds(now);
            samplers.iter_mut().for_each(|sampler| sampler.read(t_s));
            // Readings missed by a late one are skipped.
            due = (due + INTERVAL).max(now);
            sleep(due.saturating_duration_since(Instant::now()));
        }
    }
    samplers.into_iter().map(Sampler::finish).collect()
}

impl<'a> Sampler<'a> {
    pub(super) fn new(watch: &'a Watch) -> Self {
        Self {
            watch,
            kept: Vec::new(),
            recent: VecDeque::new(),
            errors: Vec::new(),
            asked: None,
        }
    }

    fn read(&mut self, t_s: f64) {
        let total = self.watch.pulse.completed();
        self.count(Count { t_s, total });
        self.add_errors(self.watch.pulse.take_errors());
    }

    fn count(&mut self, count: Count) {
        self.recent.push_back(count);
        if self.watch.alert.level() != Level::Quiet && self.kept.len() < MAX_FINE {
            self.kept.extend(self.recent.drain(..));
            return;
        }
        while let Some(oldest) = self.recent.front().copied()
            && oldest.t_s < count.t_s - RECENT_S
        {
            self.recent.pop_front();
            if self
                .kept
                .last()
                .is_none_or(|last| oldest.t_s - last.t_s >= COARSE_S)
            {
                self.kept.push(oldest);
            }
        }
    }

    fn add_errors(&mut self, errors: Vec<TimedError>) {
        let asked_at = self.watch.alert.asked_at();
        if asked_at != self.asked.map(|(at, _)| at) {
            self.asked = asked_at.map(|at| (at, self.errors.len()));
        }
        // Errors before the first fault are not needed.
        let Some((_, before)) = self.asked else {
            return;
        };
        let room = (before + MAX_ERRORS).saturating_sub(self.errors.len());
        self.errors
            .extend(errors.into_iter().take(room).map(observed));
    }

    fn finish(mut self) -> Sampled {
        self.kept.extend(self.recent);
        Sampled {
            counts: self.kept,
            errors: self.errors,
            first_writes: first_writes(&self.watch.pulse),
        }
    }
}

fn observed(error: TimedError) -> ObservedError {
    ObservedError {
        at_s: seconds(error.at_ns),
        code: error.code,
        message: error.message,
        action: error.action.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use client::route::Route;

    use super::*;

    fn times(sampled: &Sampled) -> Vec<f64> {
        sampled.counts.iter().map(|count| count.t_s).collect()
    }

    #[test]
    fn readings_are_close_only_around_a_fault() {
        let watch = Watch::new(&Arc::new(Route::fixed()));
        let mut sampler = Sampler::new(&watch);
        let step = |step: u32| f64::from(step) / 100.0;
        (0..2000).for_each(|at| sampler.read(step(at)));
        watch.asked();
        (2000..2500).for_each(|at| sampler.read(step(at)));
        let times = times(&sampler.finish());
        assert!(times.is_sorted());
        let within = |from: f64, to: f64| {
            let inside = times.iter().filter(|t_s| (from..to).contains(*t_s));
            inside.count()
        };
        assert_eq!(within(0.0, 14.0), 14);
        assert_eq!(within(16.0, 25.0), 900);
    }

    #[test]
    fn errors_before_the_first_fault_are_not_kept_and_those_after_it_are_bounded() {
        let watch = Watch::new(&Arc::new(Route::fixed()));
        let mut sampler = Sampler::new(&watch);
        let error = |at_ns| TimedError {
            at_ns,
            code: "2013".to_owned(),
            message: "gone".to_owned(),
            action: "reconnected",
        };
        sampler.add_errors(vec![error(1)]);
        watch.asked();
        for _ in 0..2 {
            let many = (0..8_000).map(|at| error(at * 1_000_000_000));
            sampler.add_errors(many.collect());
        }
        watch.asked();
        sampler.add_errors(vec![error(7)]);
        let errors = sampler.finish().errors;
        assert_eq!(errors.len(), 10_001);
        assert_eq!((errors[0].at_s, errors[5].at_s), (0.0, 5.0));
    }
}
