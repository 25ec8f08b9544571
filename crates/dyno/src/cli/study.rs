//! What is done with a study, as typed.

use std::path::PathBuf;

use clap::Args;

use super::value::{UndecidedArg, key_value};
use super::{LoginArgs, OutputArgs};

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
    /// Whether an undecided threshold, whose limit lies within the 95 % interval of what was
    /// found, passes or fails (exit code 1).
    #[arg(long, value_enum, default_value_t = UndecidedArg::Pass)]
    pub(crate) undecided: UndecidedArg,
    /// Print the result as JSON on stdout; progress goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
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
