//! dyno: a dynamometer for OLTP databases.
//!
//! The only crate that prints and exits. A command line ([`as_study`]) or a study file
//! ([`study_file`]) becomes trials, the laboratory runs them ([`trials`]), and their results are
//! stored, printed ([`results`]) and reported ([`report`]). [`sysbench`] has a command line, reports
//! and exit codes of its own.

mod answer;
mod as_study;
mod bench;
mod clean;
mod cli;
mod columns;
mod compare;
mod completions;
mod console;
mod disks;
mod doctor;
mod doctor_noise;
mod failure;
mod fault_schedule;
mod fleet;
mod host;
mod noise;
mod own_file;
mod plan;
mod progress;
mod report;
mod rerun;
mod results;
mod resume;
mod run;
mod scripts;
mod secrets;
mod server;
mod signals;
mod starts;
mod stored_result;
mod study_file;
mod sysbench;
mod thresholds;
mod trials;

use std::process::ExitCode;

use cli::Command;
use failure::Failure;

fn main() -> ExitCode {
    secrets::forbid_core_dumps();
    let done = secrets::hide_argv_passwords()
        .and_then(|()| cli::parse())
        .and_then(|cli| dispatch(&cli.command));
    match done {
        Ok(code) => code,
        Err(failure) => {
            console::eprint(&failure::shown(&failure));
            ExitCode::from(failure.exit as u8)
        }
    }
}

fn dispatch(command: &Command) -> Result<ExitCode, Failure> {
    let done = match command {
        Command::Bench(args) => bench::bench(args),
        Command::Run(args) => run::run(args),
        Command::Plan(args) => plan::plan(args),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Report(args) => report::report(args),
        Command::Compare(args) => compare::compare(args),
        Command::Rank(args) => answer::rank(args),
        Command::History(args) => answer::history(args),
        Command::Size(args) => answer::size(args),
        Command::Agent(args) => fleet::agent(args),
        Command::Agents(args) => fleet::agents(args),
        Command::Clean(args) => clean::clean(args),
        Command::Host(args) => host::host(args),
        Command::Completions(args) => completions::completions(args),
        Command::Sysbench(args) => return Ok(sysbench::sysbench(&args.words)),
        Command::Man => completions::man(),
    };
    done.map(|()| ExitCode::SUCCESS)
}
