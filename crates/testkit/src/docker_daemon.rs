//! A daemon of docker, of which the system knows nothing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long it may take to answer.
const START_LIMIT: Duration = Duration::from_secs(60);
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
        let log = File::create(path("log")).expect("dockerd's log");
        let group = group(directory.path());
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "--", DAEMON])
            .args(["--bridge=none", "--iptables=false", "--ip-forward=false"])
            .arg(format!("--config-file={}", path("config")))
            .arg(format!("--data-root={}", path("data")))
            .arg(format!("--exec-root={}", path("exec")))
            .arg(format!("--pidfile={}", path("pid")))
            .arg(format!("--host=unix://{}", path("socket")))
            .arg(format!("--cgroup-parent={}", group.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("setpriv is installed");
        let mut daemon = Self { process, directory };
        daemon.wait_until_up();
        daemon
    }

    /// What `DOCKER_HOST` must be.
    pub fn host(&self) -> String {
        format!("unix://{}", self.path("socket").display())
    }

    /// What a command of docker's client prints.
    pub fn ask(&self, arguments: &[&str]) -> String {
        let output = self.client(arguments).output().expect("docker's client");
        assert!(output.status.success(), "docker {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn client(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.arg("--host").arg(self.host()).args(arguments);
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn wait_until_up(&mut self) {
        let begun = Instant::now();
        loop {
            let info = self
                .client(&["info"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            if info
                .expect("docker is installed (scripts/install-servers.sh docker)")
                .success()
            {
                return;
            }
            let ended = self.process.try_wait().expect("the state of dockerd");
            let log = fs::read_to_string(self.path("log")).unwrap_or_default();
            assert!(
                ended.is_none(),
                "dockerd ended (scripts/install-servers.sh docker): {log}"
            );
            assert!(
                begun.elapsed() < START_LIMIT,
                "dockerd does not answer: {log}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
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
