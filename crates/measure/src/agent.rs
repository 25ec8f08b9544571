//! The agents that a load came from.

use serde::{Deserialize, Serialize};

use crate::check::{DELAYED, is_saturated};
use crate::latency::{TotalLatency, ms};
use crate::slice::{Phase, Second};

/// One agent's part of the load of one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentSummary {
    pub label: String,
    /// Number of the server, counted from 1.
    pub server: u32,
    pub transactions: u64,
    pub statements: u64,
    /// Mean response time; `None` if no transaction completed.
    pub response_ms: Option<f64>,
    /// CPUs that the agent may use.
    pub cpus: u32,
    /// CPUs that its workers used on average.
    pub cpus_used: f64,
    /// CPU time of its workers for each statement.
    pub cpu_us_per_statement: Option<f64>,
    /// Mean share of its busiest worker (0 to 1).
    pub busiest: f64,
    /// Open loop only.
    pub lateness_p99_ms: Option<f64>,
    /// How late it read replies, on average. `None` without time stamps.
    pub delay_ms: Option<f64>,
    /// How far its clock was ahead of the coordinator's, which measured it.
    pub clock_ahead_ms: f64,
    /// The shortest round trip to it; half of that bounds the error of `clock_ahead_ms`.
    pub round_trip_ms: f64,
    /// How long after the common start it began.
    pub late_start_ms: Option<f64>,
    /// From when on its part is missing, on the trial's clock; `None` if nothing is.
    pub missing_since_s: Option<f64>,
}

impl AgentSummary {
    /// Whether the agent rather than the server may have limited its load.
    pub fn is_bound(&self) -> bool {
        is_saturated(self.busiest) || self.delayed_share() > DELAYED
    }

    /// The share of the transactions' time in which replies had arrived but were unread.
    pub fn delayed_share(&self) -> f64 {
        let (Some(response_ms), Some(delay_ms)) = (self.response_ms, self.delay_ms) else {
            return 0.0;
        };
        let (transactions, replies) = (self.transactions as f64, self.statements as f64);
        replies * delay_ms / (transactions * (response_ms + delay_ms))
    }
}

/// What an agent has done in the measured seconds so far.
#[derive(Debug, Clone, Default)]
pub struct AgentTotals {
    transactions: u64,
    statements: u64,
    response_ns: u128,
    lateness: TotalLatency,
    delay: TotalLatency,
    /// For each worker, its time on a CPU.
    running_s: Vec<f64>,
    measured_s: f64,
}

impl AgentTotals {
    pub fn add(&mut self, second: &Second) {
        if second.phase != Phase::Measure {
            return;
        }
        let slice = &second.slice;
        self.transactions += slice.response.count();
        self.statements += slice.statement_count();
        self.response_ns += slice.response.sum_ns();
        self.lateness.accumulate(&slice.lateness);
        self.delay.accumulate(&slice.delay);
        let length_s = second.length_ns() as f64 / 1e9;
        self.measured_s += length_s;
        let workers = self.running_s.len().max(second.workers.len());
        self.running_s.resize(workers, 0.0);
        for (sum, busy) in self.running_s.iter_mut().zip(&second.workers) {
            *sum += busy.running * length_s;
        }
    }

    /// Fills in what the seconds show of an agent.
    pub fn finish(&self, agent: AgentSummary) -> AgentSummary {
        let used_s: f64 = self.running_s.iter().sum();
        let share = |time_s: f64| time_s / self.measured_s.max(f64::MIN_POSITIVE);
        let busiest_s = self.running_s.iter().copied().fold(0.0, f64::max);
        let mean_ms = self.response_ns as f64 / self.transactions as f64 / 1e6;
        let cpu_us = used_s * 1e6 / self.statements as f64;
        AgentSummary {
            transactions: self.transactions,
            statements: self.statements,
            response_ms: (self.transactions > 0).then_some(mean_ms),
            cpus_used: share(used_s),
            cpu_us_per_statement: (self.statements > 0).then_some(cpu_us),
            busiest: share(busiest_s),
            lateness_p99_ms: self.lateness.quantile_ns(0.99).map(ms),
            delay_ms: self.delay.mean_ns().map(|mean_ns| mean_ns / 1e6),
            ..agent
        }
    }
}
