//! Trials that dyno ended early.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The rule by which a measurement may end early.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// Target precision: half of the 95 % interval of the mean throughput, as a share of the mean
    /// (0 to 1).
    pub ci: f64,
    pub least_s: f64,
}

impl Until {
    /// The rule of a load; `None` if it has none.
    pub fn of(load: &plan::Load) -> Option<Self> {
        let ci = load.until?.ci;
        let least_s = load.time.as_secs_f64();
        Some(Self { ci, least_s })
    }
}

/// Why dyno ended a measurement early.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Ended {
    Sure {
        after_s: f64,
        at_most_s: f64,
        /// Half of the 95 % interval at the end, as a share of the mean (0 to 1).
        reached: f64,
    },
    /// The server clearly could not keep up with the arrivals.
    Overloaded {
        after_s: f64,
        at_most_s: f64,
        /// Arrivals that were due but not started.
        backlog: u64,
    },
}

impl Ended {
    pub fn saved_s(&self) -> f64 {
        let (Self::Sure {
            after_s, at_most_s, ..
        }
        | Self::Overloaded {
            after_s, at_most_s, ..
        }) = self;
        (at_most_s - after_s).max(0.0)
    }
}

/// For example `target precision reached after 23 s of at most 1800 s: …`.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sure {
                after_s,
                at_most_s,
                reached,
            } => write!(
                f,
                "target precision reached after {after_s:.0} s of at most {at_most_s:.0} s: throughput is known to ±{:.1} %",
                reached * 100.0
            ),
            Self::Overloaded {
                after_s,
                at_most_s,
                backlog,
            } => write!(
                f,
                "overloaded after {after_s:.0} s of at most {at_most_s:.0} s: backlog of {backlog} arrivals"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_when_and_why() {
        let sure = Ended::Sure {
            after_s: 23.02,
            at_most_s: 1800.0,
            reached: 0.0187,
        };
        let said =
            "target precision reached after 23 s of at most 1800 s: throughput is known to ±1.9 %";
        assert_eq!(sure.to_string(), said);
        assert!((sure.saved_s() - 1776.98).abs() < 1e-9);
        let json = serde_json::to_string(&sure).unwrap();
        assert_eq!(serde_json::from_str::<Ended>(&json).unwrap(), sure);
    }
}
