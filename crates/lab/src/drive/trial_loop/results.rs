//! The results of a trial's loads once all of them have ended: which failures end a trial, and with
//! which outcome.

use std::time::Duration;

use load::{End, LoadError, LoadOutcome};
use measure::instance::InstanceSummary;
use measure::metric::{Metrics, split};
use measure::recovery::{self, Observed, Probe};
use measure::setup::{Outcome, Unfinished, server_lost};
use measure::summary::TrialSummary;
use plan::Volume;
use workload::session::{FailureKind, SessionError};

use super::TrialLoop;
use crate::drive::clock::seconds;
use crate::{Database, Failure, FinishedTrial, Progress};

impl TrialLoop<'_> {
    /// `sampled` and `probes` are what was read and probed of each instance in a trial with faults.
    pub(crate) fn into_results(
        mut self,
        sampled: Vec<Observed>,
        probes: Vec<Vec<Probe>>,
    ) -> Result<FinishedTrial, Failure> {
        let (outcome, failure) = self.end()?;
        self.add_recoveries(sampled, probes);
        let volume = &self.trial.planned.topology.node.volume;
        leave_out_inflated(&mut self.summary.metrics, volume);
        let is_complete = outcome == Outcome::Completed;
        let summary = self.gather.finish(TrialSummary {
            setup: self.rig.setup(self.trial),
            unfinished: self.unfinished(),
            instances: self.instances(&outcome),
            ended: self.early_stop.ended.filter(|_| is_complete),
            outcome,
            ..self.summary
        });
        Ok(FinishedTrial { summary, failure })
    }

    /// Adds to the faults how the instances recovered.
    fn add_recoveries(&mut self, sampled: Vec<Observed>, probes: Vec<Vec<Probe>>) {
        let (begin_ns, end_ns) = self.measured_ns.unwrap_or_default();
        let has_writes = self.trial.writes();
        let instances = self.rig.instances.iter().zip(&mut self.loads);
        let seen = sampled.into_iter().zip(probes);
        for (number, ((instance, load), (sampled, probes))) in (1..).zip(instances.zip(seen)) {
            let observed = Observed {
                measured_from_s: seconds(begin_ns),
                end_s: seconds(end_ns),
                seconds: std::mem::take(&mut load.seconds),
                first_writes: match has_writes {
                    true => sampled.first_writes,
                    false => Vec::new(),
                },
                probes,
                has_many_primaries: instance.cluster.has_many_primaries(),
                ..sampled
            };
            let faults = self.summary.faults.iter_mut();
            let mut faults: Vec<_> = faults.filter(|fault| fault.instance == number).collect();
            faults.sort_by(|one, other| one.asked_s.total_cmp(&other.asked_s));
            for series in recovery::recover(&observed, &mut faults) {
                self.observer.progress(Progress::FaultSeries(&series));
            }
        }
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
        (1..)
            .zip(self.loads.iter().zip(&self.rig.instances))
            .map(|(number, (load, instance))| {
                // A single load does not gather separately.
                let gather = match self.loads.len() {
                    1 => &self.gather,
                    _ => &load.gather,
                };
                let ended = load.ended.as_ref().and_then(|ended| ended.as_ref().ok());
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
                    outcome: ended
                        .and_then(|load| outcome_of(&load.end))
                        .unwrap_or_else(|| outcome.clone()),
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
    database: &Database,
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
            Failure::interrupted(message).perhaps(database.remedy(error))
        }
    };
    Some((outcome, failure))
}

/// The outcome of a load; `None` if it was interrupted, perhaps because of another one.
fn outcome_of(end: &End) -> Option<Outcome> {
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
fn start_failure(database: &Database, error: &LoadError) -> Option<Failure> {
    match error {
        LoadError::Connect(error) if error.kind == FailureKind::Script => {
            Some(Failure::usage(error).perhaps(database.remedy(error)))
        }
        LoadError::Connect(error) => {
            let message = format!("cannot open the load's connections: {error}");
            Some(Failure::server(message).perhaps(database.remedy(error)))
        }
        LoadError::Worker(_) | LoadError::Panicked(_) => Some(Failure::internal(error)),
        LoadError::Agents(failure) => Some(failure.clone()),
        LoadError::Interrupted | LoadError::OtherFailed => None,
    }
}

fn statement_failure(database: &Database, error: &SessionError) -> Failure {
    if error.kind == FailureKind::Script {
        let message = format!("the load was stopped by its script: {error}");
        return Failure::interrupted(message).perhaps(database.remedy(error));
    }
    let message = format!("the load was stopped by the server's {error}");
    let code = error.code();
    let ignore = || format!("to continue despite this error, use --ignore-errors {code}");
    let remedy = database.remedy(error).map_or_else(ignore, str::to_owned);
    Failure::interrupted(message).remedy(remedy)
}
