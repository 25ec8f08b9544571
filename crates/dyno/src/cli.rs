//! The command line, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use measure::threshold::Threshold;
use workload::distribution::Distribution;
use workload::name::WorkloadName;

/// A dynamometer for OLTP databases.
#[derive(Debug, Parser)]
#[command(
    version,
    about = "A dynamometer for OLTP databases: drives a load, measures what the database gives, says how sure it is.",
    after_help = "Start here:\n  dyno run studies/quickstart.toml         a first study, without any server\n  dyno bench mysql://root@127.0.0.1/sbtest  one benchmark of a server that runs\n\nExit codes: 0 done, 1 a threshold failed, 2 bad usage or bad study, 3 a server could not be started or reached,\n4 interrupted (partial results kept), 5 internal error."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Benchmark one server: prepare its data, warm up, run, report.
    #[command(
        after_help = "Examples:\n  dyno bench mysql://root@127.0.0.1:3306/sbtest --threads 64 --time 60s\n  dyno bench 'mysql://root@localhost/sbtest?socket=/run/mysqld/mysqld.sock' --workload oltp_point_select\n  dyno bench sqlite: --threads 4 --time 10s\n  dyno bench mysql://bench@db1/sbtest --find-max --p99 20ms\n  dyno bench mysql://bench@db1/sbtest --rate 500 --option-file ~/.my.cnf"
    )]
    Bench(Box<BenchArgs>),
    /// Run a study: one file that describes an experiment.
    #[command(
        after_help = "Example:\n  dyno run studies/quickstart.toml --set load.time=5s\n\nEvery key of a study file is explained in docs/study.md."
    )]
    Run(RunArgs),
    /// Show what a study would do: its trials with the time, disk and memory they need.
    #[command(
        after_help = "Starts nothing and writes nothing.\n\nExample:\n  dyno plan studies/p2-scale-up.toml"
    )]
    Plan(StudyArgs),
    /// Look for what will spoil a measurement, on this host and in a server.
    #[command(
        after_help = "Changes nothing. docs/doctor.md explains every check, with its source.\n\nExamples:\n  dyno doctor\n  dyno doctor mysql://root@127.0.0.1:3306/sbtest\n  dyno doctor --study studies/p2-scale-up.toml"
    )]
    Doctor(DoctorArgs),
    /// Write the report of a result again.
    #[command(after_help = "Example:\n  dyno report results/20260101T120000Z-scale-up")]
    Report(ReportArgs),
    /// Hold one result, or one variant of a study, against another.
    #[command(
        after_help = "Examples:\n  dyno compare results/hardware results/vm --out vm-against-hardware\n  dyno compare results/pool-sizes --base 1G --new 4G"
    )]
    Compare(CompareArgs),
    /// Rank results: leader boards by category and number of servers.
    #[command(
        after_help = "Each variant of each result stands at its best point in throughput, or at the one that --point\nchooses. The category of a result is the directory that it lies in.\n\nExample:\n  dyno rank results/pcie/* results/sata/* --out boards"
    )]
    Rank(RankArgs),
    /// Show the same study over time, and where its throughput changed.
    #[command(
        after_help = "Results may be given in any order; they are shown by the time at which they began. A change of\nlevel takes six results: three before it and three after.\n\nExample:\n  dyno history results/nightly/* --point load.threads=16"
    )]
    History(HistoryArgs),
    /// How many servers a load needs, from what one gave with one instance and more.
    #[command(
        after_help = "Servers = need / (throughput of one x efficiency), rounded up, for every number of instances\nthat was measured, each at its best point. Without --efficiency it is 1 - contention of the\nscalability law that fits the result, which takes six numbers of instances.\n\nExample:\n  dyno size results/scale-up --need 17000 --efficiency 0.9 --price 12000"
    )]
    Size(SizeArgs),
    /// Remove what a killed run left behind: its servers and their directories.
    #[command(
        after_help = "Leaves alone what belongs to a dyno that runs. Every run does the same when it begins."
    )]
    Clean(CleanArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// The database: mysql://USER@HOST:PORT/DATABASE, with ?socket=/path for a Unix
    /// socket; sqlite:FILE, or sqlite: for a temporary one. The password is best
    /// given as DYNO_PASSWORD or in an option file.
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
    /// Virtual users, each with one connection.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) threads: u32,
    /// Length of the measurement (30s, 5m, 1h30m). [default: 30s, or none with --events]
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
    /// End after so many transactions.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
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
    /// Seed of the rows and of every random choice.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Which rows are chosen: uniform, special, gaussian, pareto, zipfian; with
    /// parameters like special:pct=1,res=75 or zipfian:exp=0.99.
    #[arg(long, default_value = "special", value_name = "NAME[:PARAMETERS]")]
    pub(crate) distribution: Distribution,
    /// Worker threads of the generator. [default: one for every 4 CPUs; SQLite: one a user]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) workers: Option<u32>,
    /// What a number has to be, like 'response_ms.p99 < 25' or 'tps >= 0.95 * baseline';
    /// exit code 1 when it is not.
    #[arg(long = "threshold", value_name = "CONDITION", value_parser = crate::thresholds::read)]
    pub(crate) thresholds: Vec<Threshold>,
    /// The result that thresholds are relative to.
    #[arg(long, value_name = "RESULT")]
    pub(crate) baseline: Option<PathBuf>,
    /// Result directory, which must be new. [default: results/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON on stdout; progress goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten, next_help_heading = "Connection")]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten, next_help_heading = "Transaction (as in sysbench)")]
    pub(crate) transaction: TransactionArgs,
}

