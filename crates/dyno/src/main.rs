//! dyno: a dynamometer for OLTP databases.
//!
//! The only place that prints and exits. A command line becomes trials
//! ([`bench`], [`run`]), each trial runs one load ([`trial`]), and what it gave
//! is stored, shown and reported ([`results`]).

mod bench;
mod cli;
mod failure;
mod progress;
mod results;
mod run;
mod secrets;
mod server;
mod signals;
mod trial;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    secrets::leave_argv();
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Bench(args) => bench::bench(args),
        Command::Run(args) => run::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
