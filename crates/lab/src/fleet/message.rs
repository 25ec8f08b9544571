//! What agents report of a load. All times are on the coordinator's clock.

use load::{LoadError, LoadEvent, LoadOutcome};
use measure::recovery::TimedError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    Event(LoadEvent),
    /// All users are connected.
    Ready,
    /// A connection failed, so roles may have changed.
    Alert,
    Pulse(PulseReport),
    Ended(Ended),
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PulseReport {
    /// So far.
    pub(super) completed: u64,
    /// Since the last one.
    pub(super) errors: Vec<TimedError>,
    /// When each transaction ended that is awaited.
    pub(super) firsts_ns: Vec<Option<u64>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) how: Result<LoadOutcome, LoadError>,
    /// When its load began.
    pub(super) began_ns: Option<u64>,
}
