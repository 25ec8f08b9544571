//! The command line as typed: arguments, help and hints, but not what is done with them.

mod answers;
mod bench;
mod environment;
mod fleet;
mod habits;
mod options;
mod study;
mod value;

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;

pub(crate) use answers::{AnswerArgs, CompareArgs, ReportArgs, ResultsArgs, SizeArgs};
pub(crate) use bench::{BenchArgs, LoginArgs, PrepareArg};
pub(crate) use fleet::{AgentArgs, NatsArg};
pub(crate) use options::{TypedOption, as_options};
pub(crate) use study::{DoctorArgs, FailOnArg, RunArgs, StudyArgs};
pub(crate) use value::UndecidedArg;

/// A dynamometer for OLTP databases.
#[derive(Debug, Parser)]
#[command(
    version,
    about = "A dynamometer for OLTP databases: drives a load, measures throughput and response times, and reports how certain the results are.",
    after_help = after_help()
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Benchmark one database: prepare its data, warm up, run, report.
    #[command(after_help = bench::examples())]
    Bench(Box<BenchArgs>),
    /// Run a study: one file that describes an experiment.
    #[command(
        after_help = "Example:\n  dyno run studies/quickstart.toml --set load.time=5s\n\nEvery key of a study file is explained in docs/study.md."
    )]
    Run(RunArgs),
    /// Show what a study would do: its trials, and the time, disk space and memory they need.
    #[command(
        after_help = "Starts no server and writes nothing.\n\nExample:\n  dyno plan studies/p2-scale-up.toml"
    )]
    Plan(StudyArgs),
    /// Check this host, and a server, for conditions that distort measurements.
    #[command(after_help = study::doctor_examples())]
    Doctor(DoctorArgs),
    /// Regenerate the report of a result.
    #[command(after_help = "Example:\n  dyno report results/20260101T120000Z-scale-up")]
    Report(ReportArgs),
    /// Compare two variants of a study, or two results (no verdict without --rerun).
    #[command(
        after_help = "Variants of one study run interleaved, so their differences get verdicts. Two results were\nmeasured at different times, and the host may have changed in between: for a verdict, make them\nvariants of one study, which is what --rerun does.\n\nExamples:\n  dyno compare results/pool-sizes --base 1G --new 4G\n  dyno compare results/hardware results/vm --out vm-against-hardware\n  dyno compare results/before results/after --rerun --budget 10m"
    )]
    Compare(CompareArgs),
    /// Rank results: leader boards by category and number of servers.
    #[command(
        after_help = "Each variant of each result is ranked at its point of highest throughput, or at the one that\n--point selects. The category of a result is the directory that contains it.\n\nExample:\n  dyno rank results/pcie/* results/sata/* --out boards"
    )]
    Rank(ResultsArgs),
    /// Show results of the same study over time, and when throughput or response times changed.
    #[command(
        after_help = "Results may be given in any order; they are sorted by start time. Detecting a change takes at\nleast three results before it and three after.\n\nExample:\n  dyno history results/nightly/* --point load.threads=16"
    )]
    History(ResultsArgs),
    /// Calculate how many servers a load needs, from a result with several numbers of instances.
    #[command(
        after_help = "Servers = need / (throughput of one server x efficiency), rounded up, for every measured number\nof instances, each at its point of highest throughput. Without --efficiency, the efficiency is\n1 - contention of the scalability law fitted to the result, which takes at least six numbers of\ninstances.\n\nExample:\n  dyno size results/scale-up --need 17000 --efficiency 0.9 --price 12000"
    )]
    Size(SizeArgs),
    /// Run the command line of sysbench, with its output and its exit codes.
    #[command(
        disable_help_flag = true,
        after_help = "The same happens when dyno is called by the name sysbench. docs/sysbench.md lists what differs.\n\nExample:\n  dyno sysbench cpu --threads=4 run"
    )]
    Sysbench(SysbenchArgs),
    /// Serve as a load machine: run the loads that the coordinator of a fleet orders.
    #[command(after_help = fleet::AGENT_HELP)]
    Agent(AgentArgs),
    /// List the load machines of a fleet, and this machine's public key for them.
    #[command(after_help = fleet::AGENTS_HELP)]
    Agents(NatsArg),
    /// Remove what a killed run left behind: servers and their directories.
    #[command(
        after_help = "Leaves everything of running dyno processes alone. Every run begins with the same cleanup."
    )]
    Clean(CleanArgs),
    /// Answer dyno on another machine, which runs this on hosts of its servers.
    #[command(hide = true)]
    Host(HostArgs),
    /// Print shell completions.
    #[command(
        after_help = "Example:\n  dyno completions bash > ~/.local/share/bash-completion/completions/dyno"
    )]
    Completions(CompletionsArgs),
    /// Print the man page.
    #[command(after_help = "Example:\n  dyno man | man -l -")]
    Man,
}

/// The command line, including aliases for equivalent options of other tools.
pub(crate) fn command() -> clap::Command {
    Cli::command().mut_subcommand("bench", habits::with_aliases)
}

/// Reads the command line. Help, the version and clap's own errors are printed and end the process.
pub(crate) fn parse() -> Result<Cli, Failure> {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    if arguments
        .first()
        .is_some_and(|program| Path::new(program).ends_with("sysbench"))
    {
        arguments.insert(1, "sysbench".into());
    }
    if arguments.get(1).is_some_and(|command| command == "bench") {
        let with_dashes = |argument: std::ffi::OsString| match argument.into_string() {
            Ok(text) => habits::with_dashes(text).into(),
            Err(not_text) => not_text,
        };
        arguments = arguments.into_iter().map(with_dashes).collect();
    }
    let parsed = command().try_get_matches_from(&arguments);
    match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => Ok(cli),
        Err(error) => {
            let texts = arguments
                .iter()
                .map(|text| text.to_string_lossy().into_owned());
            let texts: Vec<String> = texts.collect();
            Err(habits::hint(&error, &texts).unwrap_or_else(|| error.exit()))
        }
    }
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 a threshold failed, 2 bad usage or bad study,
3 a server could not be started or reached, 4 interrupted (partial results kept),
5 internal error.";

fn after_help() -> String {
    let url = example_url("root@127.0.0.1");
    format!(
        "Start here:
  dyno run studies/quickstart.toml  run a first study; needs no server
  dyno bench {url}
                                    benchmark a server that is already running

{EXIT_CODES}

Environment variables: DYNO_PASSWORD, DYNO_CACHE_DIR, DYNO_SERVERS, and others in `dyno man`"
    )
}

/// The command line for the man page, which has the environment variables.
pub(crate) fn with_environment() -> clap::Command {
    command().after_help(format!("{}\n\n{}", after_help(), environment::section()))
}

/// The URL of a server's database, for examples.
fn example_url(host: &str) -> String {
    let scheme = engine::servers().next().map_or("", |any| any.scheme());
    format!("{scheme}://{host}/sbtest")
}

/// How much is printed during a run.
#[derive(Debug, Default, Args)]
pub(crate) struct OutputArgs {
    /// Print the result as JSON on stdout; progress goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no progress, and of a single benchmark only its result in a sentence.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print a line every second, and every number, warning, and condition at the end.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct SysbenchArgs {
    /// Options, a test, and a command, as sysbench takes them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    /// The directory of dyno's cache on this host.
    pub(crate) cache: PathBuf,
    /// The run to continue after this host has restarted.
    pub(crate) run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Also remove all prepared data that no running dyno process uses.
    #[arg(long)]
    pub(crate) templates: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }
}
