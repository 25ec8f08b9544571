//! What was broken during a trial, and how it recovered.

use std::fmt;

use plan::{Ends, FaultKind, FaultVolume};
use serde::{Deserialize, Serialize};

use crate::interval::Estimate;
use crate::summary::ErrorSummary;

/// A fault of a trial. Times are on the trial's clock, in seconds, like `t_s` of its series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultRecord {
    /// Its place in the trial's schedule, from 1.
    pub number: u32,
    /// What was done.
    pub kind: FaultKind,
    /// What the study names as its target: `primary`, `any (seed 7)`, `primary with server 2`.
    pub target: String,
    /// The instance, from 1.
    pub instance: u32,
    /// Which part it is of a fault that is done in parts, from 1; 0: all of it.
    #[serde(default)]
    pub step: u32,
    /// The node that was hit, from 1; `None` if there was none to hit.
    pub node: Option<u32>,
    /// The node's volume that was hit, for faults of volumes.
    #[serde(default)]
    pub volume: FaultVolume,
    /// The device of the volume that was hit, from 1; `None` if it was not one device.
    #[serde(default)]
    pub device: Option<u32>,
    /// When it was asked for.
    pub asked_s: f64,
    /// When it took effect; `None` if it never did.
    pub effect_s: Option<f64>,
    /// When healing was asked for; `None` if it never was.
    pub heal_asked_s: Option<f64>,
    /// When it was healed, such as a restarted server ready; `None` if it never was.
    pub healed_s: Option<f64>,
    /// Why it failed or could not be healed, or that its cluster lost its quorum.
    pub error: Option<String>,
    /// That the server ended because of it.
    #[serde(default)]
    pub crash: Option<Crash>,
    /// What a scrub found.
    #[serde(default)]
    pub scrub: Option<Scrub>,
    /// How dyno made another member the primary, because this fault took away the one that was.
    pub promotion: Option<Promotion>,
    /// How the instance recovered; `None` if the fault had no effect.
    pub recovery: Option<Recovery>,
}

/// The end of a server because of a device that stores its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crash {
    /// When dyno found that it had ended, on the trial's clock, in seconds.
    pub at_s: f64,
    /// How it ended, with the last lines of its log.
    pub reason: String,
}

/// Errors that a scrub found on the devices of a volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scrub {
    /// Blocks that could not be read or differ from their checksums, and bad superblocks.
    pub found: u64,
    /// Blocks that were corrected from another copy or parity.
    pub corrected: u64,
    /// Blocks that no copy could correct.
    pub uncorrectable: u64,
}

/// `25686 errors found, 25684 corrected, 0 uncorrectable`.
impl fmt::Display for Scrub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, corrected) = (self.found, self.corrected);
        let plural = if found == 1 { "" } else { "s" };
        let uncorrectable = self.uncorrectable;
        write!(
            f,
            "{found} error{plural} found, {corrected} corrected, {uncorrectable} uncorrectable"
        )
    }
}

/// A promotion by dyno. Times are on the trial's clock, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Promotion {
    /// The node that is promoted, from 1; `None` if none could be.
    pub node: Option<u32>,
    /// When it was asked for.
    pub asked_s: f64,
    /// When the node had become the primary; `None` if it never did.
    pub done_s: Option<f64>,
    /// Why it did not.
    pub error: Option<String>,
}

/// For people: `promotion of server 2 done at 13.2 s`.
impl fmt::Display for Promotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words();
        match (self.done_s, &self.error) {
            (_, Some(error)) => write!(f, "{words} failed: {error}"),
            (Some(done_s), None) => write!(f, "{words} done at {done_s:.1} s"),
            (None, None) => write!(f, "{words} asked for at {:.1} s", self.asked_s),
        }
    }
}

impl Promotion {
    /// What is done: `promotion of server 2`.
    pub fn words(&self) -> String {
        match self.node {
            Some(node) => format!("promotion of server {node}"),
            None => "promotion of a replica".to_owned(),
        }
    }
}

/// A line for people: `at 12.0 s: kill of server 1 (primary), promotion of server 2 done at 13.2 s,
/// healed at 14.2 s`.
impl fmt::Display for FaultRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {:.1} s: {}", self.asked_s, self.words())?;
        if let Some(promotion) = &self.promotion {
            write!(f, ", {promotion}")?;
        }
        if let Some(crash) = &self.crash {
            write!(f, ", the server ended at {:.1} s", crash.at_s)?;
        }
        if let Some(healed_s) = self.healed_s {
            let healed = match self.kind.rules().ends {
                Ends::Done => "done",
                _ => "healed",
            };
            write!(f, ", {healed} at {healed_s:.1} s")?;
        }
        if let Some(scrub) = &self.scrub {
            write!(f, ", {scrub}")?;
        }
        match (&self.error, self.effect_s) {
            (Some(error), None) => write!(f, ", failed: {error}"),
            (Some(error), Some(_)) => write!(f, "; {error}"),
            (None, _) => Ok(()),
        }
    }
}

impl FaultRecord {
    /// When the times of its recovery begin: with its effect. A fault that an operator plans begins
    /// to cost with the request: a server that shuts down refuses work long before it has ended.
    pub fn origin_s(&self) -> Option<f64> {
        let effect_s = self.effect_s?;
        Some(match self.kind.rules().is_planned {
            true => self.asked_s,
            false => effect_s,
        })
    }

