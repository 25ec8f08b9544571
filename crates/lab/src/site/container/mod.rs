//! A container on this host: a root directory that has only the system's programs and configuration,
//! to read, and the server's directories.

mod namespaces;
mod podman;

use std::env;
use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use plan::Runtime;

use super::Launched;
use super::cgroup::Groups;
use crate::error::LabError;
use crate::home::Home;
use crate::{process, tree};
use podman::Podman;

/// What a server's programs, libraries, and configuration consist of.
const SYSTEM: [&str; 8] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
];
/// Where tools are besides PATH, which another user's may lack.
pub(crate) const TOOL_DIRS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// A container's root directory.
#[derive(Debug)]
pub(super) struct Container {
    /// A directory for the root.
    root: PathBuf,
    /// Directories of the host that it has.
    directories: Mutex<Vec<Directory>>,
    /// `None`: namespaces.
    podman: Option<Podman>,
}

/// A directory of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Directory {
    path: PathBuf,
    is_writable: bool,
}

impl Container {
    /// Checks that a container can be set up, and creates none before a program starts.
    ///
    /// # Errors
    /// When a program is missing, or the kernel refuses.
    pub(super) fn new(home: &Home, runtime: Runtime) -> Result<Self, LabError> {
        let root = home.new_path("root");
        std::fs::create_dir(&root).map_err(LabError::at("create", &root))?;
        // Its programs may be another user's.
        let open = Permissions::from_mode(0o755);
        std::fs::set_permissions(&root, open).map_err(LabError::at("create", &root))?;
        let system = SYSTEM.map(|directory| Directory {
            path: directory.into(),
            is_writable: false,
        });
        let mut container = Self {
            root,
            directories: Mutex::new(system.into()),
            podman: None,
        };
        let by_podman = match runtime {
            Runtime::Namespaces => false,
            Runtime::Podman => container.use_podman(home).map(|()| true)?,
            Runtime::Auto => container.use_podman(home).is_ok(),
        };
        if !by_podman {
            container.podman = None;
            let path = env::var_os("PATH").unwrap_or_default();
            namespaces::check_tools(&[path, TOOL_DIRS.into()])?;
            container.check()?;
        }
        Ok(container)
    }

    fn use_podman(&mut self, home: &Home) -> Result<(), LabError> {
        self.podman = Some(Podman::find(home, &self.root)?);
        self.check().or_else(|error| {
            self.podman = self.podman.take().map(Podman::with_runc).transpose()?;
            self.check().map_err(|_| error)
        })
    }

    /// Runs a program in it that does nothing.
    fn check(&self) -> Result<(), LabError> {
        let mut command = process::own_command(Path::new("env"));
        command.args(self.entry(None, &[])?).arg("true");
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let output = process::spawn(command)?.wait_with_output();
        let output = output.map_err(LabError::at("run", Path::new("unshare")))?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(LabError::NoContainer {
            why: words,
            remedy: match (rustix::process::geteuid().is_root(), &self.podman) {
                (false, _) => "run dyno as root",
                (true, Some(_)) => "use runtime = \"namespaces\" under [site]",
                (true, None) => {
                    "run dyno where root may mount file systems (inside a container it often may not)"
                }
            },
        })
    }

    /// Lets its programs use these directories.
    pub(super) fn admit(&self, readable: &[PathBuf], writable: &[PathBuf]) {
        let mut all = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (paths, is_writable) in [(readable, false), (writable, true)] {
            for path in paths {
                // A link needs what it leads to.
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

    /// How a process of a network enters a new one and these groups, and becomes, or runs, the
    /// program whose words follow.
    ///
    /// # Errors
    /// When its root cannot be completed.
    pub(super) fn entry(
        &self,
        groups: Option<&Groups>,
        network: &[OsString],
    ) -> Result<Vec<OsString>, LabError> {
        let directories = self.directories.lock();
        let directories = directories.unwrap_or_else(PoisonError::into_inner);
        Ok(match &self.podman {
            Some(podman) => {
                let groups = groups.map(Groups::dirs).unwrap_or_default();
                let own = podman.entry(&self.root, &directories, &groups)?;
                [network, &own].concat()
            }
            None => {
                let groups = groups.map(Groups::entry).unwrap_or_default();
                let own = namespaces::entry(&self.root, &directories);
                [&groups, network, &own].concat()
            }
        })
    }

    /// Starts a program by [`Container::entry`].
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(super) fn start(&self, command: Command) -> Result<Launched, LabError> {
        match &self.podman {
            Some(podman) => podman.start(command),
            None => Ok(Launched::here(process::spawn(command)?)),
        }
    }

    /// Removes it, after its programs have ended.
    ///
    /// # Errors
    /// What could not be removed.
    pub(super) fn end(&self) -> Result<(), LabError> {
        self.podman.as_ref().map_or(Ok(()), Podman::end)
    }

    /// What set it up, for reports.
    pub(super) fn platform(&self) -> String {
        match &self.podman {
            Some(podman) => podman.version().to_owned(),
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
