//! The arguments of commands that evaluate results.

use std::path::PathBuf;

use clap::Args;

use super::value::{above_zero, key_value, share};

/// How an answer is written.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Write the output as HTML, Markdown, CSV and JSON to this directory, which must be new.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the output as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The result directory; its report is replaced unless --out or --json is given.
    pub(crate) result: PathBuf,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The result directory to compare with; without NEW, its variants are compared.
    #[arg(value_name = "BASE")]
    pub(crate) base_result: PathBuf,
    /// The result directory to compare.
    #[arg(value_name = "NEW")]
    pub(crate) new_result: Option<PathBuf>,
    /// The variant of BASE to compare with.
    #[arg(long, value_name = "VARIANT")]
    pub(crate) base: Option<String>,
    /// The variant of NEW (without NEW, of BASE) to compare.
    #[arg(long, value_name = "VARIANT")]
    pub(crate) new: Option<String>,
    /// Compare even results of different workloads.
    #[arg(long)]
    pub(crate) force: bool,
    /// Measure both again, as variants of one study, so that their difference gets a verdict. --out
    /// is then the directory of the new result. [default: results/TIME-TITLE]
    #[arg(long, requires = "new_result", conflicts_with_all = ["base", "new", "force"])]
    pub(crate) rerun: bool,
    /// With --rerun: maximum number of starts of each side. [default: 20]
    #[arg(long, requires = "rerun", value_name = "N")]
    pub(crate) starts: Option<u32>,
    /// With --rerun: time for a point after which no further start of it begins. [default: 30m]
    #[arg(long, requires = "rerun", value_name = "TIME")]
    pub(crate) budget: Option<String>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// A question about several results.
#[derive(Debug, Args)]
pub(crate) struct ResultsArgs {
    /// Result directories; unreadable ones are reported and skipped.
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<PathBuf>,
    /// Use only points with this value, such as load.threads=16.
    #[arg(long = "point", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) point: Vec<(String, String)>,
    /// Include even results of different workloads.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    /// The result directory, preferably of a study that varies topology.instances.
    pub(crate) result: PathBuf,
    /// The load to serve, in transactions per second.
    #[arg(long, value_parser = above_zero, value_name = "TPS")]
    pub(crate) need: f64,
    /// Throughput that each additional server adds, relative to that of one server, such as 0.9 or
    /// 90%. [default: from the scalability law fitted to the result]
    #[arg(long, value_parser = share, value_name = "SHARE")]
    pub(crate) efficiency: Option<f64>,
    /// Price of one server, in any currency.
    #[arg(long, value_parser = above_zero)]
    pub(crate) price: Option<f64>,
    /// Use only points with this value, such as load.threads=16.
    #[arg(long = "point", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) point: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}
