//! How much is printed during a run.

use clap::Args;

use crate::progress::Detail;

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print only the summary, warnings and errors.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print a line every second, and the full report of the trials at the end.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

impl OutputArgs {
    /// How much is printed while a load runs; `otherwise` if the user chose nothing.
    pub(crate) fn detail(&self, otherwise: Detail) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Nothing,
            (false, true) => Detail::Seconds,
            (false, false) => otherwise,
        }
    }
}
