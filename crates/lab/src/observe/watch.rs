//! Watches the instances of a trial around faults: reads every 10 ms how many transactions have
//! completed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use client::route::Route;
use load::Pulse;
use measure::recovery::{Count, Counts, Observed, TimedError};

use crate::drive::clock::Clock;
use crate::{Failure, Trial, locked, threads};

/// Maximum time that an instance is watched closely after a fault.
const MAX_ALERT: Duration = Duration::from_secs(120);
/// How long members are still probed closely after one has accepted a write.
const GRACE: Duration = Duration::from_secs(1);

const INTERVAL: Duration = Duration::from_millis(10);
/// How long all readings are kept, in case a fault follows.
const RECENT_S: f64 = 5.0;
/// Interval of older readings, unless a fault follows.
const COARSE_S: f64 = 1.0;
/// Maximum number of readings of an instance at the full rate: 50 minutes.
const MAX_FINE: usize = 300_000;
/// Maximum number of errors that are kept after each fault.
const MAX_ERRORS: usize = 10_000;

/// What the load, the probers, and the faults of an instance tell each other.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Which members virtual users connect to; alerts the probers.
    pub(crate) route: Arc<Route>,
    pub(crate) pulse: Arc<Pulse>,
    last: Mutex<LastFault>,
}

#[derive(Debug, Default, Clone, Copy)]
struct LastFault {
    asked_at: Option<Instant>,
    effect_at: Option<Instant>,
    /// When the first write was accepted that was sent after the fault took effect.
    written_at: Option<Instant>,
}

/// How closely an instance is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Quiet,
    /// A member accepts writes again after a fault.
    Recovering,
    /// A fault was requested, and no write has been accepted since it took effect.
    Alert,
}

impl LastFault {
    fn level(&self, now: Instant) -> Level {
        let is_since = |at: Option<Instant>, limit| at.is_some_and(|at| now < at + limit);
        let is_written = self.written_at.is_some() && !is_since(self.written_at, GRACE);
        match is_since(self.asked_at, MAX_ALERT) {
            true if is_written => Level::Recovering,
            true => Level::Alert,
            false => Level::Quiet,
        }
    }
}

impl Watch {
    pub(crate) fn new(route: Route) -> Self {
        Self {
            route: Arc::new(route),
            pulse: Arc::default(),
            last: Mutex::default(),
        }
    }

    /// Called before a fault is requested.
    pub(crate) fn asked(&self) {
        *locked(&self.last) = LastFault {
            asked_at: Some(Instant::now()),
            ..LastFault::default()
        };
        self.route.alert();
    }

    /// Called when a fault has taken effect.
    pub(crate) fn took_effect(&self, at: Instant, clock: Clock<'_>) {
        locked(&self.last).effect_at = Some(at);
        self.pulse.await_first(clock.ns(at));
    }

    /// Called when a member has accepted a write that was sent at `sent_at`.
    pub(crate) fn written(&self, sent_at: Instant) {
        let mut last = locked(&self.last);
        if last.written_at.is_none() && last.effect_at.is_some_and(|at| at <= sent_at) {
            last.written_at = Some(Instant::now());
        }
    }

    pub(crate) fn level(&self) -> Level {
        locked(&self.last).level(Instant::now())
    }
}

/// Starts the thread that reads the pulses of all loads, in a trial with faults.
pub(crate) fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    trial: &Trial,
    watches: &'env [Watch],
    clock: Clock<'env>,
) -> Result<Option<ScopedJoinHandle<'scope, Vec<Observed>>>, Failure> {
    if !trial.has_faults() {
        return Ok(None);
    }
    let samplers: Vec<Sampler> = watches.iter().map(Sampler::new).collect();
    let sample = move || sample(samplers, clock);
    threads::spawn(scope, "dyno-sampler".to_owned(), sample).map(Some)
}

struct Sampler<'a> {
    watch: &'a Watch,
    kept: Vec<Count>,
    recent: VecDeque<Count>,
    errors: Vec<TimedError>,
    /// When the last fault was requested, and the number of errors at that time.
    asked: Option<(Instant, usize)>,
}

/// Returns when the loads have ended.
fn sample(mut samplers: Vec<Sampler<'_>>, clock: Clock<'_>) -> Vec<Observed> {
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
    fn new(watch: &'a Watch) -> Self {
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
        if self.watch.level() != Level::Quiet && self.kept.len() < MAX_FINE {
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
        let asked_at = locked(&self.watch.last).asked_at;
        if asked_at != self.asked.map(|(at, _)| at) {
            self.asked = asked_at.map(|at| (at, self.errors.len()));
        }
        // Errors before the first fault are not needed.
        let Some((_, before)) = self.asked else {
            return;
        };
        let room = (before + MAX_ERRORS).saturating_sub(self.errors.len());
        self.errors.extend(errors.into_iter().take(room));
    }

    fn finish(mut self) -> Observed {
        self.kept.extend(self.recent);
        Observed {
            counts: Counts(self.kept),
            errors: self.errors,
            first_writes: self.watch.pulse.firsts(),
            ..Observed::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_lasts_until_a_write_after_the_effect() {
        let watch = Watch::new(Route::fixed());
        let last = || locked(&watch.last);
        assert_eq!(watch.level(), Level::Quiet);
        watch.asked();
        let before = Instant::now();
        watch.written(before);
        assert!(last().written_at.is_none(), "there was no effect yet");
        last().effect_at = Some(Instant::now());
        watch.written(before);
        assert!(last().written_at.is_none(), "it was sent before");
        assert_eq!(watch.level(), Level::Alert);
        watch.written(Instant::now());
        let written_at = last().written_at.unwrap();
        let level = |after| last().level(written_at + after);
        assert_eq!(level(Duration::ZERO), Level::Alert);
        assert_eq!(level(GRACE), Level::Recovering);
        assert_eq!(level(MAX_ALERT), Level::Quiet);
        watch.asked();
        assert_eq!(watch.level(), Level::Alert, "the next fault");
    }

    #[test]
    fn a_fault_ends_a_long_wait_of_the_probers() {
        let watch = Watch::new(Route::fixed());
        let hour = Duration::from_secs(3600);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| watch.route.wait_for_alert(0, hour));
            watch.asked();
            assert_eq!(waiting.join().unwrap(), 1);
        });
    }

    fn times(observed: &Observed) -> Vec<f64> {
        let counts = observed.counts.within(0.0, f64::INFINITY).iter();
        counts.map(|count| count.t_s).collect()
    }

    #[test]
    fn readings_are_close_only_around_a_fault() {
        let watch = Watch::new(Route::fixed());
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
        let watch = Watch::new(Route::fixed());
        let mut sampler = Sampler::new(&watch);
        let error = |at_s| TimedError {
            at_s,
            code: "2013".to_owned(),
            message: "gone".to_owned(),
            action: "reconnected".into(),
        };
        sampler.add_errors(vec![error(1.0)]);
        watch.asked();
        for _ in 0..2 {
            let many = (0..8_000_u32).map(|at| error(f64::from(at)));
            sampler.add_errors(many.collect());
        }
        watch.asked();
        sampler.add_errors(vec![error(7.0)]);
        let errors = sampler.finish().errors;
        assert_eq!(errors.len(), 10_001);
        assert_eq!((errors[0].at_s, errors[5].at_s), (0.0, 5.0));
    }
}
