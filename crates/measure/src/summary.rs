//! The numbers of one trial, as they are stored and shown.
//!
//! A number that was not measured is absent (`null`), never 0.

use plan::StatementClass;
use serde::{Deserialize, Serialize};

use crate::agent::AgentSummary;
use crate::curve::CurvePoint;
use crate::fault::FaultRecord;
use crate::instance::{InstanceSummary, NodeEvent, Reset, ServerProcess, Space};
use crate::interval::Estimate;
use crate::ledger::LedgerSummary;
use crate::little::Little;
use crate::metric::Metrics;
use crate::parts::PartSummary;
use crate::setup::{Ended, Outcome, Setup, Unfinished};
use crate::slice::{Busy, Second};
use crate::steady::Steady;
use crate::verdict::Verdict;
use crate::warning::Warning;

pub use crate::interval::Rate;
pub use crate::latency::LatencySummary;
pub use crate::slice::ErrorSummary;

/// Version of the stored form; incremented when a field changes its meaning.
pub const SCHEMA_VERSION: u32 = 7;

/// The summary of one trial. Totals cover the measure phase only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSummary {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Wall-clock time at the zero of the trial's clock, from which its series count (`t_s`): RFC
    /// 3339 in UTC with its offset. `None` if the load never began.
    pub started_at: Option<String>,
    pub setup: Setup,
    pub measured_s: f64,
    pub transactions: Rate,
    pub statements: Rate,
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
    /// From the intended start to the end; `None` if no transaction completed.
    pub response_ms: Option<LatencySummary>,
    /// From the actual start to the end; open loop only.
    pub service_ms: Option<LatencySummary>,
    pub response_curve: Vec<CurvePoint>,
    pub by_statement: Vec<StatementSummary>,
    /// The workloads of a mix; empty for a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_workload: Vec<PartSummary>,
    /// The phases of the load that have begun, if it has phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_phase: Vec<PartSummary>,
    pub errors: Vec<ErrorSummary>,
    /// Connections that were lost and reopened.
    pub reconnects: u64,
    /// Statements that look up one row by its key.
    pub lookups: Lookups,
    pub generator: Generator,
    pub unfinished: Unfinished,
    /// The results of each server; the numbers above are totals of all servers.
    pub instances: Vec<InstanceSummary>,
    /// The agents that the load came from; empty if it came from one process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSummary>,
    /// `None` if the trial was too short to tell.
    pub steady: Option<Steady>,
    /// Whether users, throughput and response time are consistent; `None` if that cannot be
    /// checked.
    pub little: Option<Little>,
    /// The monitors' metrics of the measure phase.
    pub metrics: Metrics,
    /// `None` if the monitors were off.
    pub verdict: Option<Verdict>,
    pub reset: Option<Reset>,
    /// `None` unless the trial was ended early.
    pub ended: Option<Ended>,
    /// In order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<NodeEvent>,
    /// In order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRecord>,
    /// What became of acknowledged commits, by the ledger beside each instance's load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledgers: Vec<LedgerSummary>,
    /// How long the servers took after the load to write out what they had deferred; `None` unless they
    /// were flushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_s: Option<f64>,
    /// Disk space of the data after the load; `None` unless dyno started the servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<Space>,
    /// The trial's own turns, in order of time; empty unless variants took turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// Jackknife replicates: response times that omit one group of adjacent rounds each. Empty unless
    /// variants took turns on servers that were not restarted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_replicates_ms: Vec<LatencySummary>,
    pub outcome: Outcome,
    pub warnings: Vec<Warning>,
}

/// The counted part of a turn. The turns of all variants of a start have the same clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// On the trial's clock.
    pub start_s: f64,
    pub length_s: f64,
    pub transactions: u64,
}

impl From<&Second> for Turn {
    fn from(second: &Second) -> Self {
        Self {
            start_s: second.start_ns as f64 / 1e9,
            length_s: second.length_ns() as f64 / 1e9,
            transactions: second.slice.response.count(),
        }
    }
}

impl TrialSummary {
    /// Transactions per second over the measurement plus its share of the flush, which also writes what
    /// the warm-up left.
    pub fn flushed_per_s(&self) -> Option<f64> {
        let warmup_s = self.setup.planned.load.warmup.as_secs_f64();
        let flush_s = self.flush_s? * self.measured_s / (warmup_s + self.measured_s);
        Some(self.transactions.count as f64 / (self.measured_s + flush_s))
    }

