//! How much is said on the way.

use clap::Args;

use crate::progress::Detail;

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print only the summary, warnings and errors: no progress, no notes.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print a line each second, and at the end everything that the report says of the trials.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

impl OutputArgs {
    /// How much is said while a load runs; `otherwise` where nothing was asked for.
    pub(crate) fn detail(&self, otherwise: Detail) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Nothing,
            (false, true) => Detail::Seconds,
            (false, false) => otherwise,
        }
    }
}
