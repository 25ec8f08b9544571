//! `dyno host`: what dyno on another machine asks of this one.

use std::io;

use crate::cli::HostArgs;
use crate::failure::Failure;

/// Answers until the connection ends.
pub(crate) fn host(args: &HostArgs) -> Result<(), Failure> {
    lab::serve_host(&args.cache, io::stdin().lock(), io::stdout())
}
