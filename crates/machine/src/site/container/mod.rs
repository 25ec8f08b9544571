//! A container on this host: its root directory has only the system's programs and configuration,
//! read-only, and the server's directories.

mod client;
mod docker;
mod namespaces;
mod podman;

use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::Permissions;
use std::mem;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use plan::Runtime;

use super::Launched;
use super::cgroup::Groups;
use crate::home::Home;
use crate::process::{self, NEVER};
use crate::tree;
use docker::Docker;
use podman::Podman;

use crate::failure::Failure;

/// Directories with the programs, libraries, and configuration that servers need.
const SYSTEM: [&str; 8] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
];
/// Directories of tools that may be missing from another user's PATH.
pub(crate) const TOOL_DIRS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// Identifies this host in any namespace.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The runtime that [`Runtime::Auto`] selected: for containers in this host's network, and for
/// those in a network of their own. It is kept so that all containers of a study have the same one.
static CHOSEN: [OnceLock<Runtime>; 2] = [OnceLock::new(), OnceLock::new()];

#[derive(Debug)]
pub(super) struct Container {
    /// The directory that the root is built in.
    root: PathBuf,
    /// Directories of the host that the container has.
    directories: Mutex<Vec<Directory>>,
    tool: Tool,
}

/// What sets a container up.
#[derive(Debug)]
enum Tool {
    /// dyno itself, with util-linux.
    Namespaces,
    Podman(Podman),
    Docker(Docker),
}

/// A directory of the host in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Directory {
    path: PathBuf,
    is_writable: bool,
}

impl Tool {
    fn is_proven(&self) -> bool {
        match self {
            Self::Podman(podman) => podman.is_proven(),
            Self::Docker(docker) => docker.is_proven(),
            Self::Namespaces => false,
        }
    }

    fn prove(&self) {
        match self {
            Self::Podman(podman) => podman.prove(),
            Self::Docker(docker) => docker.prove(),
            Self::Namespaces => {}
        }
    }
}

impl Container {
    /// Checks that a container can be set up; none is created before a program starts. The
    /// container is in this host's network or, with `own_network`, in that of the process that
    /// [`Container::entry`] begins with.
    pub(super) fn new(home: &Home, runtime: Runtime, own_network: bool) -> Result<Self, Failure> {
        let root = home.new_path("root");
        std::fs::create_dir(&root).map_err(Failure::at("create", &root))?;
        // The container's programs may run as another user.
        let open = Permissions::from_mode(0o755);
        std::fs::set_permissions(&root, open).map_err(Failure::at("create", &root))?;
        let system = SYSTEM.map(|directory| Directory {
            path: directory.into(),
            is_writable: false,
        });
        let mut container = Self {
            root,
            directories: Mutex::new(system.into()),
            tool: Tool::Namespaces,
        };
        let chosen = match own_network {
            false => &CHOSEN[0],
            true => &CHOSEN[1],
        };
        let runtime = match runtime {
            Runtime::Auto => chosen.get().copied().unwrap_or(Runtime::Auto),
            named => named,
        };
        match runtime {
            Runtime::Podman => container.use_podman(home)?,
            Runtime::Docker if own_network => return Err(no_network_for_docker()),
            Runtime::Docker => container.use_docker(home)?,
            Runtime::Namespaces => container.use_namespaces()?,
            Runtime::Auto => {
                let found = if container.use_podman(home).is_ok() {
                    Runtime::Podman
                } else if !own_network && container.use_docker(home).is_ok() {
                    Runtime::Docker
                } else {
                    container.use_namespaces()?;
                    Runtime::Namespaces
                };
                // Another thread may have recorded the same.
                let _ = chosen.set(found);
            }
        }
        Ok(container)
    }

    fn use_podman(&mut self, home: &Home) -> Result<(), Failure> {
        self.tool = Tool::Podman(Podman::find(home, &self.root)?);
        self.check().or_else(|error| {
            if let Tool::Podman(podman) = mem::replace(&mut self.tool, Tool::Namespaces) {
                self.tool = Tool::Podman(podman.with_runc()?);
            }
            self.check().map_err(|_| error)
        })
    }

    fn use_docker(&mut self, home: &Home) -> Result<(), Failure> {
        self.tool = Tool::Docker(Docker::find(home)?);
        self.check()
    }

    fn use_namespaces(&mut self) -> Result<(), Failure> {
        self.tool = Tool::Namespaces;
        let path = env::var_os("PATH").unwrap_or_default();
        namespaces::check_tools(&[path, TOOL_DIRS.into()])?;
        self.check()
    }

    /// Checks that the container can run a program on this host, unless the runtime has already
    /// done so for this dyno.
    fn check(&self) -> Result<(), Failure> {
        if !self.tool.is_proven() {
            self.try_out()?;
            self.tool.prove();
        }
        Ok(())
    }

