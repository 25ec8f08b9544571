//! What the parts of one trial are: plain meaning, no text left to interpret.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::redact::redact_url;
use crate::span::{Span, Spanned};

/// The server under load.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerSpec {
    /// Started for the study, and ended with it.
    Engine(Box<EngineSpec>),
    /// Runs already: where, and how to log in.
    Url(Spanned<ServerUrl>, Box<LoginSpec>),
}

/// How to log in to a server that runs already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginSpec {
    /// How much TLS; `None`: as much as the other keys mean.
    pub tls_mode: Option<TlsMode>,
    /// File of trusted authorities.
    pub tls_ca: Option<PathBuf>,
    /// File of the client's certificate.
    pub tls_cert: Option<PathBuf>,
    /// File of its key.
    pub tls_key: Option<PathBuf>,
    /// Whether whatever key the server names is accepted.
    pub get_server_public_key: bool,
    /// File of the server's RSA public key.
    pub server_public_key_path: Option<PathBuf>,
    /// Whether the password may go in clear.
    pub enable_cleartext_plugin: bool,
}

/// How much TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// None.
    Disable,
    /// If the server offers it; not verified.
    Preferred,
    /// Or no connection; not verified.
    Required,
    /// From a trusted authority.
    VerifyCa,
    /// And made out to the server's name.
    VerifyFull,
}

/// A server that dyno starts. For an engine that is no process of its own all
/// but `engine` is as if it had not been typed.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSpec {
    /// Which engine.
    pub engine: Engine,
    /// Where the engine was typed.
    pub span: Span,
    /// Absolute path of the directory below which its programs are; `None`: look
    /// in the usual places.
    pub basedir: Option<Spanned<PathBuf>>,
    /// Leading components of the version it must have, such as `10.11`: numbers
    /// with dots between them. See [`EngineSpec::has_version`].
    pub version: Option<Spanned<String>>,
    /// Port of the first instance, from 1024; the others have the ones that
    /// follow, all of which exist. `None`: any free ports.
    pub port: Option<Spanned<u16>>,
    /// CPUs that each server may use, from 0.01; `None`: all.
    pub cpus: Option<Spanned<f64>>,
    /// Absolute path of the directory below which each server's data lies; `None`:
    /// the caller's own.
    pub directory: Option<Spanned<PathBuf>>,
    /// Settings for its option file in order of name, names with `_` for `-` and
    /// none twice. Values have no control characters and at most 1,000 bytes,
    /// but are not quoted for the file yet.
    pub config: Vec<(String, Spanned<String>)>,
    /// How a trial gets its data.
    pub reset: Reset,
    /// Whether new data is on disk and out of the page cache before its server starts.
    pub cold_data: bool,
}

impl EngineSpec {
    /// Whether a server of version `actual`, such as `10.11.14`, is one that the
    /// study takes.
    pub fn has_version(&self, actual: &str) -> bool {
        self.version.as_ref().is_none_or(|wanted| {
            let rest = actual.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    }
}

/// An engine that dyno can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// SQLite, in process, on a temporary database.
    Sqlite,
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

impl Engine {
    /// Whether it runs as a process of its own.
    pub fn is_process(self) -> bool {
        self != Self::Sqlite
    }

    /// The word for it in a study.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }
}

/// How a trial gets its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reset {
    /// From a copy of a data directory that was prepared once.
    #[default]
    Copy,
    /// Each trial prepares its own.
    Rebuild,
    /// Each goes on with what the trial before it left.
    None,
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

/// What each server holds before the trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSpec {
    /// Number of tables.
    pub tables: u32,
    /// Rows in each table.
    pub rows: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether the server numbers new rows.
    pub auto_inc: bool,
    /// Whether column `k` is indexed.
    pub create_secondary: bool,
    /// A secondary index on `id` in place of the primary key.
    pub secondary: bool,
    /// Storage engine of the tables; the caller knows which names are safe.
    pub storage_engine: String,
}

/// What one transaction holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionSpec {
    /// Selects of one row.
    pub point_selects: u32,
    /// Whether there are range selects at all.
    pub range_selects: bool,
    /// Plain range selects.
    pub simple_ranges: u32,
    /// Range selects with `SUM()`.
    pub sum_ranges: u32,
    /// Range selects with `ORDER BY`.
    pub order_ranges: u32,
    /// Range selects with `DISTINCT`.
    pub distinct_ranges: u32,
    /// Rows of a range select, at least 1.
    pub range_size: u64,
    /// Updates of the indexed column.
    pub index_updates: u32,
    /// Updates of another column.
    pub non_index_updates: u32,
    /// Pairs of delete and insert.
    pub delete_inserts: u32,
    /// No BEGIN and COMMIT.
    pub skip_trx: bool,
    /// Keys of a `select_random_points`, at least 1.
    pub random_points: u32,
    /// Ranges of a `select_random_ranges`, at least 1.
    pub number_of_ranges: u32,
    /// Width of each of them.
    pub delta: u64,
}

/// What the virtual users of each server do.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSpec {
    /// Name of the workload; the caller knows which there are.
    pub workload: Spanned<String>,
    /// Name of the distribution of rows; the caller knows which there are.
    pub distribution: Spanned<String>,
    /// Highest key that transactions choose; `None`: the number of rows.
    pub key_range: Option<u64>,
    /// How statements are sent.
    pub protocol: Protocol,
    /// When a reply counts as there.
    pub reply_time: ReplyTime,
    /// Virtual users of each server.
    pub threads: u32,
    /// Whether every table and index is read once before the warm-up.
    pub preload: bool,
    /// Load before the measurement.
    pub warmup: Duration,
    /// Length of the measurement; with `until` the least, with `find_max` that of a
    /// step.
    pub time: Duration,
    /// When the measurement may end.
    pub until: Option<Until>,
    /// The search that takes the place of a trial.
    pub find_max: Option<FindMax>,
    /// Transactions after which the measurement ends early.
    pub events: Option<u64>,
    /// When transactions start.
    pub pace: Pace,
    /// Pause of a virtual user after each transaction.
    pub think: Duration,
}

impl LoadSpec {
    /// The longest that the measurement can take.
    pub fn longest(&self) -> Duration {
        self.until.map_or(self.time, |until| until.max)
    }
}

/// Ends a measurement when it is sure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Until {
    /// Half of the interval of the mean throughput, as a share of it.
    pub ci: f64,
    /// The longest measurement.
    pub max: Duration,
}

/// A search for the highest rate that holds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindMax {
    /// What is limited.
    pub of: Limited,
    /// The limit.
    pub limit: Duration,
}

/// A number of the response times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// Their mean.
    Mean,
    /// 95 % are no longer.
    P95,
    /// 99 % are no longer.
    P99,
}

impl Limited {
    /// The word for it in a study.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P95 => "p95",
            Self::P99 => "p99",
        }
    }
}

/// The keys that limit a search.
pub(crate) const LIMITS: [(&str, Limited); 3] = [
    ("load.find_max.p99", Limited::P99),
    ("load.find_max.p95", Limited::P95),
    ("load.find_max.mean", Limited::Mean),
];

/// How statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Prepared once for each connection, executed by number.
    Prepared,
    /// As text each time.
    Text,
}

/// When a reply counts as there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyTime {
    /// When its last bytes reached this host, as the kernel stamped them.
    Kernel,
    /// When the program has read them.
    Program,
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
