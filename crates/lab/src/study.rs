//! The trials of a study, one after the other.

use std::sync::atomic::{AtomicBool, Ordering};

use measure::setup::Outcome;
use measure::summary::TrialSummary;

use crate::failure::{Cause, Failure};
use crate::lab::Lab;
use crate::observer::Observer;
use crate::trial::{self, Place, Trial};

/// Runs trials in their order. One that fails is kept as failed with its reason, and
/// the next one is run. Where servers did not start, the repeats with the same servers are
/// skipped, since they would fail in the same way.
///
/// # Errors
/// The first failure of a trial, told once all are over; at once when the user asked
/// to stop or the results cannot be kept.
pub fn run(
    lab: &mut Lab,
    trials: &[Trial],
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mut first = None;
    let mut dead: Vec<&Trial> = Vec::new();
    for (at, trial) in trials.iter().enumerate() {
        if interrupted.load(Ordering::Relaxed) {
            let message = "interrupted between two trials";
            return Err(Failure::new(Cause::Interrupted, message));
        }
        if let Some(failed) = dead.iter().find(|failed| have_same_servers(failed, trial)) {
            let (trial, failed) = (trial.planned.number, failed.planned.number);
            observer.note(&format!(
                "trial {trial} is skipped: its servers are those of trial {failed}, which did not start"
            ));
            continue;
        }
        if let (_, Some(failure)) = attempt(lab, trial, observer, interrupted)? {
            let mut before = trials[..at].iter();
            // What started once fails for another reason, which may pass.
            if failure.recurs && !before.any(|earlier| have_same_servers(earlier, trial)) {
                dead.push(trial);
            }
            first.get_or_insert(failure);
        }
    }
    first.map_or(Ok(()), Err)
}

/// Whether the servers of two trials are started in the same way.
fn have_same_servers(one: &Trial, other: &Trial) -> bool {
    let (Place::Private(spec), Place::Private(other_spec)) = (&one.place, &other.place) else {
        return false;
    };
    // The number of users decides `max_connections`.
    let (one, other) = (&one.planned, &other.planned);
    spec == other_spec && one.topology == other.topology && one.load.threads == other.load.threads
}

/// Runs one trial; gives what came of it, and why it failed, if the study can go on.
pub(crate) fn attempt(
    lab: &mut Lab,
    trial: &Trial,
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<(TrialSummary, Option<Failure>), Failure> {
    match trial::run(lab, trial, observer, interrupted) {
        Ok(ran) => match ran.failure {
            Some(failure) if ends_study(&failure, &ran.summary.outcome) => Err(failure),
            failure => Ok((ran.summary, failure)),
        },
        Err(failure) if failure.cause == Cause::Server => {
            let summary = trial::failed(trial, &failure);
            observer.end(summary.clone())?;
            Ok((summary, Some(failure)))
        }
        Err(failure) => Err(failure),
    }
}

/// A server that died or refused a statement may be another in the next trial.
fn ends_study(failure: &Failure, outcome: &Outcome) -> bool {
    let is_servers = matches!(
        outcome,
        Outcome::Stopped { .. } | Outcome::ServerLost { .. }
    );
    failure.cause != Cause::Server && !is_servers
}