    /// A completed trial in which nothing was measured.
    pub fn new(setup: Setup) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            started_at: None,
            setup,
            measured_s: 0.0,
            transactions: Rate::default(),
            statements: Rate::default(),
            reads: 0,
            writes: 0,
            others: 0,
            response_ms: None,
            service_ms: None,
            response_curve: Vec::new(),
            by_statement: Vec::new(),
            by_workload: Vec::new(),
            by_phase: Vec::new(),
            errors: Vec::new(),
            reconnects: 0,
            lookups: Lookups::default(),
            generator: Generator::default(),
            unfinished: Unfinished::default(),
            instances: Vec::new(),
            agents: Vec::new(),
            steady: None,
            little: None,
            metrics: Metrics::new(),
            verdict: None,
            reset: None,
            ended: None,
            events: Vec::new(),
            faults: Vec::new(),
            ledgers: Vec::new(),
            flush_s: None,
            space: None,
            turns: Vec::new(),
            response_replicates_ms: Vec::new(),
            outcome: Outcome::Completed,
            warnings: Vec::new(),
        }
    }

    /// The means that may have an interval from the trial's seconds.
    pub(crate) fn means_mut(&mut self) -> impl Iterator<Item = &mut Estimate> {
        let rates = [&mut self.transactions.per_s, &mut self.statements.per_s];
        let times = [&mut self.response_ms, &mut self.service_ms];
        let times = times.into_iter().flatten().map(|times| &mut times.mean);
        rates.into_iter().flatten().chain(times)
    }

    /// Errors that were not followed by a restart of the transaction.
    pub fn failures(&self) -> u64 {
        let failed = self.errors.iter().filter(|error| !error.is_restart());
        failed.map(|error| error.count).sum()
    }

    /// Transactions that were restarted after an error, such as a deadlock.
    pub fn restarts(&self) -> u64 {
        let restarted = self.errors.iter().filter(|error| error.is_restart());
        restarted.map(|error| error.count).sum()
    }

    /// Whether its numbers are invalid.
    pub fn has_failed(&self) -> bool {
        matches!(
            self.outcome,
            Outcome::Failed { .. } | Outcome::Stopped { .. } | Outcome::ServerLost { .. }
        )
    }

    /// Why the process of a server is not visible, so that its CPU time and memory are unknown.
    pub fn unseen_server(&self) -> Option<&str> {
        let mut servers = self.instances.iter();
        servers.find_map(|server| match &server.process {
            Some(ServerProcess::NotFound { reason }) => Some(reason.as_str()),
            Some(ServerProcess::Found { .. }) | None => None,
        })
    }
}

/// The trials with valid numbers: not those that failed, and interrupted ones only if no other
/// trial of the same point completed.
pub fn counted<'a>(trials: &[&'a TrialSummary]) -> Vec<&'a TrialSummary> {
    let is_whole = |trial: &TrialSummary| trial.outcome == Outcome::Completed;
    let replaced = |trial: &TrialSummary| {
        let mut others = trials.iter();
        others
            .any(|other| is_whole(other) && other.setup.planned.point == trial.setup.planned.point)
    };
    let all = trials.iter().copied();
    all.filter(|trial| is_whole(trial) || (!trial.has_failed() && !replaced(trial)))
        .collect()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementSummary {
    /// For example `point_select`.
    pub name: String,
    pub class: StatementClass,
    pub count: u64,
    pub per_s: Option<f64>,
    /// From sending to the complete reply; the mean has no interval.
    pub latency_ms: Option<LatencySummary>,
}

/// Statements that look up one row by its key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Lookups {
    pub count: u64,
    pub missed: u64,
    /// `missed` as a share (0 to 1); `None` without lookups.
    pub missed_share: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Mean over the measure phase.
    pub workers: Vec<Busy>,
    /// 99th percentile of the lateness with which the generator noticed arrivals, in milliseconds;
    /// open loop only.
    pub lateness_p99_ms: Option<f64>,
    pub lateness_max_ms: Option<f64>,
    /// How late the generator read replies: from their arrival, as stamped by the kernel, until
    /// they were read. `None` without time stamps.
    pub delay_ms: Option<LatencySummary>,
    /// Replies whose time stamp could not be right because a clock was set; they count as arrived
    /// when they were read.
    pub refused_stamps: u64,
    /// Maximum number of arrivals that were due but not started; open loop only.
    pub backlog_peak: Option<u64>,
    /// Arrivals that were due but not started at the end.
    pub backlog_end: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_trial_stands_in_only_where_no_whole_one_is() {
        let trial = |threads: &str, outcome| {
            let mut trial = crate::check::tests::trial();
            trial
                .setup
                .planned
                .point
                .insert("threads".to_owned(), threads.into());
            trial.outcome = outcome;
            trial
        };
        let failed = Outcome::Failed {
            reason: "no room".to_owned(),
        };
        let trials = [
            trial("1", Outcome::Completed),
            trial("1", Outcome::Interrupted),
            trial("2", Outcome::Interrupted),
            trial("2", failed),
        ];
        let all: Vec<&TrialSummary> = trials.iter().collect();
        let found: Vec<_> = counted(&all).iter().map(|t| t.outcome.clone()).collect();
        assert_eq!(found, [Outcome::Completed, Outcome::Interrupted]);
    }
}
