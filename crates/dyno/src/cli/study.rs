//! The arguments of commands that take a study.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::value::{UndecidedArg, key_value};
use super::{LoginArgs, OutputArgs};

#[derive(Debug, Default, Args)]
pub(crate) struct StudyArgs {
    /// The study file.
    pub(crate) study: PathBuf,
    /// Override a value of the study, such as load.time=5s.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) overrides: Vec<(String, String)>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) study: StudyArgs,
    /// Result directory, which must be new. [default: results/TIME-TITLE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue an interrupted run with its first incomplete trial: the run in --out, or the
    /// latest run of this study.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Result directory that thresholds with `baseline` refer to.
    #[arg(long, value_name = "RESULT")]
    pub(crate) baseline: Option<PathBuf>,
    /// Whether an undecided threshold passes or fails (exit code 1): one whose limit lies within
    /// the 95 % confidence interval of the result.
    #[arg(long, value_enum, default_value_t = UndecidedArg::Pass)]
    pub(crate) undecided: UndecidedArg,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Also check this server. Give its password in DYNO_PASSWORD or an option file.
    pub(crate) url: Option<String>,
    /// Check the host against what a study needs: its servers, virtual users, memory and disk.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub(crate) study: Option<PathBuf>,
    /// Override a value of the study, such as load.threads=64.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value, requires = "study")]
    pub(crate) overrides: Vec<(String, String)>,
    /// Run no checks; alternate two identical servers for about this long, such as 60s, and record
    /// how much they differ.
    #[arg(long, value_name = "TIME", value_parser = plan::parse_duration,
        conflicts_with_all = ["url", "verbose", "fail_on", "json"])]
    pub(crate) noise: Option<Duration>,
    /// Also print the checks that passed.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Exit with code 1 if a finding is at least this bad.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) fail_on: Option<FailOnArg>,
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten, next_help_heading = "Connection")]
    pub(crate) login: LoginArgs,
}

/// From which level on a finding is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnArg {
    /// What may distort results.
    Severe,
    /// Also what should be considered.
    Warning,
}

/// What `dyno doctor --help` ends with.
pub(super) fn doctor_examples() -> String {
    format!(
        "Changes nothing. docs/doctor.md explains every check, with its source.

Examples:
  dyno doctor
  dyno doctor {}
  dyno doctor --study studies/p2-scale-up.toml",
        super::example_url("root@127.0.0.1:3306")
    )
}
