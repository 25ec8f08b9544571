//! What a load is to do.

use std::time::Duration;

/// How long the servers that dyno drives may do nothing at all, unless there is a limit of
/// time: longer than servers' lock wait timeouts (50 s), after which they answer.
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
    /// The measurement's length, at most.
    pub time: Option<Duration>,
    /// Transactions to start in the measurement, at most.
    pub events: Option<u64>,
    /// When transactions start.
    pub pace: Pace,
    /// Pause of a virtual user behind each transaction.
    pub think: Duration,
    /// Seed of everything random.
    pub seed: u64,
    /// Error codes that do not stop the load.
    pub ignored_errors: Vec<u32>,
    /// Run the workers under SCHED_BATCH, so that a server on the same host is
    /// not interrupted for each reply's reader.
    pub batch_scheduling: bool,
    /// Connections that are opened at once.
    pub connect_limit: u32,
    /// A load without a limit of time ends when no statement got a reply for so long; so
    /// does one of which no further connection could be opened for so long.
    pub stall_limit: Duration,
    /// How long a running transaction may take to end after the load's end.
    pub grace: Duration,
}

/// When transactions start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Each user starts its next when the last has ended.
    Closed,
    /// They arrive on their own, so many in a second, and wait for a free user.
    Open {
        /// Arrivals in a second, over all users.
        per_s: f64,
        /// How they are spread.
        arrivals: Arrivals,
    },
}

/// How arrivals are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// At random, as independent customers come: exponential distances.
    Poisson,
}

/// Why a load ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// Its time or its number of transactions was reached.
    Completed,
    /// Somebody asked it to stop.
    Interrupted,
    /// Its time was over, but the server was away then; or the server did nothing for
    /// [`LoadSpec::stall_limit`].
    ServerLost {
        /// When the last transaction ended, in nanoseconds on the load's clock.
        at_ns: u64,
        /// Why users could not go on.
        error: workload::session::SessionError,
    },
    /// An error that is not to be ignored.
    Failed(workload::session::SessionError),
}
