//! The faults of a trial, and how instances recovered from them.

use std::fmt;

use plan::{Ends, Fault, FaultKind, FaultVolume};
use serde::{Deserialize, Serialize};

use crate::interval::Estimate;
use crate::summary::ErrorSummary;

/// A fault of a trial. Times are on the trial's clock, in seconds, like `t_s` of its series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultRecord {
    /// Index in the trial's schedule, counted from 1.
    pub number: u32,
    pub kind: FaultKind,
    /// The target in the study's words: `primary`, `any (seed 7)`, `primary with server 2`.
    pub target: String,
    /// Number of the instance, counted from 1.
    pub instance: u32,
    /// Step of a fault that is carried out in steps, counted from 1; 0 for a whole fault.
    #[serde(default)]
    pub step: u32,
    /// The affected node, counted from 1; `None` if there was none to affect.
    pub node: Option<u32>,
    /// The affected volume of the node, for faults of volumes.
    #[serde(default)]
    pub volume: FaultVolume,
    /// The affected device of the volume, counted from 1; `None` if it was not a single device.
    #[serde(default)]
    pub device: Option<u32>,
    /// When the fault was requested.
    pub asked_s: f64,
    /// When the fault took effect; `None` if it never did.
    pub effect_s: Option<f64>,
    /// When healing was requested; `None` if it never was.
    pub heal_asked_s: Option<f64>,
    /// When the fault was healed, for example a restarted server was ready; `None` if it never was.
    pub healed_s: Option<f64>,
    /// Why the fault failed or could not be healed, or that its cluster lost its quorum.
    pub error: Option<String>,
    /// Set if the server ended because of the fault.
    #[serde(default)]
    pub crash: Option<Crash>,
    /// The result of a scrub.
    #[serde(default)]
    pub scrub: Option<Scrub>,
    /// How dyno promoted another member because this fault took the primary away.
    pub promotion: Option<Promotion>,
    /// `None` if the fault had no effect.
    pub recovery: Option<Recovery>,
}

/// The end of a server because of a device that stores its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crash {
    /// When dyno found that the server had ended, in seconds on the trial's clock.
    pub at_s: f64,
    /// How the server ended, with the last lines of its log.
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

/// For example `25686 errors found, 25684 corrected, 0 uncorrectable`.
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
    /// The node to promote, counted from 1; `None` if no node could be promoted.
    pub node: Option<u32>,
    pub asked_s: f64,
    /// When the node became the primary; `None` if it never did.
    pub done_s: Option<f64>,
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
    /// For example `promotion of server 2`.
    pub fn words(&self) -> String {
        match self.node {
            Some(node) => format!("promotion of server {node}"),
            None => "promotion of a replica".to_owned(),
        }
    }
}

/// For people: `at 12.0 s: kill of server 1 (primary), promotion of server 2 done at 13.2 s, healed
/// at 14.2 s`.
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
    /// The record of a fault that has been requested and has had no effect yet.
    pub fn new(fault: &Fault, number: u32, instance: u32, asked_s: f64) -> Self {
        let options = fault.action.options();
        Self {
            number,
            kind: fault.kind(),
            target: fault.target_words(),
            instance,
            step: 0,
            node: None,
            volume: options.volume,
            device: options.device,
            asked_s,
            effect_s: None,
            heal_asked_s: None,
            healed_s: None,
            error: None,
            crash: None,
            scrub: None,
            promotion: None,
            recovery: None,
        }
    }

    /// The zero of recovery times: the effect of the fault. A planned operation has a cost from its
    /// request on: a server that shuts down refuses work long before it has ended.
    pub fn origin_s(&self) -> Option<f64> {
        let effect_s = self.effect_s?;
        Some(match self.kind.rules().is_planned {
            true => self.asked_s,
            false => effect_s,
        })
    }

    /// Identifies the fault in its trial: number, instance, and step.
    pub fn place(&self) -> (u32, u32, u32) {
        (self.number, self.instance, self.step)
    }

    /// The fault and its target: `kill of server 1 (primary)`.
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

