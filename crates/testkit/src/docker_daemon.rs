//! A daemon of docker, of which the system knows nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::daemon;

const DAEMON: &str = "dockerd";
/// In each hierarchy, it leaves the parent of its containers' groups behind.
const GROUPS: &str = "/sys/fs/cgroup";

/// docker's daemon from the system's package, with images, containers, and a socket of its own, and without
/// networks. Needs root.
#[derive(Debug)]
pub struct DockerDaemon {
    process: Child,
    directory: TempDir,
}

impl DockerDaemon {
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory for dockerd");
        let path = |name: &str| directory.path().join(name).display().to_string();
        fs::write(path("config"), "{}").expect("dockerd's configuration");
        let group = group(directory.path());
        let host = format!("unix://{}", path("socket"));
        let arguments = [
            "--bridge=none",
            "--iptables=false",
            "--ip-forward=false",
            &format!("--config-file={}", path("config")),
            &format!("--data-root={}", path("data")),
            &format!("--exec-root={}", path("exec")),
            &format!("--pidfile={}", path("pid")),
            &format!("--host={host}"),
            &format!("--cgroup-parent={}", group.display()),
        ];
        let log = directory.path().join("log");
        let is_up = || {
            let info = client(&host, &["info"]).output();
            let info = info.expect("docker is installed (scripts/install-servers.sh docker)");
            info.status.success()
        };
        let process = daemon::start("TERM", DAEMON, &arguments, &log, is_up);
        Self { process, directory }
    }

    pub fn host(&self) -> String {
        format!("unix://{}", self.path("socket").display())
    }

    /// What a command of docker's client prints.
    pub fn ask(&self, arguments: &[&str]) -> String {
        let output = client(&self.host(), arguments)
            .output()
            .expect("docker's client");
        assert!(output.status.success(), "docker {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for DockerDaemon {
    fn drop(&mut self) {
        // Killed, it would leave its containerd behind.
        if let Some(pid) = Pid::from_raw(self.process.id() as i32) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.process.wait();
        let _ = rustix::mount::unmount(self.path("exec/netns/default"), UnmountFlags::DETACH);
        let group = group(self.directory.path());
        let group = group.strip_prefix("/").unwrap_or(&group);
        for hierarchy in fs::read_dir(GROUPS).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(hierarchy.path().join(group));
        }
        let _ = fs::remove_dir(Path::new(GROUPS).join(group));
    }
}

/// The parent of the control groups of its containers.
fn group(directory: &Path) -> PathBuf {
    let name = directory.file_name().unwrap_or_default();
    Path::new("/").join(name.to_string_lossy().replace('.', "docker-"))
}

fn client(host: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("docker");
    command.arg("--host").arg(host).args(arguments);
    command
}
