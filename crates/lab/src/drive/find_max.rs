//! Searches for the highest arrival rate at which response times stay below a limit: a closed loop
//! that measures the capacity, then a series of open loops, each a trial of its own.

use measure::find_max::{FoundMax, MAX_STEPS, SearchEnd, SearchStep};
use measure::setup::Ended;
use measure::summary::TrialSummary;
use measure::warning::Warning;
use plan::{Arrivals, FindMax, Point, Value};

use crate::study::attempt;
use crate::{Failure, Lab, Progress, Run, Target, Trial};

/// The key that is added to the point of each step.
const RATE: &str = "load.rate";
/// The value of [`RATE`] for the closed loop.
const CLOSED: &str = "closed loop";

/// The fraction by which completed transactions may fall short of the target rate, besides random
/// variation.
const SHORTFALL: f64 = 0.02;
/// The random variation of Poisson arrivals, in standard deviations.
const DEVIATIONS: f64 = 4.0;

/// Maximum number of trials of a search, including the closed loop.
pub const MAX_SEARCH_TRIALS: u32 = 1 + MAX_STEPS as u32;

/// Runs the search of each trial that has one. The trials of all searches are numbered in the order
/// in which they run. Trials that are `known` from an interrupted run are not repeated.
pub fn find_max(
    lab: &mut Lab,
    trials: &[Trial],
    mut known: Vec<TrialSummary>,
    run: &mut Run<'_>,
) -> Result<(), Failure> {
    let mut finished = Vec::new();
    let mut first = None;
    let searches = trials.iter();
    let searches = searches.filter_map(|trial| Some((trial, trial.planned.load.find_max?)));
    for (trial, wanted) in searches {
        let mut searched = SearchRun {
            lab,
            trial,
            wanted,
            known: &mut known,
            run,
            finished: &mut finished,
            has_run: false,
            found: FoundMax {
                point: trial.planned.point.clone(),
                repeat: trial.planned.repeat,
                column: format!("response_ms.{}", wanted.of),
                limit_ms: wanted.limit.as_secs_f64() * 1e3,
                capacity_per_s: None,
                steps: Vec::new(),
                rate: None,
                end: SearchEnd::OutOfSteps,
            },
        };
        let failed = searched.search().err();
        if let Some(Failed::Search(failure) | Failed::All(failure)) = &failed {
            searched.found.end = SearchEnd::Stopped {
                reason: failure.message.clone(),
            };
        }
        let found = searched.found;
        run.observer.found(found)?;
        match failed {
            Some(Failed::All(failure)) => return Err(failure),
            Some(Failed::Search(failure)) => drop(first.get_or_insert(failure)),
            None => {}
        }
    }
    first.map_or(Ok(()), Err)
}

enum Failed {
    /// The next search may still succeed.
    Search(Failure),
    /// No other search may start.
    All(Failure),
}

struct SearchRun<'a, 'r> {
    lab: &'a mut Lab,
    trial: &'a Trial,
    wanted: FindMax,
    /// Trials of an interrupted run that no search has taken yet.
    known: &'a mut Vec<TrialSummary>,
    run: &'a mut Run<'r>,
    /// The trials of this search and of earlier ones.
    finished: &'a mut Vec<TrialSummary>,
    /// Whether this search has run a trial. Those taken from `known` do not count.
    has_run: bool,
    found: FoundMax,
}

impl SearchRun<'_, '_> {
    fn search(&mut self) -> Result<(), Failed> {
        let closed = self.measure(self.closed())?;
        let capacity = closed.transactions.per_s.map(|tps| tps.value);
        let Some(capacity) = capacity.filter(|capacity| *capacity > 0.0) else {
            let message =
                "the closed loop completed no transactions, so there is no rate to start from";
            let remedy = "use longer steps (--time; in a study, load.time), or check what the server is waiting for";
            let failure = Failure::server(message).remedy(remedy);
            return Err(Failed::Search(failure));
        };
        self.found.capacity_per_s = Some(capacity);
        let mut next = self.found.next_rate();
        while let Some(rate) = next {
            let summary = self.measure(self.step(rate))?;
            let is_overloaded = is_overloaded(&summary, rate);
            let step = SearchStep::of(&summary, &self.found, rate, is_overloaded);
            self.found.steps.push(step.clone());
            next = self.found.next_rate();
            let line = progress_line(&step, &self.found);
            self.run.observer.progress(Progress::Searching(&line));
        }
        Ok(())
    }

    /// Runs a trial, or takes its summary from an interrupted run.
    fn measure(&mut self, trial: Trial) -> Result<TrialSummary, Failed> {
        let summary = match self.take_known(&trial) {
            Some(known) => known,
            None => self.run_trial(trial)?,
        };
        self.finished.push(summary.clone());
        Ok(summary)
    }

