//! Which failures end a trial, and with which outcome.

use std::time::Duration;

use load::{End, LoadError, LoadOutcome};
use measure::setup::{Outcome, server_lost};
use workload::session::SessionError;

use crate::Database;
use crate::failure::Failure;

/// A failure and the outcome with its message. `lost_at` is when a server was lost, on the trial's
/// clock.
pub(super) fn failed(failure: Failure, lost_at: Option<Duration>) -> (Outcome, Failure) {
    let reason = match lost_at {
        Some(at) => format!("{}: {}", server_lost(at), failure.message),
        None => failure.message.clone(),
    };
    (Outcome::Failed { reason }, failure)
}

/// The failure of a load that ended; `None` if it did not fail, or failed only because of another
/// one.
pub(super) fn of_load(
    database: Option<&Database>,
    ended: &Result<LoadOutcome, LoadError>,
) -> Option<(Outcome, Failure)> {
    let load = match ended {
        Ok(load) => load,
        Err(error) => return Some(failed(start_failure(database, error)?, None)),
    };
    let outcome = outcome_of(&load.end)?;
    let failure = match &load.end {
        End::Completed | End::Interrupted => return None,
        End::Failed(error) => statement_failure(database, error),
        End::ServerLost { error, .. } => {
            let message = format!("{outcome}; results until then are kept");
            let remedy = database.and_then(|database| database.remedy(error));
            Failure::interrupted(message).perhaps(remedy)
        }
    };
    Some((outcome, failure))
}

/// The outcome of a load; `None` if it was interrupted, perhaps because of another one.
pub(super) fn outcome_of(end: &End) -> Option<Outcome> {
    match end {
        End::Completed => Some(Outcome::Completed),
        End::Failed(error) => Some(Outcome::Stopped {
            error: error.to_string(),
        }),
        End::ServerLost { at_ns, error } => Some(Outcome::ServerLost {
            at_ms: at_ns / 1_000_000,
            error: error.to_string(),
        }),
        End::Interrupted => None,
    }
}

/// Why a load could not start or continue; `None` if another failure caused that.
fn start_failure(database: Option<&Database>, error: &LoadError) -> Option<Failure> {
    match error {
        LoadError::Connect(error) => {
            let remedy = database.and_then(|database| database.remedy(error));
            let message = format!("cannot open the load's connections: {error}");
            Some(Failure::server(message).perhaps(remedy))
        }
        LoadError::Worker(_) | LoadError::Panicked(_) => Some(Failure::internal(error)),
        LoadError::Interrupted | LoadError::OtherFailed => None,
    }
}

fn statement_failure(database: Option<&Database>, error: &SessionError) -> Failure {
    let message = format!("the load was stopped by the server's {error}");
    let known = database.and_then(|database| database.remedy(error));
    let remedy = known.map(str::to_owned).unwrap_or_else(|| {
        format!(
            "to continue despite this error, use --ignore-errors {}",
            error.code()
        )
    });
    Failure::interrupted(message).remedy(remedy)
}
