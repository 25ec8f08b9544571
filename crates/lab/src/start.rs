//! Runs a start whose variants take turns: their trials at once, each on servers of its own.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use load::Stop;
use measure::setup::Outcome;

use crate::drive::raise_file_limit;
use crate::drive::start::Start;
use crate::observer::OneOf;
use crate::setup::data::preload;
use crate::{Exit, Failure, FinishedTrial, Lab, Observer, Rig, Run, Trial, run_trial, threads};

pub(crate) type Ended = Result<FinishedTrial, Failure>;

/// Runs the trials of a start. If one of them fails, all end, because the rest of the start has nothing
/// to be compared with.
pub(crate) fn run(
    lab: &mut Lab,
    trials: &[&Trial],
    run: &mut Run<'_>,
) -> Result<Vec<Ended>, Failure> {
    raise_file_limit(trials)?;
    for trial in trials {
        run.observer.begin(trial)?;
    }
    let mut rigs = Vec::new();
    let ended = match set_up(lab, trials, &mut rigs, run) {
        Ok(()) => Ok(drive(trials, &rigs, run)),
        // Nobody interrupted it: results cannot be stored.
        Err((_, failure)) if failure.is_interrupted() && !run.is_interrupted() => Err(failure),
        Err((failed, failure)) => Ok(not_driven(trials.len(), failed, failure)),
    };
    for (trial, rig) in trials.iter().zip(rigs).rev() {
        run.observer.select(trial);
        lab.take_down(rig, run.observer);
    }
    let mut ended = ended?;
    if !run.is_interrupted() {
        blame(trials, &mut ended);
    }
    Ok(ended)
}

/// Sets up all trials; returns the index of the first one that fails, and why.
fn set_up(
    lab: &mut Lab,
    trials: &[&Trial],
    rigs: &mut Vec<Rig>,
    run: &mut Run<'_>,
) -> Result<(), (usize, Failure)> {
    for (index, trial) in trials.iter().enumerate() {
        run.observer.select(trial);
        let set_up = lab.set_up(trial, run).and_then(|rig| {
            let preloaded = preload(trial, &rig, run);
            rigs.push(rig);
            preloaded
        });
        set_up.map_err(|failure| (index, failure))?;
    }
    Ok(())
}

fn not_driven(trials: usize, failed: usize, failure: Failure) -> Vec<Ended> {
    let interrupted = || Failure::interrupted("interrupted before the load started");
    let mut ended: Vec<Ended> = (0..trials).map(|_| Err(interrupted())).collect();
    ended[failed] = Err(failure);
    ended
}

/// Each trial has a loop of its own.
fn drive(trials: &[&Trial], rigs: &[Rig], run: &mut Run<'_>) -> Vec<Ended> {
    let starts = Start::in_turns(trials, rigs);
    let referee = starts.first().and_then(|start| start.referee.clone());
    let interrupted = run.interrupted;
    let observer: &mut dyn Observer = &mut *run.observer;
    let observer = Mutex::new(observer);
    let mut ended: Vec<Ended> = std::thread::scope(|scope| {
        let trials = trials.iter().zip(rigs).zip(starts);
        let driven = trials.map(|((trial, rig), start)| {
            let stop = start.stop.clone();
            let observer = OneOf {
                trial,
                all: &observer,
            };
            let drive = move || drive_one(trial, rig, &start, observer, interrupted);
            let name = format!("dyno-trial-{}", trial.planned.number);
            let spawned = threads::spawn(scope, name, drive);
            // The others would wait for its load.
            spawned.inspect_err(|_| stop.interrupt())
        });
        let driven: Vec<_> = driven.collect();
        let ended = driven.into_iter().map(|thread| threads::join(thread?));
        ended.collect()
    });
    if let Some(referee) = referee {
        for (variant, ended) in ended.iter_mut().enumerate() {
            if let Ok(ran) = ended
                && trials[variant].planned.monitors
            {
                ran.summary.metrics.extend(referee.metrics(variant));
            }
        }
        let failure = referee.failure();
        if let Some((variant, failure)) = failure.filter(|(at, _)| !has_failed(&ended[*at])) {
            ended[variant] = Err(failure);
        }
    }
    ended
}

fn drive_one(
    trial: &Trial,
    rig: &Rig,
    start: &Start,
    mut observer: OneOf<'_, '_>,
    interrupted: &AtomicBool,
) -> Ended {
    let mut run = Run {
        observer: &mut observer,
        interrupted,
    };
    let mut others = EndOthers(Some(&start.stop));
    let ended = run_trial::drive_on(trial, rig, Vec::new(), Some(start), &mut run);
    let ended = ended.map(|ran| refuse_long(trial, ran));
    if ended.is_ok() {
        others.0 = None;
    }
    ended
}

/// Fails a trial whose median transaction does not end within a turn: hardly any are counted.
fn refuse_long(trial: &Trial, mut ran: FinishedTrial) -> FinishedTrial {
    let Some(turns) = trial.planned.turns().filter(|_| ran.failure.is_none()) else {
        return ran;
    };
    let summary = &mut ran.summary;
    let block_ms = turns.block.as_secs_f64() * 1e3;
    // Without any that completed, errors are the more likely cause.
    let are_long = match &summary.response_ms {
        Some(times) => times.p50 > block_ms,
        None => summary.errors.is_empty(),
    };
    if are_long {
        let number = trial.planned.number;
        let reason =
            format!("transactions of trial {number} take longer than a turn ({block_ms:.0} ms)");
        let remedy = "benchmark one server at a time; in a study, set `compare.block` to at least \
                      ten times as long as a transaction takes";
        ran.failure = Some(Failure::usage(&reason).remedy(remedy));
        summary.outcome = Outcome::Failed { reason };
    }
    ran
}

/// On drop, ends the other trials, which would wait for this one's loads, even after a panic.
struct EndOthers<'a>(Option<&'a Stop>);

impl Drop for EndOthers<'_> {
    fn drop(&mut self) {
        if let Some(stop) = self.0 {
            stop.interrupt();
        }
    }
}

/// Separates the failure of a trial from its consequences for the others, whose part of the start does
/// not count. Without a failure, the user has interrupted them.
fn blame(trials: &[&Trial], ended: &mut [Ended]) {
    let Some(cause) = ended.iter().position(has_failed) else {
        return;
    };
    let failure = match &ended[cause] {
        Ok(ran) => ran.failure.as_ref(),
        Err(failure) => Some(failure),
    };
    let reason = format!(
        "trial {} of the same start failed: {}",
        trials[cause].planned.number,
        failure.map_or("", |failure| &failure.message)
    );
    let others = ended.iter_mut().filter(|ended| !has_failed(ended));
    for ended in others {
        match ended {
            Ok(ran) => {
                ran.failure = None;
                ran.summary.outcome = Outcome::Failed {
                    reason: reason.clone(),
                };
            }
            Err(failure) => {
                *failure = Failure::server(format!("not measured, because {reason}"));
            }
        }
    }
}

/// Whether a trial ended for a reason of its own.
fn has_failed(ended: &Ended) -> bool {
    match ended {
        Ok(ran) => ran.failure.is_some() && ran.summary.outcome != Outcome::Interrupted,
        Err(failure) => failure.exit != Exit::Interrupted,
    }
}
