//! A docker container from an empty image, with directories of the host.
//!
//! The program is a child of docker's daemon. Its input and output pass through docker's client.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::client::{self, unusable};
use super::{Directory, TOOL_DIRS};
use crate::failure::Failure;
use crate::home::Home;
use crate::home::outside::{Kind, Outside};
use crate::home::{containers, survivors};
use crate::process;
use crate::site::{Launched, cgroup};

/// Passes the program's input, and keeps no log besides its output. The daemon may map users by
/// default.
const OPTIONS: [&str; 4] = [
    "--interactive",
    "--log-driver=none",
    "--userns=host",
    "--pull=never",
];
/// An archive without files: the two blocks of zeros that end a tar file.
const EMPTY_ARCHIVE: [u8; 1024] = [0; 1024];

/// The docker that has run a container for this dyno; finding that out takes long.
static PROVEN: OnceLock<Installed> = OnceLock::new();

/// docker's client, and the name of the container and of its image.
#[derive(Debug)]
pub(super) struct Docker {
    installed: Installed,
    place: Outside,
}

#[derive(Debug, Clone)]
struct Installed {
    program: PathBuf,
    /// The socket that its daemon listens on.
    socket: PathBuf,
    version: String,
}

impl Installed {
    fn find() -> Result<Self, Failure> {
        let program = containers::program("docker")
            .ok_or_else(|| unusable(format!("docker is neither in PATH nor in {TOOL_DIRS}")))?;
        let socket = socket(&program)?;
        let format = "docker {{.ServerVersion}} with {{.DefaultRuntime}}";
        let mut info = containers::docker(&program, &socket);
        info.args(["info", "--format", format]);
        let version = client::ask(info)?;
        Ok(Self {
            program,
            socket,
            version,
        })
    }
}

impl Docker {
    /// Fails unless docker is installed and its daemon runs on this host.
    pub(super) fn find(home: &Home) -> Result<Self, Failure> {
        let installed = match PROVEN.get() {
            Some(installed) => installed.clone(),
            None => Installed::find()?,
        };
        let parent = containers::of_docker(&installed.socket);
        let docker = Self {
            installed,
            place: Outside::make(home, Kind::Container, &parent)?,
        };
        docker.import()?;
        Ok(docker)
    }

    /// Whether this docker has run a container for this dyno.
    pub(super) fn is_proven(&self) -> bool {
        PROVEN.get().is_some()
    }

    /// Records that this docker has run a container.
    pub(super) fn prove(&self) {
        // Another thread may have recorded the same.
        let _ = PROVEN.set(self.installed.clone());
    }

    /// Creates the image.
    fn import(&self) -> Result<(), Failure> {
        // An image that appeared after dyno's end would stay.
        let mut import = process::own_command(&self.installed.program);
        import.arg(containers::host_option(&self.installed.socket));
        import.args(["import", "-", &self.place.name()]);
        let archive = process::input(&EMPTY_ARCHIVE);
        import.stdin(archive.map_err(Failure::at("write to", &self.installed.program))?);
        client::ask(import).map(drop)
    }

    /// The entry that runs the program that follows in a new container with these directories, and
    /// in these control groups.
    pub(super) fn entry(&self, directories: &[Directory], groups: &[PathBuf]) -> Vec<OsString> {
        let host = containers::host_option(&self.installed.socket);
        let name = self.place.name();
        let mut words = client::run(&self.installed.program, &[host], &name);
        words.extend(OPTIONS.map(Into::into));
        let variables = process::variables().chain([survivors::RUN_DIR, survivors::INPUT]);
        words.extend(variables.map(|name| format!("--env={name}").into()));
        let is_there = |directory: &&Directory| directory.path.is_dir();
        for directory in directories.iter().filter(is_there) {
            let access = match directory.is_writable {
                true => "",
                false => ",readonly",
            };
            words.push(mount(&directory.path, &directory.path, access));
        }
        let inside = client::inside(groups);
        let mounted = groups.iter().zip(&inside);
        words.extend(mounted.map(|(group, inside)| mount(group, inside, "")));
        words.push(name.into());
        words.extend(cgroup::entry(&inside));
        words
    }

    /// `command` begins with [`Docker::entry`].
    pub(super) fn start(&self, command: Command) -> Result<Launched, Failure> {
        client::start(command, || self.pid())
    }

    /// Process ID of the container's program.
    fn pid(&self) -> Option<u32> {
        let mut inspect = containers::docker(&self.installed.program, &self.installed.socket);
        inspect.args(["container", "inspect", "--format={{.State.Pid}}"]);
        inspect.arg(self.place.name());
        let said = client::ask(inspect);
        // docker reports 0 before the program starts and after it ends.
        said.ok()?.parse().ok().filter(|pid| *pid != 0)
    }

    /// Removes the container and its image.
    pub(super) fn end(&self) -> Result<(), Failure> {
        self.place.end()
    }

    /// docker's version and runtime, for reports.
    pub(super) fn version(&self) -> &str {
        &self.installed.version
    }
}

/// The socket on this host of the daemon that this user's docker uses.
fn socket(program: &Path) -> Result<PathBuf, Failure> {
    let mut inspect = Command::new(program);
    inspect.args(["context", "inspect", "--format={{.Endpoints.docker.Host}}"]);
    inspect.stdin(Stdio::null());
    let host = client::ask(inspect)?;
    match host.strip_prefix("unix://") {
        Some(socket) => Ok(socket.into()),
        None => Err(unusable(format!("docker's daemon is elsewhere: {host}"))),
    }
}

/// Mounts a directory of the host in a container. docker fails if the directory is missing; it
/// would create a missing volume.
fn mount(from: &Path, to: &Path, access: &str) -> OsString {
    let (from, to) = (from.display(), to.display());
    format!("--mount=type=bind,source={from},target={to}{access}").into()
}
