//! Containers of podman and docker, which speak the same command line.
//!
//! Both isolate a container as usual, with their filter of system calls and their set of
//! capabilities. The program enters dyno's control groups instead of theirs. Process IDs are the
//! host's. dyno's child is their client, which ends with the container; the program is a child of
//! podman's monitor, which inherits podman's input and output, or of docker's daemon, whose client
//! passes them on. podman's root directory is one of dyno's; docker's is an empty image.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use super::{Directory, no_container};
use crate::failure::Failure;
use crate::home::Home;
use crate::home::containers::{Client, TOOL_DIRS, program};
use crate::home::journal::Kind;
use crate::home::outside::Outside;
use crate::home::survivors;
use crate::process::{self, NEVER};
use crate::site::cgroup;
use crate::site::launched::Launched;

/// When dyno dies, the client receives SIGQUIT and passes it on to the program: servers end at
/// once. `env` resets the signal, which is ignored if a shell started dyno in the background.
const WHEN_DYNO_DIES: &str = "env --default-signal=QUIT setpriv --pdeathsig QUIT --";
/// Containers share the host's network and process IDs. The labels of a security policy are
/// disabled, because it may forbid programs of the host, which are not labeled for containers.
const OPTIONS: &str = "run --rm --read-only --network=host --pid=host --cgroupns=host --workdir=/ \
                       --security-opt=label=disable --ulimit=nproc=32768:32768 --pull=never";
const PODMAN_OPTIONS: &str = "--replace --log-driver=passthrough --no-hosts";
/// Passes the program's input, and keeps no log besides its output. The daemon may map users by
/// default.
const DOCKER_OPTIONS: &str = "--interactive --log-driver=none --userns=host";
/// The path in the container of the control groups that the program enters.
const GROUPS: &str = "/groups";
/// An archive without files: the two blocks of zeros that end a tar file.
const EMPTY_ARCHIVE: [u8; 1024] = [0; 1024];
/// How long a program may take to start.
pub(super) const START_LIMIT: Duration = Duration::from_secs(60);
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// podman or docker as it is installed on this host.
#[derive(Debug, Clone)]
pub(super) struct Installed {
    client: Client,
    /// Version and runtime, for reports.
    pub(super) version: String,
}

impl Installed {
    pub(super) fn podman() -> Result<Self, Failure> {
        let client = Client {
            program: find("podman")?,
            socket: None,
        };
        Self::new(
            client,
            "podman {{.Version.Version}} with {{.Host.OCIRuntime.Name}}",
        )
    }

    /// Fails unless docker's daemon runs on this host.
    pub(super) fn docker() -> Result<Self, Failure> {
        let program = find("docker")?;
        let mut inspect = Command::new(&program);
        inspect.args(["context", "inspect", "--format={{.Endpoints.docker.Host}}"]);
        inspect.stdin(Stdio::null());
        let daemon = ask(inspect)?;
        let Some(socket) = daemon.strip_prefix("unix://") else {
            return Err(unusable(format!("docker's daemon is elsewhere: {daemon}")));
        };
        let socket = Some(socket.into());
        let client = Client { program, socket };
        Self::new(client, "docker {{.ServerVersion}} with {{.DefaultRuntime}}")
    }

    fn new(client: Client, format: &str) -> Result<Self, Failure> {
        let version = ask(client.command(&["info", "--format", format]))?;
        Ok(Self { client, version })
    }
}

/// A container, which exists while its program runs.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) installed: Installed,
    pub(super) place: Outside,
    /// The file to which podman writes the program's process ID.
    pid_file: PathBuf,
}

impl Named {
    pub(super) fn new(home: &Home, root: &Path, installed: Installed) -> Result<Self, Failure> {
        let named = Self {
            place: Outside::make(home, Kind::Container, &installed.client.prefix())?,
            pid_file: root.with_extension("pid"),
            installed,
        };
        if named.is_dockers() {
            named.import()?;
        }
        Ok(named)
    }

    pub(super) fn is_dockers(&self) -> bool {
        self.installed.client.socket.is_some()
    }

    /// Creates docker's image.
    fn import(&self) -> Result<(), Failure> {
        let client = &self.installed.client;
        // An image that appeared after dyno's end would stay.
        let mut import = process::own_command(&client.program);
        import.arg(client.option());
        import.args(["import", "-", &self.place.name()]);
        let archive = process::input(&EMPTY_ARCHIVE);
        import.stdin(archive.map_err(Failure::at("write to", &client.program))?);
        ask(import).map(drop)
    }

