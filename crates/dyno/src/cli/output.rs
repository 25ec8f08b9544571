//! How much is printed during a run.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print no progress, and of a single benchmark only its result in a sentence.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print a line every second, and every number, warning, and condition at the end.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}