    /// The trial's summary from an interrupted run. That run may have continued with other rates,
    /// because results vary.
    fn take_known(&mut self, trial: &Trial) -> Option<TrialSummary> {
        let planned = &trial.planned;
        let index = self.known.iter().position(|known| {
            let known = &known.setup.planned;
            known.point == planned.point && known.load.time == planned.load.time
        })?;
        Some(self.known.remove(index))
    }

    fn run_trial(&mut self, mut trial: Trial) -> Result<TrialSummary, Failed> {
        if self.run.is_interrupted() {
            let message = "interrupted between two trials";
            return Err(Failed::All(Failure::interrupted(message)));
        }
        // The first trial that ran has checked the data.
        if let Target::Given(_) = trial.target
            && self.has_run
        {
            trial.run_options.mode = None;
        }
        self.has_run = true;
        let ran = attempt(self.lab, &trial, self.run).map_err(Failed::All)?;
        match ran.failure {
            Some(failure) => {
                self.finished.push(ran.summary);
                Err(Failed::Search(failure))
            }
            None => Ok(ran.summary),
        }
    }

    /// The finished trials of this run and of the interrupted one.
    fn all_trials(&self) -> impl Iterator<Item = &TrialSummary> {
        self.known.iter().chain(&*self.finished)
    }

    fn free_number(&self) -> u32 {
        let is_used = |number: &u32| {
            self.all_trials()
                .any(|trial| trial.setup.planned.number == *number)
        };
        (1..).find(|number| !is_used(number)).unwrap_or(u32::MAX)
    }

    fn closed(&self) -> Trial {
        let mut trial = self.trial.clone();
        let planned = &mut trial.planned;
        planned.number = self.free_number();
        planned.label = step_label(&planned.label, CLOSED);
        planned.point = self.point(CLOSED.into());
        planned.load.find_max = None;
        trial
    }

    /// The trial with an open loop at `rate` arrivals per second, summed over all servers.
    fn step(&self, rate: f64) -> Trial {
        let (number, point) = (self.free_number(), self.point(Value::Number(rate)));
        let repeats = self
            .all_trials()
            .filter(|trial| trial.setup.planned.point == point);
        let latest = repeats.map(|trial| trial.setup.planned.repeat).max();
        let mut trial = self.trial.clone();
        trial.longest_wait = Some(self.wanted.limit);
        // A repeated rate gets different arrival times.
        trial.load_seed = trial.load_seed.wrapping_add(u64::from(number));
        let planned = &mut trial.planned;
        planned.number = number;
        planned.label = step_label(&planned.label, &format!("rate={rate}"));
        planned.repeat = latest.map_or(1, |latest| latest + 1);
        planned.point = point;
        let load = &mut planned.load;
        load.find_max = None;
        load.rate = Some(rate / f64::from(planned.topology.instances));
        load.arrivals = Arrivals::Poisson;
        trial
    }

    fn point(&self, rate: Value) -> Point {
        let mut point = self.trial.planned.point.clone();
        point.insert(RATE.to_owned(), rate);
        point
    }
}

/// Leaves out the generic label of a study with one trial.
fn step_label(label: &str, step: &str) -> String {
    match label {
        "" | "single" | "bench" => step.to_owned(),
        label => format!("{label}, {step}"),
    }
}

/// Whether arrivals exceeded completed transactions by more than random variation explains.
fn is_overloaded(summary: &TrialSummary, rate: f64) -> bool {
    let reports_it = |warning: &Warning| matches!(warning, Warning::Overloaded { .. });
    let arrived = rate * summary.measured_s;
    let expected = arrived * (1.0 - SHORTFALL) - DEVIATIONS * arrived.sqrt();
    matches!(summary.ended, Some(Ended::Overloaded { .. }))
        || summary.warnings.iter().any(reports_it)
        || (summary.transactions.count as f64) < expected
}

/// A progress line: `766.8/s: response_ms.p99 18.3 of 20 ms, within limit; …`, with the estimate
/// from all steps so far.
fn progress_line(step: &SearchStep, found: &FoundMax) -> String {
    let rate = step.rate_per_s;
    let value = step
        .value_ms
        .map_or("none".to_owned(), |ms| format!("{ms:.1}"));
    let (column, limit) = (&found.column, found.limit_ms);
    let highest = match found.rate {
        Some(rate) => match rate.relative() {
            Some(share) => format!("about {:.0}/s ± {:.1} %", rate.value, 100.0 * share),
            None => format!("about {:.0}/s", rate.value),
        },
        None => "not known yet".to_owned(),
    };
    let verdict = step.verdict;
    format!("  {rate}/s: {column} {value} of {limit} ms, {verdict}; the highest rate is {highest}")
}
