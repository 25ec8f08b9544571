//! Searches the highest rate of arrivals at which response times hold a limit: first a
//! closed loop, which shows how much can be done at all, then one open loop after the
//! other. Each is a trial of its own.

mod search;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use measure::column;
use measure::ended::Ended;
use measure::find_max::{Doubt, FoundMax, LONG, SearchEnd, SearchStep, StepVerdict};
use measure::steady::Steady;
use measure::summary::TrialSummary;
use measure::warning::Warning;
use plan::Arrivals;
use plan::{FindMax, Limited, Point, Value};

use crate::failure::{Cause, Failure};
use crate::lab::Lab;
use crate::observer::Observer;
use crate::study::attempt;
use crate::trial::{Target, Trial};
use search::{MAX_LOAD_STEPS, MAX_TRIALS, Next, Search, StepOutcome};

/// The key whose values tell the steps of a search apart.
const RATE: &str = "load.rate";
/// What the closed loop has for a rate.
const CLOSED: &str = "closed loop";
/// An achieved rate may be lower than the asked one by this share, and by…
const SHORTFALL: f64 = 0.02;
/// …so many standard deviations of what arrives at random.
const DEVIATIONS: f64 = 4.0;

/// Trials of a search, at most.
#[must_use]
pub fn max_trials() -> u32 {
    MAX_TRIALS as u32
}

/// Time under load of a search, at most.
pub(crate) fn max_load_time(warmup: Duration, step: Duration) -> Duration {
    warmup
        .saturating_mul(max_trials())
        .saturating_add(step.saturating_mul(MAX_LOAD_STEPS))
}

/// Runs the search of each trial that has one. The trials of all searches are numbered in
/// the order in which they run; those that are `known` from a run that was cut off are not
/// run again.
///
/// # Errors
/// The first failure, told once all searches are over; at once when the user asked to
/// stop or the results cannot be kept.
pub fn find_max(
    lab: &mut Lab,
    trials: &[Trial],
    known: &[TrialSummary],
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mut ran = Vec::new();
    let mut first = None;
    let searches = trials.iter();
    let searches = searches.filter_map(|trial| Some((trial, trial.planned.load.find_max?)));
    for (trial, wanted) in searches {
        let mut driving = SearchRun {
            lab,
            trial,
            wanted,
            known,
            observer,
            interrupted,
            ran,
            search: None,
            found: FoundMax {
                point: trial.planned.point.clone(),
                repeat: trial.planned.repeat,
                column: limited(wanted.of).to_owned(),
                limit_ms: wanted.limit.as_secs_f64() * 1e3,
                capacity_per_s: None,
                steps: Vec::new(),
                end: SearchEnd::Stopped {
                    reason: String::new(),
                    held_per_s: None,
                    failed_per_s: None,
                },
            },
        };
        let halt = driving.search().err();
        if let Some(Halt::Search(failure) | Halt::All(failure)) = &halt {
            driving.found.end = driving.stopped(failure);
        }
        let found = driving.found;
        ran = driving.ran;
        observer.found(found)?;
        match halt {
            Some(Halt::All(failure)) => return Err(failure),
            Some(Halt::Search(failure)) => drop(first.get_or_insert(failure)),
            None => {}
        }
    }
    first.map_or(Ok(()), Err)
}

/// The column that is limited.
fn limited(of: Limited) -> &'static str {
    match of {
        Limited::Mean => "response_ms.mean",
        Limited::P95 => "response_ms.p95",
        Limited::P99 => "response_ms.p99",
    }
}

/// What ends a search before it has found the rate.
enum Halt {
    /// Another one may find its own.
    Search(Failure),
    /// No other one is to begin.
    All(Failure),
}

/// A search under way.
struct SearchRun<'a> {
    lab: &'a mut Lab,
    trial: &'a Trial,
    wanted: FindMax,
    known: &'a [TrialSummary],
    observer: &'a mut dyn Observer,
    interrupted: &'a AtomicBool,
    /// What this search and those before it ran, or took from `known`.
    ran: Vec<TrialSummary>,
    /// None before the closed loop is over.
    search: Option<Search>,
    found: FoundMax,
}