    /// Runs a program in the container that reports whether it is on this host.
    fn try_out(&self) -> Result<(), Failure> {
        // dyno's environment may contain passwords, so the program does not get it.
        let mut command = process::own_command(Path::new("env"));
        command.env_clear().envs(process::environment());
        let directories = match &self.tool {
            // A daemon that is in a container itself does not see dyno's directories.
            Tool::Docker(_) => vec![self.root.clone()],
            Tool::Podman(_) | Tool::Namespaces => Vec::new(),
        };
        let directories = directories.into_iter().map(|path| Directory {
            path,
            is_writable: false,
        });
        let directories: Vec<Directory> = self
            .directories()
            .iter()
            .cloned()
            .chain(directories)
            .collect();
        command.args(self.entry_with(&directories, None, &[])?);
        command.args(["cat", BOOT_ID]);
        let output = process::output(command, client::START_LIMIT, &NEVER)?;
        let host = std::fs::read(BOOT_ID).map_err(Failure::at("read", Path::new(BOOT_ID)))?;
        let why = match output.status.success() {
            true if output.stdout == host => return Ok(()),
            true => "its programs run on another host".to_owned(),
            false => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        };
        let remedy = match (rustix::process::geteuid().is_root(), &self.tool) {
            (false, _) => "run dyno as root",
            (true, Tool::Podman(_) | Tool::Docker(_)) => {
                "use runtime = \"namespaces\" under [site]"
            }
            (true, Tool::Namespaces) => {
                "run dyno where root may mount file systems (inside a container it often may not)"
            }
        };
        Err(no_container(why, remedy))
    }

    fn directories(&self) -> MutexGuard<'_, Vec<Directory>> {
        self.directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes these directories available to programs in the container.
    pub(super) fn admit(&self, readable: &[PathBuf], writable: &[PathBuf]) {
        let mut all = self.directories();
        for (paths, is_writable) in [(readable, false), (writable, true)] {
            for path in paths {
                // The target of a link must be available, too.
                let target = path.canonicalize().unwrap_or_else(|_| path.clone());
                for path in [target, path.clone()] {
                    let is_there = |known: &Directory| {
                        known.is_writable == is_writable && path.starts_with(&known.path)
                    };
                    if !all.iter().any(is_there) {
                        all.push(Directory { path, is_writable });
                    }
                }
            }
        }
    }

    /// The entry that enters `groups`, a network by its entry `network`, and a new container, in
    /// which it runs the program that follows.
    pub(super) fn entry(
        &self,
        groups: Option<&Groups>,
        network: &[OsString],
    ) -> Result<Vec<OsString>, Failure> {
        self.entry_with(&self.directories(), groups, network)
    }

    fn entry_with(
        &self,
        directories: &[Directory],
        groups: Option<&Groups>,
        network: &[OsString],
    ) -> Result<Vec<OsString>, Failure> {
        let dirs = groups.map(Groups::dirs).unwrap_or_default();
        Ok(match &self.tool {
            Tool::Podman(podman) => {
                [network, &podman.entry(&self.root, directories, &dirs)?].concat()
            }
            Tool::Docker(docker) => docker.entry(directories, &dirs),
            Tool::Namespaces => {
                let groups = groups.map(Groups::entry).unwrap_or_default();
                let own = namespaces::entry(&self.root, directories);
                [&groups, network, &own].concat()
            }
        })
    }

    /// `command` begins with [`Container::entry`].
    pub(super) fn start(&self, command: Command) -> Result<Launched, Failure> {
        match &self.tool {
            Tool::Podman(podman) => podman.start(command),
            Tool::Docker(docker) => docker.start(command),
            Tool::Namespaces => Ok(Launched::here(process::spawn(command)?)),
        }
    }

    /// Removes the container after its programs have ended.
    pub(super) fn end(&self) -> Result<(), Failure> {
        match &self.tool {
            Tool::Podman(podman) => podman.end(),
            Tool::Docker(docker) => docker.end(),
            Tool::Namespaces => Ok(()),
        }
    }

    /// The runtime, for reports.
    pub(super) fn platform(&self) -> String {
        match &self.tool {
            Tool::Podman(podman) => podman.version().to_owned(),
            Tool::Docker(docker) => docker.version().to_owned(),
            Tool::Namespaces => "mount, IPC, and UTS namespaces of dyno's own".to_owned(),
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // What remains is removed with the run directory.
        let _ = tree::remove(&self.root);
    }
}

fn no_network_for_docker() -> Failure {
    no_container(
        "docker's containers cannot be in the network namespaces of a cluster",
        "use runtime = \"podman\" or \"namespaces\" under [site]",
    )
}

/// The failure of a host that cannot, or a user that may not, set up a container.
fn no_container(why: impl Display, remedy: &str) -> Failure {
    Failure::usage(format!("cannot set up a container: {why}"))
        .remedy(remedy)
        .key("site.kind")
}
