//! What a comparison shows, and why it may show nothing.

use std::fmt;

use serde::Serialize;

use super::{Comparison, MOST_REPEATS};

/// What a comparison shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// The new side is better.
    Faster,
    /// The new side is worse.
    Slower,
    /// Any difference is smaller than the least that matters.
    Equivalent,
    /// The data are too noisy for any of these.
    Undecided {
        /// Repeats of each side, existing ones included, that would give a verdict in 80 %
        /// of the cases if the true change and the noise are as observed; `None`: more than
        /// [`MOST_REPEATS`].
        repeats_needed: Option<u32>,
    },
    /// There is a change, but nothing was tested.
    NoVerdict {
        /// Why.
        reason: NoVerdict,
    },
}

impl Decision {
    /// Its name in JSON and CSV.
    pub fn code(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Undecided { .. } => "undecided",
            Self::NoVerdict { .. } => "no_verdict",
        }
    }

    /// Repeats of each side that would allow a verdict, where that is known.
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

/// Why a change has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NoVerdict {
    /// The sides ran at different times.
    NotInterleaved,
    /// The trials are no starts of their own: the interval is about these two servers as they
    /// run, and says nothing of their next start.
    NotRestarted,
    /// A side has one run, which does not show how much runs differ.
    SingleRun {
        /// Repeats of each side that would allow a verdict, at least; `None`: more than
        /// [`MOST_REPEATS`].
        repeats_needed: Option<u32>,
    },
    /// The primary metric has no verdict (see [`super::Gated`]).
    Gate,
    /// In a closed loop, the mean response time follows from the throughput.
    FollowsThroughput,
    /// In an open loop, the throughput is the arrival rate.
    ArrivalRate,
}

impl Comparison {
    /// The verdict in a few words.
    pub fn verdict(&self) -> String {
        let least = 100.0 * self.question.least;
        match self.decision {
            Decision::Faster => "faster".to_owned(),
            Decision::Slower => "slower".to_owned(),
            Decision::Equivalent => format!("equivalent (within ±{least} %)"),
            Decision::Undecided { repeats_needed } => format!(
                "undecided: if the true change is {1:+.1} %, {0} would decide it",
                repeats(repeats_needed),
                self.change_pct.value
            ),
            Decision::NoVerdict { reason } => reason.to_string(),
        }
    }

    /// Whether a verdict may be reached at all.
    pub fn is_tested(&self) -> bool {
        !matches!(self.decision, Decision::NoVerdict { .. })
    }

    /// Whether the verdict is that the sides differ, or that they do not.
    pub fn is_conclusive(&self) -> bool {
        self.is_tested() && !matches!(self.decision, Decision::Undecided { .. })
    }
}

impl fmt::Display for NoVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInterleaved => f.write_str("no verdict: not interleaved"),
            Self::NotRestarted => {
                f.write_str("no verdict: not restarted, so only about these two running servers")
            }
            Self::SingleRun {
                repeats_needed: None,
            } => write!(
                f,
                "no verdict from a single run: more than {MOST_REPEATS} repeats of each needed"
            ),
            Self::SingleRun {
                repeats_needed: Some(repeats),
            } => write!(
                f,
                "no verdict from a single run: at least {repeats} repeats of each needed"
            ),
            Self::Gate => f.write_str("not tested: the primary metric is undecided"),
            Self::FollowsThroughput => f.write_str("not tested: follows from throughput"),
            Self::ArrivalRate => f.write_str("not tested: set by the arrival rate"),
        }
    }
}

/// `about 12 repeats`.
fn repeats(needed: Option<u32>) -> String {
    match needed {
        Some(repeats) => format!("about {repeats} repeats"),
        None => format!("more than {MOST_REPEATS} repeats"),
    }
}