impl SearchRun<'_> {
    fn search(&mut self) -> Result<(), Halt> {
        let closed = self.run(self.closed())?;
        let capacity = closed.transactions.per_s.map(|tps| tps.value);
        let Some(capacity) = capacity.filter(|capacity| *capacity > 0.0) else {
            let message = "the closed loop ended no transaction, so there is no rate to begin with";
            let remedy = "give it more time, or look at what the server waits for";
            let failure = Failure::new(Cause::Server, message).remedy(Some(remedy));
            return Err(Halt::Search(failure));
        };
        self.found.capacity_per_s = Some(capacity);
        let mut search = Search::new(capacity, self.found.limit_ms);
        loop {
            let (rate, long) = match search.next() {
                Next::Try(rate) => (rate, false),
                Next::Confirm(rate) => (rate, true),
                Next::End(end) => {
                    self.found.end = end;
                    return Ok(());
                }
            };
            let summary = self.run(self.step(rate, long))?;
            let step = judged(&summary, &self.found, rate, long);
            search.observe(rate, long, seen(&step));
            self.observer.searching(&told(&step, &self.found, &search));
            self.found.steps.push(step);
            self.search = Some(search.clone());
        }
    }

    /// How a search ends that did not come to its end.
    fn stopped(&self, failure: &Failure) -> SearchEnd {
        let search = self.search.as_ref();
        SearchEnd::Stopped {
            reason: failure.message.clone(),
            held_per_s: search.and_then(Search::held),
            failed_per_s: search.and_then(Search::failed),
        }
    }

    /// Runs a trial, or takes what it gave when it ran before.
    fn run(&mut self, trial: Trial) -> Result<TrialSummary, Halt> {
        let summary = match self.known(&trial) {
            Some(known) => known.clone(),
            None => self.run_anew(trial)?,
        };
        self.ran.push(summary.clone());
        Ok(summary)
    }

    /// What a run that was cut off has of this trial; what chance did there may have had it
    /// take another way from here on.
    fn known(&self, trial: &Trial) -> Option<&TrialSummary> {
        let planned = &trial.planned;
        let taken = |known: &TrialSummary| {
            self.ran
                .iter()
                .any(|ran| ran.setup.planned.number == known.setup.planned.number)
        };
        self.known.iter().find(|known| {
            known.setup.planned.point == planned.point
                && known.setup.planned.load.time == planned.load.time
                && !taken(known)
        })
    }

    fn run_anew(&mut self, trial: Trial) -> Result<TrialSummary, Halt> {
        if self.interrupted.load(Ordering::Relaxed) {
            let message = "interrupted between two trials";
            return Err(Halt::All(Failure::new(Cause::Interrupted, message)));
        }
        let ran = attempt(self.lab, &trial, self.observer, self.interrupted);
        match ran.map_err(Halt::All)? {
            (summary, Some(failure)) => {
                self.ran.push(summary);
                Err(Halt::Search(failure))
            }
            (summary, None) => Ok(summary),
        }
    }

    /// All trials that are there.
    fn there(&self) -> impl Iterator<Item = &TrialSummary> {
        self.known.iter().chain(&self.ran)
    }

    /// The first number that no trial has.
    fn free_number(&self) -> u32 {
        let taken = |number: &u32| {
            self.there()
                .any(|trial| trial.setup.planned.number == *number)
        };
        (1..).find(|number| !taken(number)).unwrap_or(u32::MAX)
    }

    /// The closed loop, as the study has it.
    fn closed(&self) -> Trial {
        let mut trial = self.trial.clone();
        let planned = &mut trial.planned;
        planned.number = self.free_number();
        planned.label = labelled(&planned.label, CLOSED);
        planned.point = self.point(CLOSED.into());
        planned.load.find_max = None;
        trial
    }

    /// An open loop with so many arrivals in a second, over all servers.
    fn step(&self, rate: f64, long: bool) -> Trial {
        let (number, point) = (self.free_number(), self.point(Value::Number(rate)));
        let repeats = self
            .there()
            .filter(|trial| trial.setup.planned.point == point);
        let latest = repeats.map(|trial| trial.setup.planned.repeat).max();
        let mut trial = self.trial.clone();
        trial.longest_wait = Some(self.wanted.limit);
        // A second step at a rate meets other arrivals.
        trial.load_seed = trial.load_seed.wrapping_add(u64::from(number));
        // The closed loop has looked for the data.
        if let Target::Given(_) = trial.target {
            trial.run_options.mode = None;
        }
        let planned = &mut trial.planned;
        planned.number = number;
        planned.label = labelled(&planned.label, &format!("rate={rate}"));
        planned.repeat = latest.map_or(1, |latest| latest + 1);
        planned.point = point;
        let load = &mut planned.load;
        load.find_max = None;
        load.rate = Some(rate / f64::from(planned.topology.instances));
        load.arrivals = Arrivals::Poisson;
        if long {
            load.time = load.time.saturating_mul(LONG);
        }
        trial
    }

    fn point(&self, rate: Value) -> Point {
        let mut point = self.trial.planned.point.clone();
        point.insert(RATE.to_owned(), rate);
        point
    }
}

