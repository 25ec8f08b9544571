//! An SSH server on this host, as if it were another one.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::daemon;

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
        let port = daemon::free_port();
        let directory = tempfile::tempdir().unwrap();
        let host = Self {
            process: Command::new("true").spawn().unwrap(),
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
        fs::write(host.path("sshd_config"), server).unwrap();
        let client = format!(
            "Host {}\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile {}\n  GlobalKnownHostsFile none\n",
            Self::NAME,
            path("user"),
            path("known_hosts")
        );
        fs::write(host.config(), client).unwrap();
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
            fs::remove_file(self.path(name)).unwrap();
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
        let key = fs::read_to_string(self.path("host.pub")).unwrap();
        let known = format!("[127.0.0.1]:{} {key}", self.port);
        fs::write(self.known_hosts(), known).unwrap();
    }

    /// Starts the server, in place of the one that runs.
    fn serve(mut self) -> Self {
        daemon::end(&mut self.process);
        if rustix::process::geteuid().is_root() {
            fs::create_dir_all(PRIVILEGE_SEPARATION).expect(PRIVILEGE_SEPARATION);
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(PRIVILEGE_SEPARATION, mode).expect(PRIVILEGE_SEPARATION);
        }
        let (log, port) = (self.path("sshd.log"), self.port);
        let config = self.path("sshd_config").display().to_string();
        let is_up = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        self.process = daemon::start("KILL", SSHD, &["-D", "-e", "-f", &config], &log, is_up);
        self
    }
}

impl Drop for SshHost {
    fn drop(&mut self) {
        daemon::end(&mut self.process);
    }
}
