//! What results are asked, as typed.

use std::path::PathBuf;

use clap::Args;

use super::value::{above_zero, key_value, share};

/// In which form the answer is wanted.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Write it as a page, Markdown, CSV and JSON to this directory, which must be new.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print it as JSON on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The result directory; its report is written into it, unless --out or --json is given.
    pub(crate) result: PathBuf,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
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
    /// Compare results of different work, too.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// A question to several results.
#[derive(Debug, Args)]
pub(crate) struct ResultsArgs {
    /// Result directories; those that cannot be read are named and left out.
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<PathBuf>,
    /// Only points that have this value, like load.threads=16.
    #[arg(long = "point", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) point: Vec<(String, String)>,
    /// Take results of different work, too.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
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
    /// Only points that have this value, like load.threads=16.
    #[arg(long = "point", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) point: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}
