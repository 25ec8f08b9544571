//! The results of a trial's loads once all of them have ended: which failures end a trial, and with
//! which outcome.

use std::time::Duration;

use load::{End, LoadError, LoadOutcome};
use measure::instance::InstanceSummary;
use measure::metric::{Metrics, split};
use measure::setup::{Outcome, Unfinished, server_lost};
use measure::summary::TrialSummary;
use plan::Volume;
use workload::session::SessionError;

use super::{LoadState, TrialLoop};
use crate::observe::watch::MeasuredLoads;
use crate::{Database, Failure, FinishedTrial};

impl TrialLoop<'_> {
    pub(crate) fn into_results(mut self) -> Result<(FinishedTrial, MeasuredLoads), Failure> {
        let (outcome, failure) = self.end()?;
        let mut metrics = std::mem::take(&mut self.metrics);
        leave_out_inflated(&mut metrics, &self.trial.planned.topology.node.volume);
        let is_complete = outcome == Outcome::Completed;
        let mut summary = self.gather.finish(TrialSummary {
            started_at: Some(self.started_at.clone()),
            unfinished: self.unfinished(),
            instances: self.instances(&outcome),
            metrics,
            reset: self.rig.reset.clone(),
            ended: self.early_stop.ended.filter(|_| is_complete),
            outcome,
            ..TrialSummary::new(self.rig.setup(self.trial))
        });
        summary.events = self.events;
        summary.faults = self.faults;
        summary.turns = self.turns;
        let loads = MeasuredLoads {
            measured_ns: self.measured_ns,
            seconds: self.loads.into_iter().map(|load| load.seconds).collect(),
        };
        Ok((FinishedTrial { summary, failure }, loads))
    }

    /// How the trial ended; fails if it did so before it measured anything.
    fn end(&mut self) -> Result<(Outcome, Option<Failure>), Failure> {
        let has_begun = self.start.barrier.begun().is_some();
        match self.ended_by.take() {
            Some((_, failure)) if !has_begun => Err(failure),
            Some((outcome, failure)) => Ok((outcome, Some(failure))),
            None if !has_begun => {
                let message = "interrupted before the load started";
                Err(Failure::interrupted(message))
            }
            None if self.is_interrupted() && self.measured_ns.is_none() => {
                let message = "interrupted during the warm-up, before the measurement";
                Err(Failure::interrupted(message))
            }
            None if self.is_interrupted() => {
                let failure = Failure::interrupted("interrupted; results until then are kept");
                Ok((Outcome::Interrupted, Some(failure)))
            }
            None => Ok((Outcome::Completed, None)),
        }
    }

    fn outcomes(&self) -> impl Iterator<Item = &LoadOutcome> {
        let ended = self.loads.iter().filter_map(|load| load.ended.as_ref());
        ended.filter_map(|ended| ended.as_ref().ok())
    }

    fn is_interrupted(&self) -> bool {
        self.outcomes().any(|load| load.end == End::Interrupted)
    }

    fn unfinished(&self) -> Unfinished {
        let all = || self.outcomes().map(|load| load.unfinished);
        Unfinished {
            count: all().map(|load| load.count).sum(),
            oldest_ms: all().filter_map(|load| load.oldest_ms).reduce(f64::max),
            cancelled: all().map(|load| load.cancelled).sum(),
        }
    }

    fn instances(&self, outcome: &Outcome) -> Vec<InstanceSummary> {
        // A single load does not gather separately.
        let gathers = self.loads.iter().map(|load| match self.loads.len() {
            1 => &self.gather,
            _ => &load.gather,
        });
        (1..)
            .zip(self.loads.iter().zip(gathers))
            .zip(&self.rig.instances)
            .map(|((number, (load, gather)), instance)| {
                let database = &instance.database;
                let part = gather.finish(TrialSummary {
                    outcome: outcome.clone(),
                    ..TrialSummary::new(self.trial.setup_of(database))
                });
                InstanceSummary {
                    number,
                    server: database.shown(),
                    transactions: part.transactions,
                    response_ms: part.response_ms,
                    errors: part.failures() + part.restarts(),
                    restarts: part.restarts(),
                    outcome: load.outcome().unwrap_or_else(|| outcome.clone()),
                    settings: instance.settings.clone(),
                    process: instance.cluster.primary().process(),
                    formation_s: instance.formation.map(|time| time.as_secs_f64()),
                }
            })
            .collect()
    }
}

/// Removes the metric of bytes written by servers to disk if the disks wrote less: the kernel also
/// counts what it never wrote. A file system that dyno made for the servers may compress instead.
fn leave_out_inflated(metrics: &mut Metrics, volume: &Volume) {
    const AMPLIFICATION: &str = "write_amplification";
    let is_less = metrics
        .get(AMPLIFICATION)
        .is_some_and(|factor| factor.mean < 1.0);
    if is_less && volume.file_system.is_none() {
        metrics.remove(AMPLIFICATION);
        metrics.retain(|name, _| split(name).0 != "server.write_mb_per_s");
    }
}

impl LoadState {
    /// How the load ended; `None` if it failed to start or was interrupted.
    fn outcome(&self) -> Option<Outcome> {
        outcome_of(&self.ended.as_ref()?.as_ref().ok()?.end)
    }
}

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
pub(super) fn failure_of_load(
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
