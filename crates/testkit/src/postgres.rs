//! PostgreSQL, from the system's package: a cluster of its own for each server.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::{daemon, tls};

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The package's own account, as which servers run when the tests run as root.
const ACCOUNT: &str = "postgres";
/// Long enough for a machine that is busy with other tests.
const START_LIMIT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// PostgreSQL, as `scripts/install-servers.sh` installs it.
#[derive(Debug)]
pub struct Postgres;

impl Postgres {
    /// Starts a server with these settings (`name=value`); they win over the kit's own.
    pub fn start(settings: &[&str]) -> PostgresServer {
        Self::builder().settings(settings).start()
    }

    /// A server to be described further before it is started.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }
}

#[derive(Debug, Default)]
pub struct PostgresBuilder {
    settings: Vec<String>,
    access: Option<String>,
    tls: bool,
}

impl PostgresBuilder {
    /// Adds settings (`name=value`); they win over the kit's own.
    pub fn settings(mut self, settings: &[&str]) -> Self {
        let settings = settings.iter().map(|&setting| setting.to_owned());
        self.settings.extend(settings);
        self
    }

    /// Replaces the lines of `pg_hba.conf` that let everybody in by TCP. `root` can always
    /// log in through the Unix socket.
    pub fn access(mut self, lines: &str) -> Self {
        self.access = Some(lines.to_owned());
        self
    }

    /// Gives the server a certificate for `localhost`, signed by [`PostgresServer::ca_file`].
    pub fn tls(mut self, tls: bool) -> Self {
        self.tls = tls;
        self
    }

    /// Starts the server and waits until it answers.
    pub fn start(self) -> PostgresServer {
        let files = tempfile::tempdir().unwrap();
        own(files.path());
        let mut server = PostgresServer {
            settings: self.settings,
            port: 0,
            postmaster: None,
            files,
        };
        server.initialize();
        if self.tls {
            server.add_certificate();
        }
        let access = self.access.as_deref().unwrap_or("host all all all trust");
        let lines = format!("local all root trust\n{access}\nlocal all all trust\n");
        fs::write(server.data_dir().join("pg_hba.conf"), lines).unwrap();
        server.start();
        server
    }
}

/// A running server; dropping it kills it and removes its files.
#[derive(Debug)]
pub struct PostgresServer {
    settings: Vec<String>,
    port: u16,
    postmaster: Option<Child>,
    files: tempfile::TempDir,
}

