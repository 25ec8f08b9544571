//! A container on this host: its root directory has only the system's programs and configuration,
//! read-only, and the server's directories.
//!
//! Besides podman's and docker's containers, there are those of kernel namespaces alone, which need
//! util-linux, and no other program, image, or daemon. There, each program gets mount, IPC, and UTS
//! namespaces of its own, and a root directory in memory. It stays a child of dyno, so that it is
//! stopped, killed, and sampled like any other process, and nothing of the container outlives it.

mod client;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use plan::Runtime;

use super::Launched;
use super::cgroup::Groups;
use crate::failure::Failure;
use crate::home::containers::TOOL_DIRS;
use crate::home::{Home, root};
use crate::locked;
use crate::process::{self, NEVER};
use crate::tree;
use client::{Installed, Named};

/// Directories with the programs, libraries, and configuration that servers need.
const SYSTEM: [&str; 8] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
];

/// Programs that the container's setup requires.
const TOOLS: [&str; 4] = ["unshare", "mount", "umount", "pivot_root"];
/// Arguments: an empty directory, pairs of mount options and directories, and, after `--`, a
/// program.
const SET_UP: &str = include_str!("namespaces.sh");
/// Identifies this host in any namespace.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A runtime, and whether its containers are in a network of their own.
type Request = (Runtime, bool);

/// What has run a container for this dyno; `None` for namespaces of dyno's own. Finding that out
/// takes long, and all containers of a study must have the same runtime.
static PROVEN: Mutex<Vec<(Request, Option<Installed>)>> = Mutex::new(Vec::new());

#[derive(Debug)]
pub(super) struct Container {
    /// The directory that the root is built in.
    root: PathBuf,
    /// Directories of the host that the container has.
    directories: Mutex<Vec<Directory>>,
    /// podman's or docker's container; without them, dyno itself sets one up with util-linux.
    named: Option<Named>,
}

/// A directory of the host in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Directory {
    path: PathBuf,
    is_writable: bool,
}

impl Container {
    /// Checks that a container can be set up; none is created before a program starts. The
    /// container is in this host's network or, with `own_network`, in that of the process that
    /// [`Container::entry`] begins with.
    pub(super) fn new(home: &Home, runtime: Runtime, own_network: bool) -> Result<Self, Failure> {
        let root = home.new_path("root");
        // The container's programs may run as another user.
        root::make_dir(&root).map_err(Failure::at("create", &root))?;
        let system = SYSTEM.map(|directory| Directory {
            path: directory.into(),
            is_writable: false,
        });
        let mut container = Self {
            root,
            directories: Mutex::new(system.into()),
            named: None,
        };
        let request = (runtime, own_network);
        let mut proven = locked(&PROVEN);
        if let Some((_, installed)) = proven.iter().find(|(known, _)| *known == request) {
            let named = installed.clone();
            let named = named.map(|one| Named::new(home, &container.root, one));
            container.named = named.transpose()?;
            return Ok(container);
        }
        let mut with = |runtime| container.try_with(home, runtime, own_network);
        let outcome = match runtime {
            Runtime::Auto => with(Runtime::Podman)
                .or_else(|_| with(Runtime::Docker))
                .or_else(|_| with(Runtime::Namespaces)),
            _ => with(runtime),
        };
        outcome?;
        let installed = container.named.as_ref().map(|named| &named.installed);
        proven.push((request, installed.cloned()));
        Ok(container)
    }

    fn try_with(
        &mut self,
        home: &Home,
        runtime: Runtime,
        own_network: bool,
    ) -> Result<(), Failure> {
        let installed = match runtime {
            Runtime::Podman => Some(Installed::podman()?),
            Runtime::Docker if own_network => return Err(no_network_for_docker()),
            Runtime::Docker => Some(Installed::docker()?),
            Runtime::Namespaces | Runtime::Auto => {
                let path = env::var_os("PATH").unwrap_or_default();
                check_tools(&[path, TOOL_DIRS.into()])?;
                None
            }
        };
        let named = installed.map(|one| Named::new(home, &self.root, one));
        self.named = named.transpose()?;
        self.try_out()
    }

