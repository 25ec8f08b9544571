//! A container of podman, whose root directory is one of dyno's: it needs no image.
//!
//! podman isolates it as it always does, with its filter of system calls and its set of
//! capabilities. Its program enters dyno's control groups instead of podman's. Process IDs are the
//! host's. The program is a child of podman's monitor, and has the input and the output that podman
//! was started with. dyno's child is podman, which ends with it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};

use super::{Directory, TOOL_DIRS};
use crate::error::LabError;
use crate::home::Home;
use crate::home::outside::{self, Kind, Outside};
use crate::process::{self, POLL_INTERVAL};
use crate::site::Launched;
use crate::site::cgroup;

/// podman passes this signal on to the program when dyno dies: servers end at once. A shell that started
/// dyno in the background has it ignored.
const WHEN_DYNO_DIES: [&str; 6] = [
    "env",
    "--default-signal=QUIT",
    "setpriv",
    "--pdeathsig",
    "QUIT",
    "--",
];
/// Host's network and process IDs, and dyno's environment for the program. A host's policy may
/// forbid what is not labeled for containers, such as its own programs.
const OPTIONS: [&str; 14] = [
    "run",
    "--rm",
    "--replace",
    "--read-only",
    "--network=host",
    "--pid=host",
    "--cgroupns=host",
    "--env-host",
    "--workdir=/",
    "--log-driver=passthrough",
    "--security-opt=label=disable",
    "--no-hosts",
    "--pull=never",
    "--ulimit=nproc=32768:32768",
];
/// Where the program finds the control groups that it enters.
const GROUPS: &str = "/groups";
/// How long podman may take to start a program.
const START_LIMIT: Duration = Duration::from_secs(60);

/// podman, and the name of the container.
#[derive(Debug)]
pub(super) struct Podman {
    program: PathBuf,
    /// The runtime, if it is not the one that podman is configured to use.
    runtime: Option<&'static str>,
    version: String,
    /// podman writes the program's process ID here.
    pid_file: PathBuf,
    place: Outside,
}

impl Podman {
    /// podman, if it is installed and works.
    pub(super) fn find(home: &Home, root: &Path) -> Result<Self, LabError> {
        let program = outside::podman()
            .ok_or_else(|| unusable(format!("podman is neither in PATH nor in {TOOL_DIRS}")))?;
        let version = version(&program, None)?;
        Ok(Self {
            program,
            runtime: None,
            version,
            pid_file: root.with_extension("pid"),
            place: Outside::make(home, Kind::Container, Path::new(outside::CONTAINERS))?,
        })
    }

    /// The same with the runtime runc: others may refuse a host with control groups of both versions.
    pub(super) fn with_runc(self) -> Result<Self, LabError> {
        let runtime = Some("runc");
        let version = version(&self.program, runtime)?;
        Ok(Self {
            runtime,
            version,
            ..self
        })
    }

    /// How a process runs the program whose words follow in a new container with this root, these
    /// directories, and in these control groups.
    ///
    /// # Errors
    /// When the root cannot be completed.
    pub(super) fn entry(
        &self,
        root: &Path,
        directories: &[Directory],
        groups: &[PathBuf],
    ) -> Result<Vec<OsString>, LabError> {
        let mut words: Vec<OsString> = WHEN_DYNO_DIES.map(Into::into).to_vec();
        words.push(self.program.clone().into());
        words.push("--log-level=error".into());
        words.extend(self.runtime.map(|name| format!("--runtime={name}").into()));
        words.extend(OPTIONS.map(Into::into));
        let files = getrlimit(Resource::Nofile).maximum;
        let files = files.map_or_else(|| "-1".to_owned(), |files| files.to_string());
        words.push(format!("--ulimit=nofile={files}:{files}").into());
        words.push(format!("--name={}", self.place.name()).into());
        words.push(format!("--pidfile={}", self.pid_file.display()).into());
        for directory in directories {
            let path = &directory.path;
            if let Ok(target) = fs::read_link(path) {
                // The system's directories are often links to others.
                link(root, path, &target)?;
            } else if path.is_dir() {
                let access = if directory.is_writable { "rw" } else { "ro" };
                let path = path.display();
                words.push(format!("--volume={path}:{path}:{access}").into());
            }
        }
        let inside: Vec<PathBuf> = (0..groups.len())
            .map(|number| Path::new(GROUPS).join(number.to_string()))
            .collect();
        for (group, inside) in groups.iter().zip(&inside) {
            words.push(format!("--volume={}:{}", group.display(), inside.display()).into());
        }
        words.extend(["--rootfs".into(), root.into()]);
        words.extend(cgroup::entry(&inside));
        Ok(words)
    }

    /// Starts a program by [`Podman::entry`].
    ///
    /// # Errors
    /// When it does not start in time.
    pub(super) fn start(&self, command: Command) -> Result<Launched, LabError> {
        let _ = fs::remove_file(&self.pid_file);
        let mut child = process::spawn(command)?;
        match self.wait_for_start(&mut child) {
            Some(pid) => Ok(Launched { child, pid }),
            // Its output says why.
            None if !matches!(child.try_wait(), Ok(None)) => Ok(Launched::here(child)),
            None => {
                process::kill(&mut child);
                Err(unusable(format!(
                    "podman started nothing in {} s",
                    START_LIMIT.as_secs()
                )))
            }
        }
    }

    fn wait_for_start(&self, child: &mut Child) -> Option<u32> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            let is_over = !matches!(child.try_wait(), Ok(None)) || Instant::now() > deadline;
            let text = fs::read_to_string(&self.pid_file).unwrap_or_default();
            match text.trim().parse() {
                Ok(pid) => return Some(pid),
                Err(_) if is_over => return None,
                Err(_) => sleep(POLL_INTERVAL),
            }
        }
    }

    /// Removes the container.
    pub(super) fn end(&self) -> Result<(), LabError> {
        self.place.end()
    }

    /// podman with its version and runtime, for reports.
    pub(super) fn version(&self) -> &str {
        &self.version
    }
}

/// Asks podman what it is.
fn version(program: &Path, runtime: Option<&str>) -> Result<String, LabError> {
    let mut command = Command::new(program);
    command.args(runtime.map(|name| format!("--runtime={name}")));
    let format = "podman {{.Version.Version}} with {{.Host.OCIRuntime.Name}}";
    command.args(["--log-level=error", "info", "--format", format]);
    let output = command.output().map_err(LabError::at("run", program))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(unusable(text(&output.stderr))),
    }
}

fn unusable(why: String) -> LabError {
    LabError::NoContainer {
        why,
        remedy: "install podman, or use runtime = \"namespaces\" under [site]",
    }
}

/// Creates the same link below a root.
fn link(root: &Path, path: &Path, target: &Path) -> Result<(), LabError> {
    let inside = root.join(path.strip_prefix("/").unwrap_or(path));
    let parent = inside.parent().unwrap_or(root);
    let made =
        fs::create_dir_all(parent).and_then(|()| std::os::unix::fs::symlink(target, &inside));
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(LabError::at("create", &inside)(error))
        }
        _ => Ok(()),
    }
}
