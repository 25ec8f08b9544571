//! The results of a trial's loads, once all of them have ended.

use load::{End, LoadOutcome};
use measure::fault::FaultRecord;
use measure::instance::{InstanceSummary, NodeEvent};
use measure::metric::{Metrics, split};
use measure::recovery::ResponseSecond;
use measure::setup::{Outcome, Unfinished};
use measure::summarize::Summarizer;
use measure::summary::TrialSummary;
use measure::until::Ended;

use plan::Volume;

use super::failure::outcome_of;
use super::{LoadState, TrialLoop};
use crate::failure::Failure;

pub(crate) struct LoadResults {
    pub(crate) gather: Summarizer,
    /// Wall-clock time at the origin of the loads' clock.
    pub(crate) started_at: String,
    pub(crate) instances: Vec<InstanceSummary>,
    pub(crate) metrics: Metrics,
    pub(crate) unfinished: Unfinished,
    /// `None` unless a stop rule ended the trial early.
    pub(crate) ended: Option<Ended>,
    pub(crate) outcome: Outcome,
    pub(crate) failure: Option<Failure>,
    /// What happened to nodes apart from faults.
    pub(crate) events: Vec<NodeEvent>,
    /// The trial's faults, in order of time.
    pub(crate) faults: Vec<FaultRecord>,
    /// Beginning and end of the measured seconds, on the loads' clock; `None` if there are none.
    pub(crate) measured_ns: Option<(u64, u64)>,
    /// The seconds of each load; only in a trial with faults.
    pub(crate) seconds: Vec<Vec<ResponseSecond>>,
}

impl TrialLoop<'_> {
    pub(crate) fn into_results(mut self) -> Result<LoadResults, Failure> {
        let has_begun = self.barrier.begun().is_some();
        let (outcome, failure) = match self.ended_by.take() {
            Some((_, failure)) if !has_begun => return Err(failure),
            Some((outcome, failure)) => (outcome, Some(failure)),
            None if !has_begun => {
                let message = "interrupted before the load started";
                return Err(Failure::interrupted(message));
            }
            None if self.is_interrupted() && self.measured_ns.is_none() => {
                let message = "interrupted during the warm-up, before the measurement";
                return Err(Failure::interrupted(message));
            }
            None if self.is_interrupted() => {
                let message = "interrupted; results until then are kept";
                let failure = Failure::interrupted(message);
                (Outcome::Interrupted, Some(failure))
            }
            None => (Outcome::Completed, None),
        };
        let mut metrics = std::mem::take(&mut self.metrics);
        leave_out_inflated(&mut metrics, &self.trial.planned.topology.node.volume);
        Ok(LoadResults {
            instances: self.instances(&outcome),
            unfinished: self.unfinished(),
            ended: self
                .early_stop
                .ended()
                .filter(|_| outcome == Outcome::Completed),
            seconds: self.loads.into_iter().map(|load| load.seconds).collect(),
            gather: self.gather,
            started_at: self.started_at,
            events: self.events,
            faults: self.faults,
            measured_ns: self.measured_ns,
            metrics,
            outcome,
            failure,
        })
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