    /// Runs a program in the container that reports whether it is on this host.
    fn try_out(&self) -> Result<(), Failure> {
        // dyno's environment may contain passwords, so the program does not get it.
        let mut command = process::own_command(Path::new("env"));
        command.env_clear().envs(process::environment());
        let mut directories = locked(&self.directories).clone();
        if self.named.as_ref().is_some_and(Named::is_dockers) {
            // A daemon that is in a container itself does not see dyno's directories.
            directories.push(Directory {
                path: self.root.clone(),
                is_writable: false,
            });
        }
        command.args(self.entry_with(&directories, None, &[]));
        command.args(["cat", BOOT_ID]);
        let output = process::output(command, client::START_LIMIT, &NEVER)?;
        let host = std::fs::read(BOOT_ID).map_err(Failure::at("read", Path::new(BOOT_ID)))?;
        let why = match output.status.success() {
            true if output.stdout == host => return Ok(()),
            true => "its programs run on another host".to_owned(),
            false => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        };
        let remedy = match (rustix::process::geteuid().is_root(), &self.named) {
            (false, _) => "run dyno as root",
            (true, Some(_)) => "use runtime = \"namespaces\" under [site]",
            (true, None) => {
                "run dyno where root may mount file systems (inside a container it often may not)"
            }
        };
        Err(no_container(why, remedy))
    }

    /// Makes these directories available to programs in the container.
    pub(super) fn admit(&self, readable: &[PathBuf], writable: &[PathBuf]) {
        let mut all = locked(&self.directories);
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
    pub(super) fn entry(&self, groups: Option<&Groups>, network: &[OsString]) -> Vec<OsString> {
        self.entry_with(&locked(&self.directories), groups, network)
    }

    fn entry_with(
        &self,
        directories: &[Directory],
        groups: Option<&Groups>,
        network: &[OsString],
    ) -> Vec<OsString> {
        match &self.named {
            Some(named) => {
                let groups = groups.map(Groups::dirs).unwrap_or_default();
                [network, &named.entry(&self.root, directories, &groups)].concat()
            }
            None => {
                let groups = groups.map(Groups::entry).unwrap_or_default();
                let own = namespaces(&self.root, directories);
                [&groups, network, &own].concat()
            }
        }
    }

    /// `command` begins with [`Container::entry`].
    pub(super) fn start(&self, command: Command) -> Result<Launched, Failure> {
        match &self.named {
            Some(named) => named.start(command),
            None => Ok(Launched::here(process::spawn(command)?)),
        }
    }

    /// Removes the container after its programs have ended.
    pub(super) fn end(&self) -> Result<(), Failure> {
        let named = self.named.as_ref();
        named.map_or(Ok(()), |named| named.place.end())
    }

    pub(super) fn platform(&self) -> String {
        match &self.named {
            Some(named) => named.installed.version.clone(),
            None => "mount, IPC, and UTS namespaces of dyno's own".to_owned(),
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

/// The entry that enters a new container, whose root is mounted on `root`, and executes the program
/// that follows.
fn namespaces(root: &Path, directories: &[Directory]) -> Vec<OsString> {
    let words = ["unshare", "--mount", "--ipc", "--uts", "--propagation"];
    let shell = ["private", "/bin/sh", "-c", SET_UP, "container"];
    let mut words: Vec<OsString> = words.into_iter().chain(shell).map(Into::into).collect();
    words.push(root.into());
    for directory in directories {
        let options = match directory.is_writable {
            true => "rbind",
            false => "rbind,ro",
        };
        words.extend([OsString::from(options), directory.path.clone().into()]);
    }
    words.push("--".into());
    words
}

/// Checks that the tools are in one of these lists of directories.
fn check_tools(paths: &[OsString]) -> Result<(), Failure> {
    let has = |list: &OsStr, tool: &&str| env::split_paths(list).any(|dir| dir.join(tool).exists());
    let mut tools = TOOLS.iter();
    let Some(missing) = tools.find(|tool| !paths.iter().any(|list| has(list, tool))) else {
        return Ok(());
    };
    Err(no_container(
        format!("{missing} is not installed"),
        "install the packages util-linux and mount",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::containers::TOOL_DIRS;

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        let dir = tempfile::tempdir().unwrap();
        for tool in &TOOLS[..3] {
            std::fs::write(dir.path().join(tool), "").unwrap();
        }
        let error = check_tools(&[dir.path().into()]).unwrap_err();
        assert!(error.message.contains("pivot_root"), "{error}");
        let remedy = error.remedy.as_deref().unwrap();
        assert!(remedy.contains("util-linux"), "{remedy}");
        check_tools(&[dir.path().into(), TOOL_DIRS.into()]).unwrap();
    }
}
