//! Containers that podman or docker keeps a record of, under names that dyno chose.
//!
//! A container has no path. The path that is recorded tells which program keeps it:
//!
//! ```text
//! /podman/dyno-5e1c…-7
//! /docker/var/run/docker.sock/dyno-5e1c…-7
//! ```

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::process::{self, POLL_INTERVAL};
use crate::site::TOOL_DIRS;

/// Maximum length of a command's error messages.
const MAX_BYTES: u64 = 64 << 10;
/// Precedes the names of containers that podman keeps.
pub(crate) const PODMAN: &str = "/podman";
/// Precedes the socket of docker's daemon, and the container's name.
const DOCKER: &str = "/docker";
/// docker's message that a container or an image does not exist.
const NONE_SUCH: &str = "No such ";
/// docker's message that it is removing a container whose program has ended.
const IN_PROGRESS: &str = "is already in progress";
/// How long such a removal, or a command, may take.
const GONE_LIMIT: Duration = Duration::from_secs(30);

/// The prefix of containers of the daemon that listens on `socket`.
pub(crate) fn of_docker(socket: &Path) -> PathBuf {
    Path::new(DOCKER).join(socket.strip_prefix("/").unwrap_or(socket))
}

/// `None` if the program is not installed.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(std::env::split_paths(TOOL_DIRS));
    dirs.map(|dir| dir.join(name))
        .find(|program| program.is_file())
}

/// docker's client, for the daemon that listens on `socket`.
pub(crate) fn docker(program: &Path, socket: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(host_option(socket)).stdin(Stdio::null());
    command
}

/// The option that tells docker's client where its daemon listens.
pub(crate) fn host_option(socket: &Path) -> String {
    format!("--host=unix://{}", socket.display())
}

/// Removes a container. It may be gone already, removed together with its program, and so may the
/// process that created it.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default();
    let failed = |why: String| Failure::at("remove", path)(io::Error::other(why));
    let found = |name: &str| program(name).ok_or_else(|| failed(format!("{name} is not in PATH")));
    if let Ok(place) = path.strip_prefix(DOCKER) {
        let socket = Path::new("/").join(place.parent().unwrap_or(place));
        let docker = found("docker")?;
        let host = host_option(&socket);
        for what in ["rm", "rmi"] {
            let words = [&*host, what, "--force"].map(OsStr::new);
            run(&docker, words.iter().chain([&name])).map_err(failed)?;
        }
    } else if path.starts_with(PODMAN) {
        let words = ["--log-level=error", "rm", "--force", "--ignore", "--time=0"];
        let words = words.map(OsStr::new);
        run(&found("podman")?, words.iter().chain([&name])).map_err(failed)?;
    }
    Ok(())
}

/// Repeats a command until what it removes is gone; an error says why it is not.
fn run<'a>(
    program: &Path,
    arguments: impl Iterator<Item = &'a &'a OsStr> + Clone,
) -> Result<(), String> {
    let deadline = Instant::now() + GONE_LIMIT;
    loop {
        let words = match said(program, arguments.clone()) {
            Ok(None) => return Ok(()),
            Ok(Some(words)) if words.contains(NONE_SUCH) => return Ok(()),
            Ok(Some(words)) => words,
            Err(error) => return Err(format!("{}: {error}", program.display())),
        };
        if !words.contains(IN_PROGRESS) || Instant::now() > deadline {
            return Err(words);
        }
        sleep(POLL_INTERVAL);
    }
}

/// The messages of a command that fails. It has a time limit because a daemon may hang, and a
/// process group of its own because Ctrl-C in a terminal must not end it.
fn said<'a>(
    program: &Path,
    arguments: impl Iterator<Item = &'a &'a OsStr>,
) -> io::Result<Option<String>> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn()?;
    let status = process::wait(&mut child, GONE_LIMIT);
    process::kill(&mut child);
    let mut words = String::new();
    if let Some(errors) = child.stderr.take() {
        errors.take(MAX_BYTES).read_to_string(&mut words)?;
    }
    let words = words.trim().to_owned();
    Ok(match status {
        Some(status) if status.success() => None,
        Some(_) => Some(words),
        None => Some(format!(
            "it did not end in {} s: {words}",
            GONE_LIMIT.as_secs()
        )),
    })
}
