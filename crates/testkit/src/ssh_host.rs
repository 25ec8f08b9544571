//! An SSH server on this host, as if it were another one.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long it may take to listen on its port.
const START_LIMIT: Duration = Duration::from_secs(60);
const SSHD: &str = "/usr/sbin/sshd";
/// Root's servers drop their privileges in an empty directory, which the package's service creates.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";

/// OpenSSH's server from the system's package on a free port of 127.0.0.1, with keys of its own. Only
/// this process's user can log in, with a key that only [`SshHost::config`] names.
#[derive(Debug)]
pub struct SshHost {
    process: Child,
    port: u16,
    directory: TempDir,
}

impl SshHost {
    /// Its name in [`SshHost::config`].
    pub const NAME: &str = "elsewhere";

    pub fn start() -> Self {
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            listener.local_addr().expect("its address").port()
        };
        let directory = tempfile::tempdir().expect("a directory for sshd");
        let host = Self {
            process: Command::new("true").spawn().expect("a process"),
            port,
            directory,
        };
        host.make_key("user");
        host.make_key("host");
        let path = |name: &str| host.path(name).display().to_string();
        let server = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n",
            path("host"),
            path("user.pub")
        );
        fs::write(host.path("sshd_config"), server).expect("sshd's configuration");
        let client = format!(
            "Host {}\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile {}\n  GlobalKnownHostsFile none\n",
            Self::NAME,
            path("user"),
            path("known_hosts")
        );
        fs::write(host.config(), client).expect("ssh's configuration");
        host.trust_key();
        host.serve()
    }

    /// The configuration file with which ssh logs in to it.
    pub fn config(&self) -> PathBuf {
        self.path("ssh_config")
    }

    /// The file with the host's key, as ssh knows it.
    pub fn known_hosts(&self) -> PathBuf {
        self.path("known_hosts")
    }

    /// The file with the keys that may log in.
    pub fn authorized_keys(&self) -> PathBuf {
        self.path("user.pub")
    }

    /// Gives it another key, as if another machine answered in its place.
    pub fn change_key(self) -> Self {
        for name in ["host", "host.pub"] {
            fs::remove_file(self.path(name)).expect("the host's key");
        }
        self.make_key("host");
        self.serve()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn make_key(&self, name: &str) {
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
        let made = command.arg(self.path(name)).status();
        let made = made.expect("ssh-keygen is installed (scripts/install-servers.sh ssh)");
        assert!(made.success(), "ssh-keygen: {made}");
    }

    fn trust_key(&self) {
        let key = fs::read_to_string(self.path("host.pub")).expect("the host's key");
        let known = format!("[127.0.0.1]:{} {key}", self.port);
        fs::write(self.known_hosts(), known).expect("the known hosts");
    }

    /// Starts the server, in place of the one that runs.
    fn serve(mut self) -> Self {
        self.end();
        if rustix::process::geteuid().is_root() {
            fs::create_dir_all(PRIVILEGE_SEPARATION).expect(PRIVILEGE_SEPARATION);
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(PRIVILEGE_SEPARATION, mode).expect(PRIVILEGE_SEPARATION);
        }
        let log = fs::File::create(self.path("sshd.log")).expect("sshd's log");
        // It dies with the test.
        self.process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", SSHD, "-D", "-e", "-f"])
            .arg(self.path("sshd_config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("setpriv is installed");
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.process.try_wait().expect("the state of sshd");
            let log = fs::read_to_string(self.path("sshd.log")).unwrap_or_default();
            assert!(
                ended.is_none(),
                "sshd ended (scripts/install-servers.sh ssh): {log}"
            );
            assert!(begun.elapsed() < START_LIMIT, "sshd does not listen: {log}");
            std::thread::sleep(Duration::from_millis(10));
        }
        self
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for SshHost {
    fn drop(&mut self) {
        self.end();
    }
}
