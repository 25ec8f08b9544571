//! Runs the trials of a study, one after another.

use measure::setup::Outcome;
use measure::summary::TrialSummary;

use crate::{Exit, Fact, Failure, Lab, Run, Target, Trial, run_trial};

/// Runs trials in order. A failed trial is stored with its reason, and the next one runs. If servers
/// did not start, later trials with the same servers are skipped, because they would fail in the
/// same way.
pub fn run(lab: &mut Lab, trials: &[Trial], run: &mut Run<'_>) -> Result<(), Failure> {
    let mut first = None;
    let mut dead: Vec<&Trial> = Vec::new();
    for (at, trial) in trials.iter().enumerate() {
        if run.is_interrupted() {
            let message = "interrupted between trials";
            return Err(Failure::interrupted(message));
        }
        if run.observer.is_decided(trial) {
            continue;
        }
        if let Some(failed) = dead.iter().find(|failed| have_same_servers(failed, trial)) {
            let (trial, failed) = (trial.planned.number, failed.planned.number);
            run.observer.note(&format!(
                "trial {trial} is skipped: it needs the servers of trial {failed}, which did not start"
            ));
            continue;
        }
        if let (_, Some(failure)) = attempt(lab, trial, run)? {
            let mut before = trials[..at].iter();
            // Servers that started earlier may start again.
            if failure.is(Fact::NotStarted)
                && !before.any(|earlier| have_same_servers(earlier, trial))
            {
                dead.push(trial);
            }
            first.get_or_insert(failure);
        }
    }
    first.map_or(Ok(()), Err)
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
pub(crate) fn attempt(
    lab: &mut Lab,
    trial: &Trial,
    run: &mut Run<'_>,
) -> Result<(TrialSummary, Option<Failure>), Failure> {
    match run_trial::run(lab, trial, run) {
        Ok(ran) => match ran.failure {
            Some(failure) if ends_study(&failure, &ran.summary.outcome) => Err(failure),
            failure => Ok((ran.summary, failure)),
        },
        Err(failure) if failure.exit == Exit::Server => {
            let summary = run_trial::failed(trial, &failure);
            run.observer.end(summary.clone())?;
            Ok((summary, Some(failure)))
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
