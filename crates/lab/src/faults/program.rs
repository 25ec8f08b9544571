//! Runs the programs by which a study breaks and heals what dyno cannot.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::context::FaultContext;
use crate::servers::read_end;
use crate::{Failure, Member, process};

/// How long a program of the study may take.
const PROGRAM_LIMIT: Duration = Duration::from_secs(60);
/// How much of its output an error quotes.
const QUOTED_BYTES: u64 = 1000;
/// Variables of dyno's own, some of which hold passwords.
const OWN_VARIABLES: &str = "DYNO_";

/// Runs a program without a shell, with its output appended to a file; returns when it ended.
pub(super) fn run_program(
    command: &[String],
    output: &Path,
    context: &FaultContext<'_>,
    over: &AtomicBool,
) -> Result<Instant, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Failure::server("no program is named"));
    };
    let mut prepared = process::own_command(Path::new(program));
    prepared.args(arguments);
    without_secrets(&mut prepared);
    prepared.envs(about(context));
    let write = Failure::at("write", output);
    let log = File::options().append(true).create(true).open(output);
    let log = log.map_err(write)?;
    prepared.stdout(log.try_clone().map_err(write)?).stderr(log);
    let how = match process::run(prepared, PROGRAM_LIMIT, over)? {
        Some(status) if status.success() => return Ok(Instant::now()),
        Some(status) => process::how_it_ended(status),
        None => format!("did not end within {} s", PROGRAM_LIMIT.as_secs()),
    };
    let quoted = read_end(output, 0, QUOTED_BYTES);
    let quoted = quoted.trim();
    let message = format!("{program} {how}; its output ends:\n{quoted}");
    Err(Failure::server(message))
}

/// What a program is told of its target; of a server that runs already, dyno knows nothing.
fn about(context: &FaultContext<'_>) -> Vec<(&'static str, String)> {
    let Some(mut node) = context.member().ok().and_then(Member::try_lock) else {
        return Vec::new();
    };
    let address = node.address();
    let role = match context.was_primary {
        true => "primary",
        false => "replica",
    };
    // On this host, the number of another machine's process is that of a foreign one.
    let is_here = node.site().is_here();
    let process = node.pid().filter(|_| is_here);
    let process = process.map(|pid| ("TARGET_PID", pid.to_string()));
    let known = [
        ("TARGET_HOST", address.ip().to_string()),
        ("TARGET_PORT", address.port().to_string()),
        ("TARGET_ROLE", role.to_owned()),
    ];
    known.into_iter().chain(process).collect()
}

fn without_secrets(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(OWN_VARIABLES) {
            command.env_remove(name);
        }
    }
}
