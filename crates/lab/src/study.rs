//! The trials of a study, one after the other.

use std::sync::atomic::{AtomicBool, Ordering};

use measure::setup::Outcome;
use measure::summary::TrialSummary;

use crate::failure::{Cause, Failure};
use crate::keeper::Keeper;
use crate::lab::Lab;
use crate::trial::{self, Trial};

/// Runs trials in their order. One that fails is kept as failed with its reason, and
/// the next one is run.
///
/// # Errors
/// The first failure of a trial, told once all are over; at once when the user asked
/// to stop or the results cannot be kept.
pub fn run(
    lab: &mut Lab,
    trials: &[Trial],
    keeper: &mut dyn Keeper,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mut first = None;
    for trial in trials {
        if interrupted.load(Ordering::Relaxed) {
            let message = "interrupted between two trials";
            return Err(Failure::new(Cause::Interrupted, message));
        }
        if let (_, Some(failure)) = attempt(lab, trial, keeper, interrupted)? {
            first.get_or_insert(failure);
        }
    }
    first.map_or(Ok(()), Err)
}

/// Runs one trial; gives what came of it, and why it failed, if the study can go on.
pub(crate) fn attempt(
    lab: &mut Lab,
    trial: &Trial,
    keeper: &mut dyn Keeper,
    interrupted: &AtomicBool,
) -> Result<(TrialSummary, Option<Failure>), Failure> {
    match trial::run(lab, trial, keeper, interrupted) {
        Ok(ran) => match ran.failure {
            Some(failure) if ends_study(&failure, &ran.summary.outcome) => Err(failure),
            failure => Ok((ran.summary, failure)),
        },
        Err(failure) if failure.cause == Cause::Server => {
            let summary = trial::failed(trial, &failure);
            keeper.end(summary.clone())?;
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