/// A study of one trial calls it nothing.
fn labelled(label: &str, step: &str) -> String {
    match label {
        "" | "single" | "bench" => step.to_owned(),
        label => format!("{label}, {step}"),
    }
}

fn judged(summary: &TrialSummary, found: &FoundMax, rate: f64, long: bool) -> SearchStep {
    let number = |column| column::value(summary, column).map(|estimate| estimate.value);
    let value = number(&found.column);
    let judged = match value {
        _ if is_overloaded(summary, rate) => StepVerdict::Overloaded,
        None => StepVerdict::Nothing,
        Some(value) if value >= found.limit_ms => StepVerdict::TooSlow,
        Some(_) if matches!(summary.steady, Some(Steady::Never { .. })) => StepVerdict::Unsteady,
        Some(_) => StepVerdict::Held,
    };
    SearchStep {
        trial: summary.setup.planned.number,
        rate_per_s: rate,
        achieved_per_s: number("tps"),
        mean_ms: number("response_ms.mean"),
        value_ms: value,
        long,
        judged,
        doubts: match judged {
            // Neither hangs on the limited number.
            StepVerdict::Overloaded | StepVerdict::Nothing => Vec::new(),
            _ => Doubt::all_of(summary, &found.column),
        },
    }
}

/// Whether more arrived than was done, beyond what chance does to both.
fn is_overloaded(summary: &TrialSummary, rate: f64) -> bool {
    let told = |warning: &Warning| matches!(warning, Warning::Overloaded { .. });
    let arrived = rate * summary.measured_s;
    let least = arrived * (1.0 - SHORTFALL) - DEVIATIONS * arrived.sqrt();
    matches!(summary.ended, Some(Ended::Overloaded { .. }))
        || summary.warnings.iter().any(told)
        || (summary.transactions.count as f64) < least
}

fn seen(step: &SearchStep) -> StepOutcome {
    match (step.judged, step.value_ms) {
        (StepVerdict::Held | StepVerdict::TooSlow, Some(value)) => StepOutcome::Value(value),
        (StepVerdict::Unsteady, Some(value)) => StepOutcome::Unsteady(value),
        _ => StepOutcome::Failed,
    }
}

/// `766.8/s: response_ms.p99 18.3 of 20 ms, held; the highest rate is between …`
fn told(step: &SearchStep, found: &FoundMax, search: &Search) -> String {
    let rate = step.rate_per_s;
    let value = step
        .value_ms
        .map_or("none".to_owned(), |ms| format!("{ms:.1}"));
    let (column, limit) = (&found.column, found.limit_ms);
    let between = match (search.held(), search.failed()) {
        (Some(held), Some(failed)) => format!("between {held} and {failed}/s"),
        (Some(held), None) => format!("above {held}/s"),
        (None, Some(failed)) => format!("below {failed}/s"),
        (None, None) => "not known yet".to_owned(),
    };
    let judged = step.judged;
    format!("  {rate}/s: {column} {value} of {limit} ms, {judged}; the highest rate is {between}")
}