    /// The entry that runs the program that follows in a new container with this root, which only
    /// podman uses, and these directories, and in these control groups.
    pub(super) fn entry(
        &self,
        root: &Path,
        directories: &[Directory],
        groups: &[PathBuf],
    ) -> Vec<OsString> {
        let client = &self.installed.client;
        let files = getrlimit(Resource::Nofile).maximum;
        let files = files.map_or_else(|| "-1".to_owned(), |files| files.to_string());
        let name = self.place.name();
        let mut words: Vec<OsString> = WHEN_DYNO_DIES.split(' ').map(Into::into).collect();
        words.extend(process::guard());
        words.extend([client.program.clone().into(), client.option().into()]);
        words.extend(OPTIONS.split(' ').map(Into::into));
        words.push(format!("--ulimit=nofile={files}:{files}").into());
        words.push(format!("--name={name}").into());
        let variables = process::variables().chain([survivors::RUN_DIR, survivors::INPUT]);
        words.extend(variables.map(|name| format!("--env={name}").into()));
        let is_there = |directory: &&Directory| directory.path.is_dir();
        for Directory { path, is_writable } in directories.iter().filter(is_there) {
            words.push(self.mount(path, path, *is_writable));
        }
        let inside = (0..groups.len()).map(|number| Path::new(GROUPS).join(number.to_string()));
        let inside: Vec<PathBuf> = inside.collect();
        let mounted = groups.iter().zip(&inside);
        words.extend(mounted.map(|(group, inside)| self.mount(group, inside, true)));
        if self.is_dockers() {
            words.extend(DOCKER_OPTIONS.split(' ').map(Into::into));
            words.push(name.into());
        } else {
            words.extend(PODMAN_OPTIONS.split(' ').map(Into::into));
            words.push(format!("--pidfile={}", self.pid_file.display()).into());
            words.extend(["--rootfs".into(), root.into()]);
        }
        words.extend(cgroup::entry(&inside));
        words
    }

    /// Mounts a directory of the host in a container. docker fails if the directory is missing; it
    /// would create a missing volume.
    fn mount(&self, from: &Path, to: &Path, is_writable: bool) -> OsString {
        let (from, to) = (from.display(), to.display());
        let option = match (self.is_dockers(), is_writable) {
            (false, true) => format!("--volume={from}:{to}:rw"),
            (false, false) => format!("--volume={from}:{to}:ro"),
            (true, true) => format!("--mount=type=bind,source={from},target={to}"),
            (true, false) => format!("--mount=type=bind,source={from},target={to},readonly"),
        };
        option.into()
    }

    /// `command` begins with [`Named::entry`].
    pub(super) fn start(&self, command: Command) -> Result<Launched, Failure> {
        let _ = fs::remove_file(&self.pid_file);
        let mut child = process::spawn(command)?;
        let started = process::poll(START_LIMIT, || {
            let has_ended = !matches!(child.try_wait(), Ok(None));
            let pid = self.pid();
            (pid.is_some() || has_ended).then_some(pid)
        });
        match started {
            Some(Some(pid)) => Ok(Launched::by_client(child, pid)),
            // Its output says why.
            Some(None) => Ok(Launched::here(child)),
            None => {
                process::kill(&mut child);
                let limit_s = START_LIMIT.as_secs();
                Err(unusable(format!("nothing started in {limit_s} s")))
            }
        }
    }

    fn pid(&self) -> Option<u32> {
        let said = match self.is_dockers() {
            false => fs::read_to_string(&self.pid_file).ok()?,
            true => {
                let name = self.place.name();
                let inspect = ["container", "inspect", "--format={{.State.Pid}}", &name];
                ask(self.installed.client.command(&inspect)).ok()?
            }
        };
        // docker reports 0 before the program starts and after it ends.
        said.trim().parse().ok().filter(|pid| *pid != 0)
    }
}

fn find(name: &str) -> Result<PathBuf, Failure> {
    program(name).ok_or_else(|| unusable(format!("{name} is neither in PATH nor in {TOOL_DIRS}")))
}

/// Runs a client's command; returns its output.
fn ask(command: Command) -> Result<String, Failure> {
    let output = process::output(command, ANSWER_LIMIT, &NEVER)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(unusable(text(&output.stderr))),
    }
}

fn unusable(why: String) -> Failure {
    let remedy = "install podman or docker, or use runtime = \"namespaces\" under [site]";
    no_container(why, remedy)
}
