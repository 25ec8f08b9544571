//! A podman container whose root directory is one of dyno's, so that it needs no image.
//!
//! The program is a child of podman's monitor and inherits podman's input and output.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::client::{self, unusable};
use super::{Directory, TOOL_DIRS};
use crate::failure::Failure;
use crate::home::Home;
use crate::home::containers::{self, PODMAN};
use crate::home::outside::{Kind, Outside};
use crate::site::{Launched, cgroup};

/// The program gets dyno's environment for servers.
const OPTIONS: [&str; 5] = [
    "--replace",
    "--env-host",
    "--log-driver=passthrough",
    "--no-hosts",
    "--pull=never",
];

/// The podman that has run a container for this dyno; finding that out takes long.
static PROVEN: OnceLock<Installed> = OnceLock::new();

/// podman, and the name of the container.
#[derive(Debug)]
pub(super) struct Podman {
    installed: Installed,
    /// The file to which podman writes the program's process ID.
    pid_file: PathBuf,
    place: Outside,
}

#[derive(Debug, Clone)]
struct Installed {
    program: PathBuf,
    /// `None` for the runtime that podman is configured to use.
    runtime: Option<&'static str>,
    version: String,
}

impl Installed {
    fn find() -> Result<Self, Failure> {
        let program = containers::program("podman")
            .ok_or_else(|| unusable(format!("podman is neither in PATH nor in {TOOL_DIRS}")))?;
        Ok(Self {
            version: version(&program, None)?,
            program,
            runtime: None,
        })
    }
}

impl Podman {
    /// Fails unless podman is installed.
    pub(super) fn find(home: &Home, root: &Path) -> Result<Self, Failure> {
        Ok(Self {
            installed: match PROVEN.get() {
                Some(installed) => installed.clone(),
                None => Installed::find()?,
            },
            pid_file: root.with_extension("pid"),
            place: Outside::make(home, Kind::Container, Path::new(PODMAN))?,
        })
    }

    /// Selects the runtime runc. Others may refuse a host that has control groups of both versions.
    pub(super) fn with_runc(self) -> Result<Self, Failure> {
        let (program, runtime) = (self.installed.program, Some("runc"));
        Ok(Self {
            installed: Installed {
                version: version(&program, runtime)?,
                program,
                runtime,
            },
            ..self
        })
    }

    /// Whether this podman has run a container for this dyno.
    pub(super) fn is_proven(&self) -> bool {
        PROVEN.get().is_some()
    }

    /// Records that this podman has run a container.
    pub(super) fn prove(&self) {
        // Another thread may have recorded the same.
        let _ = PROVEN.set(self.installed.clone());
    }

    /// The entry that runs the program that follows in a new container with this root and these
    /// directories, and in these control groups.
    pub(super) fn entry(
        &self,
        root: &Path,
        directories: &[Directory],
        groups: &[PathBuf],
    ) -> Result<Vec<OsString>, Failure> {
        let runtime = self.installed.runtime;
        let runtime = runtime.map(|name| format!("--runtime={name}"));
        let quiet = ["--log-level=error".to_owned()];
        let global: Vec<String> = quiet.into_iter().chain(runtime).collect();
        let mut words = client::run(&self.installed.program, &global, &self.place.name());
        words.extend(OPTIONS.map(Into::into));
        words.push(format!("--pidfile={}", self.pid_file.display()).into());
        for directory in directories {
            let path = &directory.path;
            if let Ok(target) = fs::read_link(path) {
                // Directories of the system are often links to others.
                link(root, path, &target)?;
            } else if path.is_dir() {
                let access = if directory.is_writable { "rw" } else { "ro" };
                let path = path.display();
                words.push(format!("--volume={path}:{path}:{access}").into());
            }
        }
        let inside = client::inside(groups);
        for (group, inside) in groups.iter().zip(&inside) {
            words.push(format!("--volume={}:{}", group.display(), inside.display()).into());
        }
        words.extend(["--rootfs".into(), root.into()]);
        words.extend(cgroup::entry(&inside));
        Ok(words)
    }

    /// `command` begins with [`Podman::entry`].
    pub(super) fn start(&self, command: Command) -> Result<Launched, Failure> {
        let _ = fs::remove_file(&self.pid_file);
        let pid = || fs::read_to_string(&self.pid_file).ok()?.trim().parse().ok();
        client::start(command, pid)
    }

    pub(super) fn end(&self) -> Result<(), Failure> {
        self.place.end()
    }

    /// podman's version and runtime, for reports.
    pub(super) fn version(&self) -> &str {
        &self.installed.version
    }
}

fn version(program: &Path, runtime: Option<&str>) -> Result<String, Failure> {
    let mut command = Command::new(program);
    command.args(runtime.map(|name| format!("--runtime={name}")));
    let format = "podman {{.Version.Version}} with {{.Host.OCIRuntime.Name}}";
    command.args(["--log-level=error", "info", "--format", format]);
    command.stdin(Stdio::null());
    client::ask(command)
}

/// Creates the link `path` below `root`.
fn link(root: &Path, path: &Path, target: &Path) -> Result<(), Failure> {
    let inside = root.join(path.strip_prefix("/").unwrap_or(path));
    let parent = inside.parent().unwrap_or(root);
    let made =
        fs::create_dir_all(parent).and_then(|()| std::os::unix::fs::symlink(target, &inside));
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(Failure::at("create", &inside)(error))
        }
        _ => Ok(()),
    }
}