/// How to reach a server.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// How much TLS.
    #[arg(long, value_enum, default_value_t = TlsModeArg::Preferred, requires = "url", long_help = "How much TLS: disable; preferred (if the server offers it, unchecked); required (or no connection, unchecked); verify-ca (trusted authority); verify-full (and the right name). Naming --tls-ca without a mode means verify-full.")]
    pub(crate) tls_mode: TlsModeArg,
    /// File of trusted authorities (PEM) instead of the system's.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The client's certificate (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "url"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of the client's certificate (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["tls_cert", "url"])]
    pub(crate) tls_key: Option<PathBuf>,
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
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    pub(crate) range_selects: bool,
    /// No BEGIN and COMMIT: each statement is its own transaction.
    #[arg(long)]
    pub(crate) skip_trx: bool,
    /// A secondary index on id in place of the primary key.
    #[arg(long)]
    pub(crate) secondary: bool,
    /// Whether column k is indexed.
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    pub(crate) create_secondary: bool,
    /// Whether the server numbers new rows.
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
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

#[derive(Debug, Args)]
pub(crate) struct StudyArgs {
    /// The study file.
    pub(crate) study: PathBuf,
    /// Put another value in place of the study's, like load.time=5s.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) overrides: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) study: StudyArgs,
    /// Result directory, which must be new. [default: results/TIME-TITLE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with a run that was cut off, from the first trial that is not whole: the
    /// one in --out, or the latest of this study.
    #[arg(long)]
    pub(crate) resume: bool,
    /// The result that thresholds of the study are relative to.
    #[arg(long, value_name = "RESULT")]
    pub(crate) baseline: Option<PathBuf>,
    /// Print the result as JSON on stdout; progress goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Look at this server, too: mysql://USER@HOST:PORT/DATABASE. The password is best
    /// given as DYNO_PASSWORD or in an option file.
    pub(crate) url: Option<String>,
    /// Compare with what a study asks for: its servers, users, memory and disk.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub(crate) study: Option<PathBuf>,
    /// Put another value in place of the study's, like load.threads=64.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value, requires = "study")]
    pub(crate) overrides: Vec<(String, String)>,
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten, next_help_heading = "Connection")]
    pub(crate) login: LoginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The result directory.
    pub(crate) result: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The result directory to compare with; alone, its variants are compared.
    #[arg(value_name = "BASE")]
    pub(crate) base_result: PathBuf,
    /// The result directory to be compared.
    #[arg(value_name = "NEW")]
    pub(crate) new_result: Option<PathBuf>,
    /// Take only this variant of BASE.
    #[arg(long, value_name = "VARIANT")]
    pub(crate) base: Option<String>,
    /// Take only this variant of NEW.
    #[arg(long, value_name = "VARIANT")]
    pub(crate) new: Option<String>,
    /// Also write compare.html, compare.md, compare.csv and compare.json to a directory, which
    /// must be new.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the comparison as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare results of different work, too.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RankArgs {
    /// Result directories.
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<PathBuf>,
    /// Rank the points that have this value instead of the best ones, like load.threads=16.
    #[arg(long = "point", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) point: Vec<(String, String)>,
    /// Also write rank.html, rank.md and rank.csv to a directory, which must be new.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Rank results of different work, too.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Result directories.
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<PathBuf>,
    /// Only points that have this value, like load.threads=16.
    #[arg(long = "point", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) point: Vec<(String, String)>,
    /// Show results of different work, too.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the history as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    /// The result directory, best of a study that varies topology.instances.
    pub(crate) result: PathBuf,
    /// The load, in transactions a second.
    #[arg(long, value_parser = above_zero, value_name = "TPS")]
    pub(crate) need: f64,
    /// Share of what one server gives that each server adds, like 0.9 or 90%. [default: from
    /// the law of scaling that fits the result]
    #[arg(long, value_parser = share, value_name = "SHARE")]
    pub(crate) efficiency: Option<f64>,
    /// Price of one server, in any currency.
    #[arg(long, value_parser = above_zero)]
    pub(crate) price: Option<f64>,
    /// Only points that have this value instead of the best ones, like load.threads=16.
    #[arg(long = "point", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) point: Vec<(String, String)>,
    /// Also write size.html, size.md, size.csv and size.json to a directory, which must be new.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the plan as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Also remove all prepared data that no running dyno uses.
    #[arg(long)]
    pub(crate) templates: bool,
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

fn duration(text: &str) -> Result<Duration, String> {
    study::parse_duration(text).map_err(|error| error.to_string())
}

/// A limit of response times.
fn limit(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("no response time is below zero".to_owned()),
        limit => Ok(limit),
    }
}

/// A share, typed in percent.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if (0.1..=50.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("it is a percentage from 0.1% to 50%, like 2%".to_owned()),
    }
}

/// A share above 0 and up to 1, as such or in percent.
fn share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    match number {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("it is a share above 0 and up to 1, like 0.9 or 90%".to_owned()),
    }
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.trim().replace(['_', ','], "").parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1e15 => Ok(number),
        _ => Err("it is a number above 0".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.001..=1e7).contains(&rate) => Ok(rate),
        _ => Err("a rate is a number of transactions a second, from 0.001 to 10000000".to_owned()),
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("it has the form KEY=VALUE, like load.threads=4")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

fn workload_help() -> String {
    let mut text = "What each virtual user does:".to_owned();
    for name in WorkloadName::ALL {
        text.push_str(&format!("\n  {:<24} {}", name.name(), name.summary()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
