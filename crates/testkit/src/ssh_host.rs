//! An SSH server on this host, as if it were another one.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::daemon;

const SSHD: &str = "/usr/sbin/sshd";
/// Root's servers drop their privileges in an empty directory, which the package's service creates.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";

/// OpenSSH's server from the system's package, with keys of its own. Only this process's user can log
/// in, with a key that only [`SshHost::config`] names.
#[derive(Debug)]
pub struct SshHost {
    process: Child,
    place: Place,
    directory: TempDir,
}

/// Where a server runs.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    pub(crate) port: u16,
    /// The command that starts the program that follows.
    pub(crate) entry: Vec<String>,
    /// Further lines of the server's configuration.
    pub(crate) options: String,
}

impl SshHost {
    /// Its name in [`SshHost::config`].
    pub const NAME: &str = "elsewhere";

    /// Starts one on a free port of 127.0.0.1.
    pub fn start() -> Self {
        Self::start_at(Place {
            name: Self::NAME.to_owned(),
            address: Ipv4Addr::LOCALHOST,
            port: daemon::free_port(),
            entry: Vec::new(),
            options: String::new(),
        })
    }

    pub(crate) fn start_at(place: Place) -> Self {
        let host = Self {
            process: Command::new("true").spawn().unwrap(),
            place,
            directory: tempfile::tempdir().unwrap(),
        };
        let Place {
            name,
            address,
            port,
            options,
            ..
        } = &host.place;
        host.make_key("user");
        host.make_key("host");
        let path = |name: &str| host.path(name).display().to_string();
        let server = format!(
            "ListenAddress {address}:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n{options}",
            path("host"),
            path("user.pub")
        );
        fs::write(host.path("sshd_config"), server).unwrap();
        let client = format!(
            "Host {name}\n  HostName {address}\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile {}\n  GlobalKnownHostsFile none\n",
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
        let known = format!("[{}]:{} {key}", self.place.address, self.place.port);
        fs::write(self.known_hosts(), known).unwrap();
    }

    /// Starts the server, in place of the one that runs.
    pub(crate) fn serve(mut self) -> Self {
        daemon::end(&mut self.process);
        if rustix::process::geteuid().is_root() {
            fs::create_dir_all(PRIVILEGE_SEPARATION).expect(PRIVILEGE_SEPARATION);
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(PRIVILEGE_SEPARATION, mode).expect(PRIVILEGE_SEPARATION);
        }
        let Place {
            address,
            port,
            entry,
            ..
        } = &self.place;
        let (log, config) = (self.path("sshd.log"), self.path("sshd_config"));
        let server = [SSHD, "-D", "-e", "-f", config.to_str().unwrap()];
        let command: Vec<&str> = entry.iter().map(String::as_str).chain(server).collect();
        let is_up = || TcpStream::connect((*address, *port)).is_ok();
        self.process = daemon::start("KILL", command[0], &command[1..], &log, is_up);
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (self.place.address, self.place.port).into()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits until its process has ended.
    pub(crate) fn wait(&mut self) {
        let _ = self.process.wait();
    }
}

impl Drop for SshHost {
    fn drop(&mut self) {
        daemon::end(&mut self.process);
    }
}
