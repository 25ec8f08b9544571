//! The settings of a load, and how it can end.

use std::time::Duration;

use plan::{Pace, Think};

/// How long a server may send no reply to a load without a time limit. Longer than servers'
/// lock wait timeouts (50 s), after which they reply with an error.
pub const STALL_LIMIT: Duration = Duration::from_secs(60);

/// A load on one server.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSpec {
    /// Virtual users, each with one connection.
    pub users: u32,
    /// Worker threads that they share.
    pub workers: u32,
    /// Load before the measurement.
    pub warmup: Duration,
    /// Longest measurement; `None`: no limit.
    pub time: Option<Duration>,
    /// Most transactions that start in the measurement; `None`: no limit.
    pub events: Option<u64>,
    /// When transactions start.
    pub pace: Pace,
    /// Pause of a virtual user after each transaction.
    pub think: Think,
    /// Seed of everything random.
    pub seed: u64,
    /// Errors that do not stop the load: SQLSTATEs or the engine's own numbers.
    pub ignored_errors: Vec<String>,
    /// Run the workers under SCHED_BATCH, so that they do not preempt a server on the same
    /// host for each reply.
    pub batch_scheduling: bool,
    /// Most connections that are being opened at once.
    pub connect_limit: u32,
    /// A load without a time limit ends when no statement got a reply for this long. Any load
    /// ends when no further connection opened for this long before its start.
    pub stall_limit: Duration,
    /// How long running transactions may take after the load's end.
    pub grace: Duration,
}

/// Why a load ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// It reached its time or its number of transactions.
    Completed,
    /// It was interrupted.
    Interrupted,
    /// The server could not be reached when its time was over, or sent no reply for
    /// [`LoadSpec::stall_limit`].
    ServerLost {
        /// When the last transaction ended, in nanoseconds on the load's clock.
        at_ns: u64,
        /// Why users could not continue.
        error: workload::session::SessionError,
    },
    /// An error that is not in [`LoadSpec::ignored_errors`].
    Failed(workload::session::SessionError),
}