/// How an instance recovered from a fault. Times are in seconds from the fault's effect, or from
/// the request of a planned operation ([`FaultRecord::origin_s`]); `None` for what did not happen
/// before the next fault or the end of the trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Length of the observation: until the next fault or the end of the load.
    pub window_s: f64,
    /// Columns whose times are right-censored, such as `recovery.back_s`: what they measure had not
    /// happened by the end of the observation.
    pub censored: Vec<String>,
    pub first_error_s: Option<f64>,
    /// When another member's view first showed the change.
    pub detected_s: Option<f64>,
    /// When any member accepted the first write that was sent after the effect.
    pub first_write_s: Option<f64>,
    /// When the load's first write that was started after the effect was accepted.
    pub load_write_s: Option<f64>,
    /// When throughput was back at 95 % of its previous value and stayed there.
    pub back_s: Option<f64>,
    /// When throughput that was back before healing was back again, in seconds from the request to
    /// heal.
    pub back_after_heal_s: Option<f64>,
    /// When throughput reached a steady level, by change points.
    pub steady_s: Option<f64>,
    /// When the affected node replicated again.
    pub rejoined_s: Option<f64>,
    /// When all members that had been in service were in service again.
    pub redundant_s: Option<f64>,
    /// Total time in which no member accepted a write.
    pub unavailable_s: Option<f64>,
    /// The longest time in which no member accepted a write.
    pub unavailable_longest_s: Option<f64>,
    /// How long two members accepted writes where only one should.
    pub two_primaries_s: Option<f64>,
    /// The longest time in which no transaction of the load completed.
    pub outage_s: Option<f64>,
    /// Lowest throughput over one second, as a share (0 to 1) of the previous throughput.
    pub lowest_share: Option<f64>,
    /// Transactions that would have completed at the previous throughput, and did not.
    pub lost_transactions: Option<f64>,
    /// Transactions per second before the fault.
    pub before: Option<Estimate>,
    /// Transactions per second during the recovery.
    pub during: Option<Estimate>,
    /// Transactions per second after the recovery.
    pub after: Option<Estimate>,
    /// The 99th percentile of response times before the fault, in milliseconds.
    pub p99_before_ms: Option<f64>,
    pub p99_during_ms: Option<f64>,
    pub p99_after_ms: Option<f64>,
    /// Errors of the load until the end of the observation, by code.
    pub errors: Vec<TimedErrors>,
    /// Transfers of the ledger that had no reply when the fault took effect.
    pub in_flight: Option<InFlight>,
    /// Acknowledged transfers of the ledger that were lost.
    pub loss: Option<Loss>,
}

/// The errors with one code after a fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedErrors {
    #[serde(flatten)]
    pub errors: ErrorSummary,
    /// When the first error occurred, in seconds like the times of the recovery.
    pub first_s: f64,
    /// When the last error occurred.
    pub last_s: f64,
    /// Maximum number of errors in one second.
    pub most_per_s: u64,
}

/// Acknowledged transfers that a fault lost, and how many it could have lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Acknowledged transfers that are missing on the final primary.
    pub transactions: u64,
    /// Age of the oldest lost transfer at the effect, in seconds. If a primary that was cut off
    /// continued, until the last of them. 0 if none was lost.
    pub seconds: f64,
    /// Transfers that were acknowledged in the last millisecond before the effect. If replicas lag
    /// by more than that, these can be lost.
    pub exposed_1_ms: u64,
    /// Transfers that were acknowledged in the last 10 milliseconds.
    pub exposed_10_ms: u64,
    /// Transfers that were acknowledged in the last 100 milliseconds.
    pub exposed_100_ms: u64,
}

/// Transfers without a reply when a fault took effect, by their state on the members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    pub committed: u64,
    pub not_committed: u64,
    /// No member could be read.
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
