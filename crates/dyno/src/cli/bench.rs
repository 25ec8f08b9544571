//! The arguments of `dyno bench`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lab::RunOptions;
use measure::threshold::Threshold;

use super::OutputArgs;
use super::habits;
use super::options::{LoginOptions, TrialOptions};
use super::value::{UndecidedArg, threshold};

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[arg(required = true, value_name = "URL", value_parser = address, help = url_help())]
    pub(crate) url: Vec<String>,

    #[command(flatten)]
    pub(crate) options: TrialOptions,
    /// Whether to load data first.
    #[arg(long, value_enum, default_value_t = PrepareArg::Missing)]
    pub(crate) prepare: PrepareArg,
    /// Create the server's database if it does not exist.
    #[arg(long)]
    pub(crate) create_database: bool,
    /// Worker threads of the load generator. [default: one per CPU; one per virtual user for a
    /// database that runs inside dyno]
    #[arg(long, hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: Option<u32>,
    /// A condition on a result, such as 'response_ms.p99 < 25' or 'tps >= 0.95 * baseline';
    /// exit code 1 if it is not met.
    #[arg(long = "threshold", value_name = "CONDITION", value_parser = threshold)]
    pub(crate) thresholds: Vec<Threshold>,
    /// Whether an undecided threshold passes or fails (exit code 1): one whose limit lies within
    /// the 95 % confidence interval of the result.
    #[arg(long, hide_short_help = true, value_enum, default_value_t = UndecidedArg::Pass, requires = "thresholds")]
    pub(crate) undecided: UndecidedArg,
    /// Result directory that thresholds with `baseline` refer to.
    #[arg(long, value_name = "RESULT")]
    pub(crate) baseline: Option<PathBuf>,
    /// Result directory, which must be new. [default: results/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten, next_help_heading = "Connection")]
    pub(crate) connection: ConnectionArgs,
}

/// How to log in to a server.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) options: LoginOptions,
    /// Read user and password from the [client] group of an option file (my.cnf format).
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) option_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectionArgs {
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Maximum number of connections being opened at the same time, at least one per worker.
    #[arg(long, hide_short_help = true, default_value_t = RunOptions::default().connect_limit, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connect_limit: u32,
    /// Number of connections that load data in parallel.
    #[arg(long, hide_short_help = true, default_value_t = RunOptions::default().load_connections, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) load_connections: u32,
    /// Errors that do not stop the load: SQLSTATEs or the engine's own numbers, such as
    /// 23505,1062.
    #[arg(long, hide_short_help = true, value_delimiter = ',', value_name = "CODES", value_parser = error_code)]
    pub(crate) ignore_errors: Vec<String>,
    /// Do not sample host and server counters, and send the server nothing but the load.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_monitors: bool,
    /// Do not run worker threads under SCHED_BATCH.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_batch_scheduling: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrepareArg {
    /// Load missing tables.
    Missing,
    /// Load missing tables, without running the benchmark.
    Only,
    /// Drop and reload all tables.
    Always,
    /// Use existing tables without checking them.
    Never,
}

/// What `dyno bench --help` ends with.
pub(super) fn examples() -> String {
    let local = super::example_url("root@127.0.0.1:3306");
    let remote = super::example_url("bench@db1");
    format!(
        "Examples:
  dyno bench {local} --threads 64 --time 60s
  dyno bench {remote} --workload oltp_point_select --option-file ~/.my.cnf
  dyno bench {remote} --rate 500
  dyno bench {remote} --find-max --p99 20ms
  dyno bench {} --threads 4 --time 10s
  dyno bench {local} {remote} --time 60s

Several servers take turns of about a second, so that a slowdown of the host affects all of them,
and the throughput of each is compared with that of the first. The interval applies to these
server processes only: a restart alone can change throughput by several percent. To compare
configurations, let dyno start the servers: use [compare] in a study.",
        engine::in_process()
            .map(|any| any.temporary_url)
            .next()
            .unwrap_or_default()
    )
}

fn url_help() -> String {
    let forms = engine::ENGINES.map(|engine| format!("\n  {}", engine.about().url_syntax));
    format!(
        "The database, as a URL of one of these forms:{}\n\
         With several URLs, the servers are compared in turns. \
         Without FILE, the database is temporary. Give passwords in DYNO_PASSWORD or an option file.",
        forms.concat()
    )
}

/// Reads an SQLSTATE (five letters and digits) or an engine's own number.
fn error_code(text: &str) -> Result<String, String> {
    let is_sqlstate = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_sqlstate || text.parse::<u32>().is_ok() {
        return Ok(text.to_ascii_uppercase());
    }
    Err("neither an SQLSTATE, such as 40001, nor an error number, such as 1062".to_owned())
}

/// Rejects names of workloads and commands, which other tools take in this position.
fn address(text: &str) -> Result<String, String> {
    match habits::is_of_another_tool(text) {
        true => Err("this is not a URL".to_owned()),
        false => Ok(text.to_owned()),
    }
}
