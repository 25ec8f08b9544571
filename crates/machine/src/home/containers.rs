//! Containers that podman or docker keeps a record of, under names that dyno chose.
//!
//! A container has no path. The path that is recorded tells which program keeps it:
//!
//! ```text
//! /podman/dyno-5e1c…-7
//! /docker/var/run/docker.sock/dyno-5e1c…-7
//! ```

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::process::{self, NEVER, POLL_INTERVAL};

/// Directories of tools that may be missing from another user's PATH.
pub(crate) const TOOL_DIRS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";
/// Precedes the names of containers that podman keeps.
const PODMAN: &str = "/podman";
/// Precedes the socket of docker's daemon, and the container's name.
const DOCKER: &str = "/docker";
/// docker's message that a container or an image does not exist.
const NONE_SUCH: &str = "No such ";
/// docker's message that it is removing a container whose program has ended.
const IN_PROGRESS: &str = "is already in progress";
/// How long such a removal, or a command, may take.
const GONE_LIMIT: Duration = Duration::from_secs(30);

/// podman, or docker's client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) program: PathBuf,
    /// The socket that docker's daemon listens on; `None` for podman.
    pub(crate) socket: Option<PathBuf>,
}

impl Client {
    /// The one that keeps a container with this path.
    fn of(path: &Path) -> Result<Self, String> {
        let (name, socket) = match path.strip_prefix(DOCKER) {
            Ok(place) => (
                "docker",
                place.parent().map(|place| Path::new("/").join(place)),
            ),
            Err(_) => ("podman", None),
        };
        let program = program(name).ok_or_else(|| format!("{name} is not in PATH"))?;
        Ok(Self { program, socket })
    }

    /// Precedes the names of the containers that it keeps.
    pub(crate) fn prefix(&self) -> PathBuf {
        match &self.socket {
            None => PODMAN.into(),
            Some(socket) => Path::new(DOCKER).join(socket.strip_prefix("/").unwrap_or(socket)),
        }
    }

    /// The option that precedes each command.
    pub(crate) fn option(&self) -> String {
        match &self.socket {
            None => "--log-level=error".to_owned(),
            Some(socket) => format!("--host=unix://{}", socket.display()),
        }
    }

    pub(crate) fn command(&self, words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(self.option()).args(words).stdin(Stdio::null());
        command
    }

    /// The commands that remove a container. docker's image has the container's name, too.
    fn removals(&self) -> &'static [&'static [&'static str]] {
        match &self.socket {
            None => &[&["rm", "--force", "--ignore", "--time=0"]],
            Some(_) => &[&["rm", "--force"], &["rmi", "--force"]],
        }
    }
}

/// `None` if the program is not installed.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(std::env::split_paths(TOOL_DIRS));
    dirs.map(|dir| dir.join(name))
        .find(|program| program.is_file())
}

/// Removes a container. It may be gone already, removed together with its program, and so may the
/// process that created it.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    let failed = |why: String| Failure::at("remove", path)(io::Error::other(why));
    let client = Client::of(path).map_err(failed)?;
    let name = path.file_name().unwrap_or_default();
    for words in client.removals() {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).chain([name]).collect();
        run(|| client.command(&words)).map_err(failed)?;
    }
    Ok(())
}

/// Repeats a command until what it removes is gone; an error says why it is not.
fn run(command: impl Fn() -> Command) -> Result<(), String> {
    let deadline = Instant::now() + GONE_LIMIT;
    loop {
        let output = process::output(command(), GONE_LIMIT, &NEVER);
        let output = output.map_err(|error| error.to_string())?;
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.success() || words.contains(NONE_SUCH) {
            return Ok(());
        }
        if !words.contains(IN_PROGRESS) || Instant::now() > deadline {
            return Err(words);
        }
        sleep(POLL_INTERVAL);
    }
}