impl PostgresServer {
    /// The port it listens on, on 127.0.0.1 and for its socket.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn socket_directory(&self) -> &Path {
        self.files.path()
    }

    pub fn data_dir(&self) -> PathBuf {
        self.files.path().join("data")
    }

    /// The authority that signed its certificate.
    pub fn ca_file(&self) -> PathBuf {
        tls::ca_file(&self.tls_dir())
    }

    /// `root`'s address of the database `db`.
    pub fn url(&self, db: &str) -> String {
        format!("postgres://root@127.0.0.1:{}/{db}", self.port)
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log_file()).unwrap_or_default()).into_owned()
    }

    /// Runs statements as `root` in `sbtest` by psql; the rows of all of them, as text.
    pub fn sql(&self, text: &str) -> Vec<Vec<String>> {
        let mut psql = Command::new(program("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-F", "\t", "-v", "ON_ERROR_STOP=1"]);
        psql.args(["-U", "root", "-d", "sbtest", "-h"]);
        psql.arg(self.socket_directory());
        psql.args(["-p", &self.port.to_string()]);
        let rows = daemon::feed(psql, text);
        rows.lines()
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect()
    }

    pub fn create_user(&self, name: &str, password: &str, encryption: &str) {
        let password = password.replace('\'', "''");
        self.sql(&format!(
            "SET password_encryption = '{encryption}'; CREATE ROLE {name} LOGIN PASSWORD '{password}'"
        ));
    }

    /// Kills all its processes as `kill -9` would. Its files stay until it is dropped.
    pub fn kill(&mut self) {
        if let Some(mut postmaster) = self.postmaster.take() {
            let backends = children(&postmaster);
            postmaster.kill().unwrap();
            postmaster.wait().unwrap();
            // Left alone, a backend may serve one more statement before it notices.
            for backend in backends {
                // It may have noticed already.
                let _ = rustix::process::kill_process(backend, Signal::KILL);
            }
        }
    }

    /// Stops it by the mode of `pg_ctl` (`smart`, `fast`, `immediate`).
    pub fn stop(&mut self, mode: &str) {
        let mut stop = as_account(program("pg_ctl"));
        stop.args(["-m", mode, "-w", "stop", "-D"])
            .arg(self.data_dir());
        run(&mut stop);
        if let Some(mut postmaster) = self.postmaster.take() {
            postmaster.wait().unwrap();
        }
    }

    /// Starts it again on its data, at the same port if that is still free.
    pub fn restart(&mut self) {
        self.start();
    }

    fn initialize(&self) {
        let mut initdb = as_account(program("initdb"));
        initdb.args(["-N", "-A", "trust", "-U", "root", "-E", "UTF8"]);
        initdb.args(["--locale=C", "-D"]).arg(self.data_dir());
        run(&mut initdb);
        let mut single = as_account(program("postgres"));
        single.args(["--single", "-D"]).arg(self.data_dir());
        single.arg("postgres");
        daemon::feed(single, "CREATE DATABASE sbtest\n");
    }

    fn add_certificate(&mut self) {
        let account = lab::servers::account().unwrap_or_else(|e| panic!("{e}"));
        let dir = self.tls_dir();
        for (setting, file) in tls::create(&dir, &account) {
            let name = match setting.as_str() {
                "ssl_ca" => "ssl_ca_file",
                "ssl_cert" => "ssl_cert_file",
                _ => "ssl_key_file",
            };
            own(Path::new(&file));
            self.settings.insert(0, format!("{name}={file}"));
        }
        own(&dir);
        self.settings.insert(0, "ssl=on".to_owned());
    }

    fn tls_dir(&self) -> PathBuf {
        self.files.path().join("tls")
    }

    fn log_file(&self) -> PathBuf {
        self.files.path().join("log")
    }

    /// Another program may take the port in the moment before the server does.
    fn start(&mut self) {
        let deadline = Instant::now() + START_LIMIT;
        while Instant::now() < deadline {
            if self.port == 0 {
                self.port = daemon::free_port();
            }
            self.postmaster = Some(self.spawn());
            if self.answers(deadline) {
                return;
            }
            self.port = 0;
        }
        panic!("PostgreSQL did not start: {}", self.log());
    }

    fn spawn(&self) -> Child {
        let mut postgres = as_account(program("postgres"));
        postgres.arg("-D").arg(self.data_dir());
        postgres.args(["-p", &self.port.to_string()]);
        let directory = self.files.path().display();
        let own = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("unix_socket_directories={directory}"),
            "shared_buffers=16MB".to_owned(),
            "fsync=off".to_owned(),
            // Files in the data directory: those of a killed server go with it.
            "dynamic_shared_memory_type=mmap".to_owned(),
            "log_timezone=UTC".to_owned(),
        ];
        for setting in own.iter().chain(&self.settings) {
            postgres.args(["-c", setting]);
        }
        let log = fs::File::options()
            .append(true)
            .create(true)
            .open(self.log_file())
            .unwrap();
        postgres.stdin(Stdio::null()).stdout(Stdio::null());
        postgres.stderr(log);
        spawn_for_good(postgres)
    }

    /// Waits until the server answers; `false` if it ends first.
    fn answers(&mut self, deadline: Instant) -> bool {
        let mut ready = Command::new(program("pg_isready"));
        ready.args(["-q", "-h"]).arg(self.socket_directory());
        ready.args(["-p", &self.port.to_string()]);
        while Instant::now() < deadline {
            if ready.status().unwrap().success() {
                return true;
            }
            let postmaster = self.postmaster.as_mut().unwrap();
            if postmaster.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        false
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Some(mut postmaster) = self.postmaster.take() {
            // An immediate shutdown frees the shared memory; a killed server leaves it behind. During a panic
            // there is nobody to tell of an error.
            let _ = rustix::process::kill_process(Pid::from_child(&postmaster), Signal::QUIT);
            let _ = postmaster.wait();
        }
    }
}

/// Starts a program from a thread that lives as long as the process: the kernel kills such a
/// child when the thread that started it ends.
fn spawn_for_good(command: Command) -> Child {
    type Request = (Command, Sender<io::Result<Child>>);
    static REQUESTS: LazyLock<Mutex<Sender<Request>>> = LazyLock::new(|| {
        let (requests, received) = channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, reply) in received {
                let _ = reply.send(command.spawn());
            }
        });
        Mutex::new(requests)
    });
    let (reply, spawned) = channel();
    REQUESTS.lock().unwrap().send((command, reply)).unwrap();
    spawned.recv().unwrap().unwrap()
}

fn children(postmaster: &Child) -> Vec<Pid> {
    let pid = postmaster.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let pids = children.split_whitespace().map(|pid| pid.parse().unwrap());
    pids.map(|pid| Pid::from_raw(pid).unwrap()).collect()
}

/// A program of the newest version that is installed.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let numbers = versions.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let newest = numbers
        .max()
        .expect("PostgreSQL is installed: scripts/install-servers.sh postgres");
    Path::new(VERSIONS).join(format!("{newest}/bin/{name}"))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A program that is not root, and that the kernel ends when the test dies: by the signal at which a server shuts
/// down immediately and frees its shared memory.
fn as_account(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if is_root() {
        command.args(["--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups"]);
    }
    command.arg("--").arg(program).current_dir("/");
    command.env_clear().env("LC_ALL", "C");
    command
}

/// Makes the servers' account the owner of a path.
fn own(path: &Path) {
    if is_root() {
        run(Command::new("chown").arg(format!("{ACCOUNT}:")).arg(path));
    }
}

fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
