//! `dyno host`: what dyno on another machine asks of this one.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::cli::HostArgs;
use crate::failure::Failure;

/// Answers until the connection ends.
pub(crate) fn host(args: &HostArgs) -> Result<(), Failure> {
    let input = io::stdin().as_fd().try_clone_to_owned();
    let input = input.map_err(Failure::at("read", Path::new("/dev/stdin")))?;
    // Without a buffer, so that waiting for the next request needs no more than its file.
    lab::serve_host(
        &args.cache,
        args.run.as_deref(),
        File::from(input),
        io::stdout(),
    )
}
