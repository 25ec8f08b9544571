//! What containers of podman and docker have in common.
//!
//! podman and docker isolate a container as usual, with their filter of system calls and their set
//! of capabilities. The program enters dyno's control groups instead of theirs. Process IDs are the
//! host's. dyno's child is their client, which ends with the container; the program is not a child
//! of dyno.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};

use super::no_container;
use crate::failure::Failure;
use crate::process::{self, NEVER, POLL_INTERVAL};
use crate::site::Launched;

/// When dyno dies, the client receives SIGQUIT and passes it on to the program: servers end at
/// once. `env` resets the signal, which is ignored if a shell started dyno in the background.
const WHEN_DYNO_DIES: [&str; 6] = [
    "env",
    "--default-signal=QUIT",
    "setpriv",
    "--pdeathsig",
    "QUIT",
    "--",
];
/// Containers share the host's network and process IDs. The labels of a security policy are
/// disabled, because it may forbid programs of the host, which are not labeled for containers.
const OPTIONS: [&str; 9] = [
    "run",
    "--rm",
    "--read-only",
    "--network=host",
    "--pid=host",
    "--cgroupns=host",
    "--workdir=/",
    "--security-opt=label=disable",
    "--ulimit=nproc=32768:32768",
];
/// The path in the container of the control groups that the program enters.
const GROUPS: &str = "/groups";
/// How long a program may take to start.
pub(super) const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a daemon may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// The entry that runs the client with `words` before its command, and with it a container called
/// `name`.
pub(super) fn run(client: &Path, words: &[String], name: &str) -> Vec<OsString> {
    let files = getrlimit(Resource::Nofile).maximum;
    let files = files.map_or_else(|| "-1".to_owned(), |files| files.to_string());
    let own = [
        format!("--ulimit=nofile={files}:{files}"),
        format!("--name={name}"),
    ];
    let mut entry: Vec<OsString> = WHEN_DYNO_DIES.map(Into::into).to_vec();
    entry.extend(process::guard());
    entry.push(client.into());
    entry.extend(words.iter().map(Into::into));
    entry.extend(OPTIONS.map(Into::into));
    entry.extend(own.map(Into::into));
    entry
}

/// The paths of these control groups in a container.
pub(super) fn inside(groups: &[PathBuf]) -> Vec<PathBuf> {
    (0..groups.len())
        .map(|number| Path::new(GROUPS).join(number.to_string()))
        .collect()
}

/// Starts a client; `pid` finds the process ID of the program in its container.
pub(super) fn start(command: Command, pid: impl Fn() -> Option<u32>) -> Result<Launched, Failure> {
    let mut child = process::spawn(command)?;
    let deadline = Instant::now() + START_LIMIT;
    loop {
        let has_ended = !matches!(child.try_wait(), Ok(None));
        match pid() {
            Some(pid) => return Ok(Launched::by_client(child, pid)),
            // Its output says why.
            None if has_ended => return Ok(Launched::here(child)),
            None if Instant::now() > deadline => return Err(too_late(&mut child)),
            None => sleep(POLL_INTERVAL),
        }
    }
}

fn too_late(child: &mut Child) -> Failure {
    process::kill(child);
    unusable(format!("nothing started in {} s", START_LIMIT.as_secs()))
}

/// Runs a client's command; returns its output.
pub(super) fn ask(command: Command) -> Result<String, Failure> {
    let output = process::output(command, ANSWER_LIMIT, &NEVER)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(unusable(text(&output.stderr))),
    }
}

pub(super) fn unusable(why: String) -> Failure {
    let remedy = "install podman or docker, or use runtime = \"namespaces\" under [site]";
    no_container(why, remedy)
}
