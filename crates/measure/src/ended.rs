//! Trials that came to their end before their time, on purpose.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The rule by which a measurement may end before its time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// Half of the 95 % interval of the mean throughput, as a share of it (0 to 1).
    pub ci: f64,
    /// Not before so many seconds.
    pub least_s: f64,
}

/// Why a measurement ended before its time, as it was meant to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Ended {
    /// The mean throughput was known well enough.
    Sure {
        /// After so many seconds of measurement…
        after_s: f64,
        /// …of at most so many.
        at_most_s: f64,
        /// Half of the interval then, as a share of the mean (0 to 1).
        reached: f64,
    },
    /// It was clear that more arrives than is done.
    Overloaded {
        /// After so many seconds of measurement…
        after_s: f64,
        /// …of at most so many.
        at_most_s: f64,
        /// Arrivals that were due and not started.
        backlog: u64,
    },
}

impl Ended {
    /// Seconds of measurement that were not needed.
    #[must_use]
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

/// A sentence without its subject: `sure after 23 s of at most 1800 s: …`.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sure {
                after_s,
                at_most_s,
                reached,
            } => write!(
                f,
                "sure after {after_s:.0} s of at most {at_most_s:.0} s: throughput is known to ±{:.1} %",
                reached * 100.0
            ),
            Self::Overloaded {
                after_s,
                at_most_s,
                backlog,
            } => write!(
                f,
                "overloaded after {after_s:.0} s of at most {at_most_s:.0} s: {backlog} arrivals wait"
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
        let said = "sure after 23 s of at most 1800 s: throughput is known to ±1.9 %";
        assert_eq!(sure.to_string(), said);
        assert!((sure.saved_s() - 1776.98).abs() < 1e-9);
        let json = serde_json::to_string(&sure).unwrap();
        assert_eq!(serde_json::from_str::<Ended>(&json).unwrap(), sure);
    }
}
