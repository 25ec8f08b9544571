//! Runs the trials of a study, one after another.

use measure::setup::Outcome;

use crate::start::{self, Ended};
use crate::{Exit, Fact, Failure, FinishedTrial, Lab, Run, Target, Trial, run_trial};

/// Runs trials in order, those of a start at once if its variants take turns. A failed trial is stored
/// with its reason, and the next one runs. If servers did not start, later trials with the same servers
/// are skipped, because they would fail in the same way.
pub fn run(lab: &mut Lab, trials: &[Trial], run: &mut Run<'_>) -> Result<(), Failure> {
    let mut first = None;
    let mut dead: Vec<&Trial> = Vec::new();
    let mut before: Vec<&Trial> = Vec::new();
    for start in starts(trials) {
        if run.is_interrupted() {
            let message = "interrupted between trials";
            return Err(Failure::interrupted(message));
        }
        let needed = start.into_iter();
        let needed = needed.filter(|trial| !run.observer.is_decided(trial));
        let start: Vec<&Trial> = needed.collect();
        if is_skipped(&start, &dead, run) {
            continue;
        }
        for (trial, ended) in start.iter().zip(attempt_start(lab, &start, run)?) {
            let Some(failure) = ended?.failure else {
                continue;
            };
            let mut before = before.iter();
            // Servers that started earlier may start again.
            if failure.is(Fact::NotStarted)
                && !before.any(|earlier| have_same_servers(earlier, trial))
            {
                dead.push(*trial);
            }
            first.get_or_insert(failure);
        }
        before.extend(start);
    }
    first.map_or(Ok(()), Err)
}

/// The trials that run at once, in the order of the first of each.
fn starts(trials: &[Trial]) -> Vec<Vec<&Trial>> {
    let mut starts: Vec<Vec<&Trial>> = Vec::new();
    for trial in trials {
        let mut known = starts.iter_mut();
        let is_same = |start: &&mut Vec<&Trial>| {
            let first = start.first();
            first.is_some_and(|first| first.planned.takes_turns_with(&trial.planned))
        };
        match known.find(is_same) {
            Some(start) => start.push(trial),
            None => starts.push(vec![trial]),
        }
    }
    starts
}

/// Whether the start is skipped, because servers that it needs did not start; notes that.
fn is_skipped(start: &[&Trial], dead: &[&Trial], run: &mut Run<'_>) -> bool {
    let of_dead = |trial: &&Trial| {
        let failed = dead
            .iter()
            .find(|failed| have_same_servers(failed, trial))?;
        Some(failed.planned.number)
    };
    let Some(failed) = start.iter().find_map(of_dead) else {
        return false;
    };
    for trial in start {
        let trial = trial.planned.number;
        run.observer.note(&format!(
            "trial {trial} is skipped: it needs the servers of trial {failed}, which did not start"
        ));
    }
    true
}

/// Runs a trial, or the trials of a start whose variants take turns.
fn attempt_start(
    lab: &mut Lab,
    start: &[&Trial],
    run: &mut Run<'_>,
) -> Result<Vec<Ended>, Failure> {
    match start {
        [] => Ok(Vec::new()),
        [trial] if trial.planned.turns().is_none() => Ok(vec![attempt(lab, trial, run)]),
        _ => {
            let ended = start::run(lab, start, run)?;
            let ended = start.iter().zip(ended);
            // All are stored, whether or not the study continues.
            let ended = ended.map(|(trial, ended)| {
                run.observer.select(trial);
                let ended = ended.map(|ran| run_trial::store(ran, run));
                continued(trial, ended, run)
            });
            Ok(ended.collect())
        }
    }
}

fn have_same_servers(one: &Trial, other: &Trial) -> bool {
    let (Target::Private(spec), Target::Private(other_spec)) = (&one.target, &other.target) else {
        return false;
    };
    // `max_connections` depends on the number of users.
    let (one, other) = (&one.planned, &other.planned);
    spec == other_spec && one.topology == other.topology && one.load.threads == other.load.threads
}

/// Runs one trial. If the study can continue after a failure, the failure is part of the result.
pub(crate) fn attempt(lab: &mut Lab, trial: &Trial, run: &mut Run<'_>) -> Ended {
    let ended = run_trial::run(lab, trial, run);
    continued(trial, ended, run)
}

fn continued(trial: &Trial, ended: Ended, run: &mut Run<'_>) -> Ended {
    match ended {
        Ok(ran) => match ran.failure {
            Some(failure) if ends_study(&failure, &ran.summary.outcome) => Err(failure),
            failure => Ok(FinishedTrial { failure, ..ran }),
        },
        Err(failure) if failure.exit == Exit::Server => {
            let summary = run_trial::failed(trial, &failure);
            run.observer.end(summary.clone())?;
            Ok(FinishedTrial {
                summary,
                failure: Some(failure),
            })
        }
        Err(failure) => Err(failure),
    }
}

/// Whether a failure ends the study. After a server died or refused a statement, the next trial
/// gets a new server and may succeed.
fn ends_study(failure: &Failure, outcome: &Outcome) -> bool {
    let is_servers = matches!(
        outcome,
        Outcome::Stopped { .. } | Outcome::ServerLost { .. }
    );
    failure.exit != Exit::Server && !is_servers
}
