//! Containers of which podman or docker keeps a record, under names of dyno's.
//!
//! Nothing has a path there. The one that is recorded tells whose container it is:
//!
//! ```text
//! /podman/dyno-5e1c…-7
//! /docker/var/run/docker.sock/dyno-5e1c…-7
//! ```

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::process::POLL_INTERVAL;
use crate::site::TOOL_DIRS;

/// Precedes the names of podman's containers.
pub(crate) const PODMAN: &str = "/podman";
/// Precedes the socket of docker's daemon.
const DOCKER: &str = "/docker";
/// How docker says that a container or an image does not exist.
const NONE_SUCH: &str = "No such ";
/// How it says that it removes a container whose program has ended.
const IN_PROGRESS: &str = "is already in progress";
/// How long that may take.
const GONE_LIMIT: Duration = Duration::from_secs(30);

/// Precedes the names of the containers of the daemon that listens on this socket.
pub(crate) fn of_docker(socket: &Path) -> PathBuf {
    Path::new(DOCKER).join(socket.strip_prefix("/").unwrap_or(socket))
}

/// A program, if it is installed.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(std::env::split_paths(TOOL_DIRS));
    dirs.map(|dir| dir.join(name))
        .find(|program| program.is_file())
}

/// docker's client, for the daemon that listens on this socket.
pub(crate) fn docker(program: &Path, socket: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(host_option(socket)).stdin(Stdio::null());
    command
}

/// What tells docker's client where its daemon listens.
pub(crate) fn host_option(socket: &Path) -> String {
    format!("--host=unix://{}", socket.display())
}

/// Removes a container, which may have been removed with its program; whoever made it may be gone
/// itself.
pub(super) fn remove(path: &Path) -> Result<(), LabError> {
    let name = path.file_name();
    if let (Ok(place), Some(docker_program)) = (path.strip_prefix(DOCKER), program("docker")) {
        let socket = Path::new("/").join(place.parent().unwrap_or(place));
        for words in [["rm", "--force"], ["rmi", "--force"]] {
            let mut command = docker(&docker_program, &socket);
            run(command.args(words).args(name), path)?;
        }
    } else if let (true, Some(podman)) = (path.starts_with(PODMAN), program("podman")) {
        let mut command = Command::new(podman);
        command.args(["--log-level=error", "rm", "--force", "--ignore", "--time=0"]);
        run(command.args(name).stdin(Stdio::null()), path)?;
    }
    Ok(())
}

/// Runs a command that removes something, until it is gone.
fn run(command: &mut Command, path: &Path) -> Result<(), LabError> {
    let deadline = Instant::now() + GONE_LIMIT;
    loop {
        let output = command.output().map_err(LabError::at("remove", path))?;
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.success() || words.contains(NONE_SUCH) {
            return Ok(());
        }
        if !words.contains(IN_PROGRESS) || Instant::now() > deadline {
            return Err(LabError::at("remove", path)(io::Error::other(words)));
        }
        sleep(POLL_INTERVAL);
    }
}
