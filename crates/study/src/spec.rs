//! What the parts of one trial are: plain meaning, no text left to interpret.

use std::fmt;
use std::time::Duration;

use crate::redact::redact_url;
use crate::span::Spanned;

/// The server under load.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerSpec {
    /// Started for the study, and ended with it.
    Engine(Engine),
    /// Runs already.
    Url(Spanned<ServerUrl>),
}

/// An engine that dyno can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// SQLite, in process, on a temporary database.
    Sqlite,
}

/// Address of a server. Shown, it has no password; only [`ServerUrl::expose`] has.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(pub(crate) String);

impl ServerUrl {
    /// The address as typed, with its password: for connecting, never for showing.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact_url(&self.0))
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({self})")
    }
}

/// What the server holds before the trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSpec {
    /// Number of tables.
    pub tables: u32,
    /// Rows in each table.
    pub rows: u64,
    /// Seed of every random choice.
    pub seed: u64,
}

/// What virtual users do.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSpec {
    /// Name of the workload; the caller knows which there are.
    pub workload: Spanned<String>,
    /// Name of the distribution of rows; the caller knows which there are.
    pub distribution: Spanned<String>,
    /// Virtual users.
    pub threads: u32,
    /// Load before the measurement.
    pub warmup: Duration,
    /// Length of the measurement.
    pub time: Duration,
    /// Transactions after which the measurement ends early.
    pub events: Option<u64>,
    /// When transactions start.
    pub pace: Pace,
    /// Pause of a virtual user after each transaction.
    pub think: Duration,
}

/// When transactions start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// When the virtual user's last one has ended.
    Closed,
    /// When they arrive, whether or not a virtual user is free.
    Open {
        /// Mean arrivals per second, for the whole trial.
        rate_per_s: f64,
        /// How the arrivals are spaced.
        arrivals: Arrivals,
    },
}

/// How arrivals of an open loop are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// At random, like independent users.
    Poisson,
    /// Evenly.
    Constant,
}
