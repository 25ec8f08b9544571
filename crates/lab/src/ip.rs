//! Runs `ip` and `tc`, which set up networks.

use std::io;
use std::path::Path;
use std::process::Command;

use crate::error::LabError;
use crate::process::{self, NEVER, TOOL_LIMIT};

/// What is to be done where a network cannot be set up.
const REMEDY: &str = "run dyno as root or with CAP_SYS_ADMIN and CAP_NET_ADMIN (a container needs \
                      both, too), or have all members use the loopback interface: \
                      topology.network = \"loopback\"";

/// Runs one of the programs of iproute2 with these arguments, separated by spaces; returns what it
/// prints.
pub(crate) fn run(program: &str, arguments: &str) -> Result<String, LabError> {
    run_with(program, arguments, "")
}

/// The same, with commands to read.
pub(crate) fn run_with(program: &str, arguments: &str, input: &str) -> Result<String, LabError> {
    let mut command = Command::new(program);
    command.args(arguments.split(' '));
    // dyno's environment may contain passwords.
    command.env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let failed = |why: String, remedy: &str| LabError::NoNetwork {
        why,
        remedy: remedy.to_owned(),
    };
    let input = process::input(input.as_bytes());
    command.stdin(input.map_err(LabError::at("write to", Path::new(program)))?);
    let output = process::output(command, TOOL_LIMIT, &NEVER);
    let output = output.map_err(|error| match &error {
        LabError::NoProgram { source, .. } if source.kind() == io::ErrorKind::NotFound => failed(
            format!("the program {program} is missing"),
            "install iproute2, and make sure that PATH contains its directory, usually /usr/sbin",
        ),
        _ => failed(format!("cannot run {program}: {error}"), REMEDY),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words.trim().replace('\n', "; ");
    Err(failed(format!("{program} {arguments}: {words}"), REMEDY))
}
