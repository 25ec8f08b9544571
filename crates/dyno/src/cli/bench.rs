//! A benchmark of one server, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, ValueEnum};
use measure::threshold::Threshold;
use workload::distribution::Distribution;
use workload::name::WorkloadName;

use super::OutputArgs;
use super::habits;
use super::value::{UndecidedArg, duration, limit, percent, rate};

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// The database: mysql://USER@HOST:PORT/DATABASE, with ?socket=/path for a Unix
    /// socket; sqlite:FILE, or sqlite: for a temporary one. The password is best
    /// given as DYNO_PASSWORD or in an option file.
    #[arg(value_parser = address)]
    pub(crate) url: String,

    /// What each virtual user does.
    #[arg(long, default_value = "oltp_read_write", value_name = "NAME", long_help = workload_help())]
    pub(crate) workload: WorkloadName,
    /// Tables, named sbtest1, sbtest2…
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tables: u32,
    /// Rows in each table.
    #[arg(long, default_value_t = 25_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows: u64,
    /// Virtual users, each with one connection; several numbers (1,4,16) run one after the
    /// other.
    #[arg(long, default_value = "16", value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) threads: Vec<u32>,
    /// Length of the measurement (20, 30s, 5m, 1h30m). [default: 30s, or none with --events]
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub(crate) time: Option<Duration>,
    /// End when sure: once the 95 % interval of the mean throughput is, two looks in a row,
    /// within so much of it, like 2%, and the run steady. Not before --time nor 20s, and not
    /// after --max-time.
    #[arg(long, value_parser = percent, value_name = "PERCENT")]
    pub(crate) until_ci: Option<f64>,
    /// Longest measurement with --until-ci. [default: 30m]
    #[arg(long, value_parser = duration, value_name = "DURATION", requires = "until_ci")]
    pub(crate) max_time: Option<Duration>,
    /// Search the highest rate of arrivals that keeps --p99 (or --p95, --mean), by trials of
    /// --time [default then: 10s] each.
    #[arg(long, requires = "limit", conflicts_with_all = ["rate", "arrivals", "events", "until_ci", "thresholds"])]
    pub(crate) find_max: bool,
    /// With --find-max: 99 % of the response times are below this, like 20ms.
    #[arg(long, value_parser = limit, value_name = "DURATION", group = "limit", requires = "find_max")]
    pub(crate) p99: Option<Duration>,
    /// The same for 95 % of the response times.
    #[arg(long, value_parser = limit, value_name = "DURATION", group = "limit", requires = "find_max")]
    pub(crate) p95: Option<Duration>,
    /// The same for the mean response time.
    #[arg(long, value_parser = limit, value_name = "DURATION", group = "limit", requires = "find_max")]
    pub(crate) mean: Option<Duration>,
    /// Load before the measurement, shown but not counted.
    #[arg(long, default_value = "5s", value_parser = duration, value_name = "DURATION")]
    pub(crate) warmup: Duration,
    /// End after so many transactions. Without --time, the run also ends when the server
    /// has answered no statement for 60 s.
    #[arg(long, value_name = "N")]
    pub(crate) events: Option<u64>,
    /// Open loop: so many transactions arrive each second, whether a user is free or not.
    #[arg(long, value_parser = rate, value_name = "PER_SECOND")]
    pub(crate) rate: Option<f64>,
    /// How the arrivals of --rate are spaced.
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,
    /// Pause of a user after each transaction.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub(crate) think: Duration,
    /// Whether to load the data first.
    #[arg(long, value_enum, default_value_t = PrepareArg::Missing)]
    pub(crate) prepare: PrepareArg,
    /// Create the database (MySQL, MariaDB) if it does not exist.
    #[arg(long)]
    pub(crate) create_database: bool,
    /// Seed of the rows and of every random choice.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Which rows are chosen: uniform, special, gaussian, pareto, zipfian; with
    /// parameters like special:pct=1,res=75 or zipfian:exp=0.99.
    #[arg(long, default_value = "special", value_name = "NAME[:PARAMETERS]")]
    pub(crate) distribution: Distribution,
    /// Worker threads of the generator. [default: one for each CPU; SQLite: one for each user]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: Option<u32>,
    /// What a number has to be, like 'response_ms.p99 < 25' or 'tps >= 0.95 * baseline';
    /// exit code 1 when it is not.
    #[arg(long = "threshold", value_name = "CONDITION", value_parser = crate::thresholds::read)]
    pub(crate) thresholds: Vec<Threshold>,
    /// Whether an undecided threshold, whose limit lies within the 95 % interval of what was
    /// found, passes or fails (exit code 1).
    #[arg(long, value_enum, default_value_t = UndecidedArg::Pass, requires = "thresholds")]
    pub(crate) undecided: UndecidedArg,
    /// The result that thresholds are relative to.
    #[arg(long, value_name = "RESULT")]
    pub(crate) baseline: Option<PathBuf>,
    /// Result directory, which must be new. [default: results/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON on stdout; progress goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten, next_help_heading = "Connection")]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten, next_help_heading = "Transaction (as in sysbench)")]
    pub(crate) transaction: TransactionArgs,
}

