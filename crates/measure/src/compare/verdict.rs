//! The verdicts of a comparison, and why there may be none.

use std::fmt;

use serde::Serialize;

use super::{Change, Comparison, MOST_REPEATS, Method};

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    Faster,
    Slower,
    /// Any difference is smaller than the least one that matters.
    Equivalent,
    /// The data are too noisy for any other verdict.
    Undecided {
        /// Repeats of each side, existing ones included, that would give a verdict in 80 % of cases
        /// if the true change and the noise are as observed; `None` if more than [`MOST_REPEATS`].
        repeats_needed: Option<u32>,
    },
    /// There is a change, but nothing was tested.
    NoVerdict {
        reason: NoVerdict,
    },
}

impl Decision {
    /// Name in JSON and CSV.
    pub fn code(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Undecided { .. } => "undecided",
            Self::NoVerdict { .. } => "no_verdict",
        }
    }

    /// Repeats of each side that would allow a verdict; `None` if unknown.
    pub fn repeats_needed(self) -> Option<u32> {
        match self {
            Self::Undecided { repeats_needed }
            | Self::NoVerdict {
                reason: NoVerdict::SingleRun { repeats_needed },
            } => repeats_needed,
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NoVerdict {
    /// The sides ran at different times.
    #[error("no verdict: not interleaved")]
    NotInterleaved,
    /// The trials did not start their own servers: the interval describes these two servers as they
    /// run, not their next start.
    #[error(
        "no verdict: the servers were not restarted, so this applies to these two running servers \
         only; a restart alone can change it by several percent"
    )]
    NotRestarted,
    /// A side has one run, which does not show how much runs differ.
    #[error(
        "no verdict from a single run: {} of each needed", repeats("at least", *.repeats_needed)
    )]
    SingleRun {
        /// Minimum number of repeats of each side that would allow a verdict; `None` if more than
        /// [`MOST_REPEATS`].
        repeats_needed: Option<u32>,
    },
    /// The variants took turns, and what one leaves behind changes the other's next turn.
    #[error(
        "no verdict: turns disturb each other by {change_pct}; run it with alternate = \"never\""
    )]
    CarryOver { change_pct: Change },
    /// The primary metric has no verdict (see [`super::Gated`]).
    #[error("not tested: the primary metric is undecided")]
    Gate,
    /// In a closed loop, the mean response time follows from the throughput.
    #[error("not tested: follows from throughput")]
    FollowsThroughput,
    /// In an open loop, the throughput is the arrival rate.
    #[error("not tested: set by the arrival rate")]
    ArrivalRate,
}

impl Comparison {
    pub fn verdict(&self) -> String {
        let least = 100.0 * self.question.least;
        match self.decision {
            Decision::Faster => "faster".to_owned(),
            Decision::Slower => "slower".to_owned(),
            Decision::Equivalent => format!("equivalent (within ±{least} %)"),
            Decision::Undecided { .. } if matches!(self.method, Method::Ranks { .. }) => {
                "undecided".to_owned()
            }
            Decision::Undecided { repeats_needed } => format!(
                "undecided: if the true change is {1:+.1} %, {0} would decide it",
                repeats("about", repeats_needed),
                self.change_pct.value
            ),
            Decision::NoVerdict { reason } => reason.to_string(),
        }
    }

    /// Whether a verdict may be reached at all.
    pub fn is_tested(&self) -> bool {
        !matches!(self.decision, Decision::NoVerdict { .. })
    }

    /// Whether the sides were found to differ.
    pub fn is_difference(&self) -> bool {
        matches!(self.decision, Decision::Faster | Decision::Slower)
    }

    /// Whether the sides were found to differ or to be equivalent.
    pub fn is_conclusive(&self) -> bool {
        self.is_tested() && !matches!(self.decision, Decision::Undecided { .. })
    }
}

/// For example `+3.0 % (1.2 to 4.8)`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.1} %", self.value)?;
        match self.interval {
            Some(range) => write!(f, " ({:.1} to {:.1})", range.low, range.high),
            None => Ok(()),
        }
    }
}

/// For example `about 12 repeats`.
fn repeats(qualifier: &str, needed: Option<u32>) -> String {
    match needed {
        Some(repeats) => format!("{qualifier} {repeats} repeats"),
        None => format!("more than {MOST_REPEATS} repeats"),
    }
}