    /// What tells it from the other faults of its trial: its number, its instance, and its step.
    pub fn place(&self) -> (u32, u32, u32) {
        (self.number, self.instance, self.step)
    }

    /// What was done, and to what: `kill of server 1 (primary)`.
    pub fn words(&self) -> String {
        let (kind, target) = (self.kind, &self.target);
        let words = match self.node {
            None => format!("{kind} of {target}"),
            Some(node) if *target == format!("server {node}") => format!("{kind} of {target}"),
            Some(node) => format!("{kind} of server {node} ({target})"),
        };
        let log = match self.volume {
            FaultVolume::Data => "",
            FaultVolume::Log => ", log",
        };
        match (self.device, self.step) {
            (Some(device), _) => format!("{words}{log}, device {device}"),
            (None, 0) => format!("{words}{log}"),
            (None, step) => format!("{words}, step {step}"),
        }
    }
}

/// How an instance recovered from a fault. Times are in seconds from the fault's effect, or from the
/// request of a fault that is planned ([`FaultRecord::origin_s`]); `None` for what did not happen
/// before the next fault or the end of the trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// How long the recovery was observed: until the next fault or the end of the load.
    pub window_s: f64,
    /// The columns of times that were longer than that, such as `recovery.back_s`: what they measure
    /// was still to come.
    pub censored: Vec<String>,
    /// The first error of the load.
    pub first_error_s: Option<f64>,
    /// When the view of another member first showed the change.
    pub detected_s: Option<f64>,
    /// The first write that was sent after the effect and accepted by any member.
    pub first_write_s: Option<f64>,
    /// The same, of the load.
    pub load_write_s: Option<f64>,
    /// When throughput was back to 95 % of what it was before, and stayed there.
    pub back_s: Option<f64>,
    /// The same in seconds from the request to heal the fault, if throughput was back before.
    pub back_after_heal_s: Option<f64>,
    /// When throughput reached a steady level, by change points.
    pub steady_s: Option<f64>,
    /// When the node replicated again.
    pub rejoined_s: Option<f64>,
    /// When all members that had been in service were so again.
    pub redundant_s: Option<f64>,
    /// How long no member accepted a write, in all.
    pub unavailable_s: Option<f64>,
    /// The longest time in which no member accepted a write.
    pub unavailable_longest_s: Option<f64>,
    /// How long two members accepted writes of which only one should.
    pub two_primaries_s: Option<f64>,
    /// The longest time in which no transaction of the load completed.
    pub outage_s: Option<f64>,
    /// Lowest share (0 to 1) of the throughput before, over one second.
    pub lowest_share: Option<f64>,
    /// Transactions that would have completed at the throughput before, and did not.
    pub lost_transactions: Option<f64>,
    /// Transactions per second before the fault.
    pub before: Option<Estimate>,
    /// While it recovered.
    pub during: Option<Estimate>,
    /// After it recovered.
    pub after: Option<Estimate>,
    /// The 99th percentile of response times, in milliseconds: before the fault, until throughput
    /// was back, and after that.
    pub p99_before_ms: Option<f64>,
    /// Until throughput was back.
    pub p99_during_ms: Option<f64>,
    pub p99_after_ms: Option<f64>,
    /// Errors of the load in the meantime, by code.
    pub errors: Vec<TimedErrors>,
    /// Transfers of the ledger that were in flight.
    pub in_flight: Option<InFlight>,
    /// Acknowledged transfers of the ledger that were lost.
    pub loss: Option<Loss>,
}

/// The errors with one code after a fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedErrors {
    /// What they were.
    #[serde(flatten)]
    pub errors: ErrorSummary,
    /// When the first of them came, in seconds like the times of the recovery.
    pub first_s: f64,
    /// When the last of them came.
    pub last_s: f64,
    /// Most of them in one second.
    pub most_per_s: u64,
}

/// Acknowledged transfers that a fault cost, and how many it could have cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Acknowledged transfers that are missing on the final primary.
    pub transactions: u64,
    /// The age of the oldest of them at the effect, in seconds. Where a primary that was cut off
    /// went on, until the last of them; 0 if none was lost.
    pub seconds: f64,
    /// Transfers that were acknowledged in the last millisecond before the effect: with a delay of
    /// the replicas above that, they are what could be lost.
    pub exposed_1_ms: u64,
    /// In the last 10 milliseconds.
    pub exposed_10_ms: u64,
    /// In the last 100 milliseconds.
    pub exposed_100_ms: u64,
}

/// Transfers without a reply when a fault took effect, by what the members have of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    pub committed: u64,
    pub not_committed: u64,
    /// Unknown: no member could be read.
    pub unknown: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promotion_is_under_way_done_or_refused() {
        let under_way = Promotion {
            node: Some(2),
            asked_s: 13.0,
            done_s: None,
            error: None,
        };
        let done = Promotion {
            done_s: Some(13.2),
            ..under_way.clone()
        };
        let refused = Promotion {
            node: None,
            error: Some("nobody is left".to_owned()),
            ..under_way.clone()
        };
        let lines = [under_way, done, refused].map(|promotion| promotion.to_string());
        assert_eq!(
            lines,
            [
                "promotion of server 2 asked for at 13.0 s",
                "promotion of server 2 done at 13.2 s",
                "promotion of a replica failed: nobody is left"
            ]
        );
    }
}