/// How to reach a server.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// How much TLS. [default: preferred; verify-full with --tls-ca]
    #[arg(
        long,
        value_enum,
        requires = "url",
        long_help = "How much TLS: disable; preferred (if the server offers it, not verified); required (or no connection, not verified); verify-ca (from a trusted authority); verify-full (and made out to the server's name). [default: preferred; verify-full with --tls-ca]"
    )]
    pub(crate) tls_mode: Option<TlsModeArg>,
    /// File of trusted authorities (PEM) instead of the system's.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The client's certificate (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "url"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of the client's certificate (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "url"])]
    pub(crate) tls_key: Option<PathBuf>,
    /// Accept any public key that the server presents, to send it the password.
    #[arg(
        long,
        requires = "url",
        conflicts_with = "server_public_key_path",
        long_help = "Accept any public key that the server presents, to send it the password. caching_sha2_password (MySQL's default) and sha256_password require the password itself at an account's first login. Without this option, it is sent only over a Unix socket, over TLS with a verified certificate, or encrypted with the key in --server-public-key-path. Unlike MySQL's own client, dyno does not consider unverified TLS safe."
    )]
    pub(crate) get_server_public_key: bool,
    /// File with the server's RSA public key (PEM), to encrypt the password without TLS.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) server_public_key_path: Option<PathBuf>,
    /// Send the password in clear text (mysql_clear_password) without verifying the server.
    #[arg(long, requires = "url")]
    pub(crate) enable_cleartext_plugin: bool,
    /// Read user and password from a file of my.cnf's form.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) option_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectionArgs {
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Prepared statements, or the whole text each time.
    #[arg(long, value_enum, default_value_t = ProtocolArg::Prepared)]
    pub(crate) protocol: ProtocolArg,
    /// When a reply counts as there: as the kernel stamped its arrival (over TCP), or when
    /// dyno has read it.
    #[arg(long, value_enum, default_value_t = ReplyTimeArg::Kernel)]
    pub(crate) reply_time: ReplyTimeArg,
    /// Connections that are opened at once.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connect_limit: u32,
    /// Connections that load data side by side.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) load_connections: u32,
    /// Error codes that do not stop the load, like 1062,1290.
    #[arg(long, value_delimiter = ',', value_name = "CODES")]
    pub(crate) ignore_errors: Vec<u32>,
    /// Do not sample host and server each second, nor ask the server for anything but its work.
    #[arg(long)]
    pub(crate) no_monitors: bool,
    /// Do not run the workers under SCHED_BATCH.
    #[arg(long)]
    pub(crate) no_batch_scheduling: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TransactionArgs {
    /// Highest key that is drawn; more than --rows makes lookups miss. [default: --rows]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) key_range: Option<u64>,
    /// Rows of a range SELECT.
    #[arg(long, default_value_t = 100)]
    pub(crate) range_size: u64,
    /// Point SELECTs in a transaction.
    #[arg(long, default_value_t = 10)]
    pub(crate) point_selects: u32,
    /// Simple range SELECTs in a transaction.
    #[arg(long, default_value_t = 1)]
    pub(crate) simple_ranges: u32,
    /// SELECT SUM()s in a transaction.
    #[arg(long, default_value_t = 1)]
    pub(crate) sum_ranges: u32,
    /// SELECTs with ORDER BY in a transaction.
    #[arg(long, default_value_t = 1)]
    pub(crate) order_ranges: u32,
    /// SELECT DISTINCTs in a transaction.
    #[arg(long, default_value_t = 1)]
    pub(crate) distinct_ranges: u32,
    /// UPDATEs of the indexed column in a transaction.
    #[arg(long, default_value_t = 1)]
    pub(crate) index_updates: u32,
    /// UPDATEs of another column in a transaction.
    #[arg(long, default_value_t = 1)]
    pub(crate) non_index_updates: u32,
    /// Pairs of DELETE and INSERT in a transaction.
    #[arg(long, default_value_t = 1)]
    pub(crate) delete_inserts: u32,
    /// Whether there are range SELECTs at all.
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) range_selects: bool,
    /// No BEGIN and COMMIT: each statement is its own transaction.
    #[arg(long, action = ArgAction::Set, value_name = "BOOL", num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, value_parser = BoolishValueParser::new())]
    pub(crate) skip_trx: bool,
    /// A secondary index on id in place of the primary key.
    #[arg(long, action = ArgAction::Set, value_name = "BOOL", num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, value_parser = BoolishValueParser::new())]
    pub(crate) secondary: bool,
    /// Whether column k is indexed.
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) create_secondary: bool,
    /// Whether the server numbers new rows.
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub(crate) auto_inc: bool,
    /// Keys of a select_random_points.
    #[arg(long, default_value_t = 10)]
    pub(crate) random_points: u32,
    /// Ranges of a select_random_ranges.
    #[arg(long, default_value_t = 10)]
    pub(crate) number_of_ranges: u32,
    /// Width of a range of select_random_ranges.
    #[arg(long, default_value_t = 5)]
    pub(crate) delta: u64,
    /// Storage engine of new tables.
    #[arg(long, default_value = "innodb", value_name = "NAME")]
    pub(crate) storage_engine: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// At random, like independent users.
    Poisson,
    /// Evenly.
    Constant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrepareArg {
    /// Load the tables that are not there.
    Missing,
    /// Load what is missing, and do not run.
    Only,
    /// Drop and load all tables anew.
    Always,
    /// Use what is there without a look.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsModeArg {
    /// None.
    Disable,
    /// If the server offers it; not checked.
    Preferred,
    /// Or no connection; not checked.
    Required,
    /// From a trusted authority.
    VerifyCa,
    /// And made out to the server's name.
    VerifyFull,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolArg {
    /// Prepared once for each connection.
    Prepared,
    /// As text, each time anew.
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplyTimeArg {
    /// The kernel's time stamp, where there is one.
    Kernel,
    /// The program's clock.
    Program,
}

/// A word of sysbench's in place of an address is told apart from a misspelled address.
fn address(text: &str) -> Result<String, String> {
    match habits::workload(text) {
        Some(workload) => Err(format!(
            "it is a workload, not an address; write `dyno bench URL --workload {workload}`"
        )),
        None => Ok(text.to_owned()),
    }
}

fn workload_help() -> String {
    let mut text = "What each virtual user does:".to_owned();
    for name in WorkloadName::ALL {
        text.push_str(&format!("\n  {:<24} {}", name.name(), name.summary()));
    }
    text
}
