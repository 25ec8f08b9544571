//! How much is printed during a run.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print only the summary, warnings and errors.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print a line every second, and the full report of the trials at the end.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}
