//! A benchmark of one server, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lab::Manner;
use measure::threshold::Threshold;

use super::OutputArgs;
use super::habits;
use super::options::{LoginOptions, TrialOptions};
use super::value::UndecidedArg;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// The database: mysql://USER@HOST:PORT/DATABASE, with ?socket=/path for a Unix
    /// socket; sqlite:FILE, or sqlite: for a temporary one. The password is best
    /// given as DYNO_PASSWORD or in an option file.
    #[arg(value_parser = address)]
    pub(crate) url: String,

    #[command(flatten)]
    pub(crate) options: TrialOptions,
    /// Whether to load the data first.
    #[arg(long, value_enum, default_value_t = PrepareArg::Missing)]
    pub(crate) prepare: PrepareArg,
    /// Create the database (MySQL, MariaDB) if it does not exist.
    #[arg(long)]
    pub(crate) create_database: bool,
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
}

/// How to reach a server.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) options: LoginOptions,
    /// Read user and password from a file of my.cnf's form.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) option_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectionArgs {
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Connections that are opened at once.
    #[arg(long, default_value_t = Manner::default().connect_limit, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connect_limit: u32,
    /// Connections that load data side by side.
    #[arg(long, default_value_t = Manner::default().load_connections, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) load_connections: u32,
    /// Errors that do not stop the load: SQLSTATEs or the engine's own numbers, like 23505,1062.
    #[arg(long, value_delimiter = ',', value_name = "CODES", value_parser = error_code)]
    pub(crate) ignore_errors: Vec<String>,
    /// Do not sample host and server each second, nor ask the server for anything but its work.
    #[arg(long)]
    pub(crate) no_monitors: bool,
    /// Do not run the workers under SCHED_BATCH.
    #[arg(long)]
    pub(crate) no_batch_scheduling: bool,
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

/// Reads an SQLSTATE (five letters and digits) or an engine's own number.
fn error_code(text: &str) -> Result<String, String> {
    let is_sqlstate = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_sqlstate || text.parse::<u32>().is_ok() {
        return Ok(text.to_ascii_uppercase());
    }
    Err("neither an SQLSTATE, such as 40001, nor an error number, such as 1062".to_owned())
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
