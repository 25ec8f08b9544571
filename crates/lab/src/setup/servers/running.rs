//! The processes of a node.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use plan::FaultProcess;
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;

use crate::account::Account;
use crate::failure::Failure;
use crate::home::survivors;
use crate::process;
use crate::servers::DataDir;
use crate::servers::family::Family;
use crate::site::{Launched, Process, Site};

/// How long a busy kernel may take to report the end of a process whose connections have closed.
pub(crate) const REPORT_LIMIT: Duration = Duration::from_secs(5);
/// Bytes of a file that are sufficient to contain a process ID.
const PID_BYTES: usize = 32;

/// The IDs of a node's processes. Clones share them, so that monitors follow a restarting node.
#[derive(Debug, Clone, Default)]
pub struct ProcessId {
    /// The process that dyno started; 0 without one.
    child: Arc<AtomicU32>,
    /// The file in which a server that a cluster manager starts records its process ID. `child` is
    /// then the manager.
    server: Option<Arc<ProcessFile>>,
}

/// A file that begins with a process ID.
#[derive(Debug)]
struct ProcessFile {
    path: PathBuf,
    /// The node's directory, which identifies its processes.
    dir: PathBuf,
    account: Account,
}

impl ProcessId {
    /// The process of a server that a cluster manager starts; `file` is the name of a file in the
    /// data directory.
    pub(super) fn managed(data: &DataDir, file: &str) -> Self {
        Self {
            child: Arc::default(),
            server: Some(Arc::new(ProcessFile {
                path: data.data().join(file),
                dir: data.dir().to_owned(),
                account: data.home().account().clone(),
            })),
        }
    }

    /// The server's process ID; `None` while there is no process.
    pub fn get(&self) -> Option<u32> {
        match &self.server {
            Some(file) => file.process(),
            None => self.child(),
        }
    }

    /// The cluster manager's process ID; `None` while there is no process.
    pub fn manager(&self) -> Option<u32> {
        self.server.as_ref().and_then(|_| self.child())
    }

    fn child(&self) -> Option<u32> {
        Some(self.child.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    fn set(&self, id: u32) {
        self.child.store(id, Ordering::Relaxed);
    }
}

impl From<Option<u32>> for ProcessId {
    fn from(id: Option<u32>) -> Self {
        Self {
            child: Arc::new(AtomicU32::new(id.unwrap_or(0))),
            server: None,
        }
    }
}

impl ProcessFile {
    /// The process ID, if the process runs and belongs to this node.
    fn process(&self) -> Option<u32> {
        // The servers' account can put anything there, even something that would block.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(&self.path, flags, Mode::empty()).ok()?;
        let mut bytes = [0; PID_BYTES];
        let length = rustix::io::read(file, &mut bytes).ok()?;
        let text = String::from_utf8_lossy(bytes.get(..length)?);
        let pid = text.lines().next()?.trim().parse().ok()?;
        survivors::is_of(pid, &self.dir, &self.account).then_some(pid)
    }
}

/// A server's process. It and all processes that it started end when this value is dropped.
#[derive(Debug)]
pub(super) struct Running {
    first: Launched,
    site: Arc<dyn Site>,
    has_ended: bool,
    /// Whether it was stopped by a signal.
    is_paused: bool,
    /// Whether dyno has killed the cluster manager but not its server.
    is_orphaned: bool,
    id: ProcessId,
    /// The node's directory, which identifies its processes.
    dir: PathBuf,
    account: Account,
    /// Tells the node's directory that a process remains.
    is_in_use: Arc<AtomicBool>,
}

impl Running {
    pub(super) fn new(
        first: Launched,
        site: &Arc<dyn Site>,
        id: &ProcessId,
        data: &DataDir,
    ) -> Result<Self, Failure> {
        let running = Self {
            first,
            site: Arc::clone(site),
            has_ended: false,
            is_paused: false,
            is_orphaned: false,
            id: id.clone(),
            dir: data.dir().to_owned(),
            account: data.home().account().clone(),
            is_in_use: Arc::clone(data.is_in_use()),
        };
        site.record(&running.dir, running.first.pid)?;
        id.set(running.first.pid);
        Ok(running)
    }

    /// Replaces a cluster manager that was killed.
    pub(super) fn adopt(&mut self, manager: Launched) {
        self.id.set(manager.pid);
        self.first = manager;
        self.is_orphaned = false;
    }

    pub(super) fn is_orphaned(&self) -> bool {
        self.is_orphaned
    }

    /// Records the process ID of a server that a cluster manager starts, so that its shared memory
    /// is removed with the node.
    pub(super) fn record_server(&self) {
        if let Some(server) = self.id.get() {
            // Not fatal: some memory may stay allocated.
            let _ = self.site.record(&self.dir, server);
        }
    }

    /// How the process ended; `None` if it has not.
    pub(super) fn ended(&mut self) -> Option<String> {
        if self.is_orphaned {
            return None;
        }
        let status = self.first.child.try_wait().ok().flatten()?;
        Some(self.forget(status))
    }

    /// Like [`Running::ended`], for a process that is about to end: waits for it.
    pub(super) fn ended_soon(&mut self) -> Option<String> {
        if self.is_orphaned {
            return None;
        }
        let status = process::wait(&mut self.first.child, REPORT_LIMIT)?;
        Some(self.forget(status))
    }

    /// The process has ended, and its ID may be reused.
    fn forget(&self, status: ExitStatus) -> String {
        self.id.set(0);
        self.site.how_it_ended(status)
    }

    /// Stops the selected processes with a signal; returns when the last one was stopped, `None` if
    /// one was not.
    pub(super) fn pause(&mut self, which: FaultProcess) -> Option<Instant> {
        self.is_paused = true;
        let families = self.families(which);
        last(families.iter().map(Family::stop))
    }

    /// Resumes all processes; returns when they were resumed, `None` if one was not.
    pub(super) fn resume(&mut self) -> Option<Instant> {
        self.is_paused = false;
        let families = self.families(FaultProcess::Both);
        last(families.iter().map(Family::resume))
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Kills all processes, as [`Running::end`] does later; returns when the first one was killed.
    pub(super) fn kill(&mut self) -> Instant {
        let others = self.others(FaultProcess::Both);
        let killed_at = self.site.kill(&mut self.first);
        self.site.send(&others, Signal::KILL);
        self.id.set(0);
        self.first.reap();
        killed_at
    }

    /// Kills the server but not its cluster manager; returns when it was killed, `None` if it was
    /// not running.
    pub(super) fn kill_server(&mut self) -> Option<Instant> {
        self.id.get()?;
        self.record_server();
        let processes = self.others(FaultProcess::Server);
        self.site.send(&processes, Signal::KILL);
        Some(Instant::now())
    }

    /// Kills the cluster manager but not its server; returns when it was killed, `None` if it was
    /// not running.
    pub(super) fn kill_manager(&mut self) -> Option<Instant> {
        if std::mem::replace(&mut self.is_orphaned, true) {
            return None;
        }
        self.id.set(0);
        let killed_at = self.site.kill(&mut self.first);
        self.first.reap();
        Some(killed_at)
    }

    /// The processes that a fault affects, the manager's first, without those of a process that has
    /// ended.
    fn families(&mut self, which: FaultProcess) -> Vec<Family<'_>> {
        let (site, first, id) = (&*self.site, &mut self.first, &self.id);
        let mut of_child = || Family::of(site, id.child()?, || first.has_its_pid());
        let of_server = || {
            let pid = id.get()?;
            Family::of(site, pid, || id.get() == Some(pid))
        };
        let (child, server) = match (&id.server, which) {
            (None, _) | (Some(_), FaultProcess::Manager) => (of_child(), None),
            (Some(_), FaultProcess::Server) => (None, of_server()),
            (Some(_), FaultProcess::Both) => (of_child(), of_server()),
        };
        child.into_iter().chain(server).collect()
    }

    /// The selected processes except the one that dyno started.
    fn others(&mut self, which: FaultProcess) -> Vec<Process> {
        let child = self.id.child();
        let families = self.families(which).into_iter();
        families
            .flat_map(|family| match Some(family.first) == child {
                true => family.descendants(),
                false => family.all(),
            })
            .collect()
    }

    /// Asks the process to end and waits at most `limit`, like [`process::finish`].
    pub(super) fn stop(
        &mut self,
        signal: Signal,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Option<ExitStatus>, Failure> {
        self.site.terminate(&mut self.first, signal);
        self.first.finish(limit, interrupted)
    }

    /// Kills the process and all processes that it started, and removes their shared memory.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        self.record_server();
        self.id.set(0);
        self.site.kill(&mut self.first);
        self.first.reap();
        // Some servers consist of processes that each lead a process group and briefly outlive
        // their parent.
        let ended = self.site.end_processes(&self.dir, &self.account);
        self.is_in_use.fetch_or(ended.is_err(), Ordering::Relaxed);
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The sweep of the run directory finds survivors.
        let _ = self.end();
    }
}

/// The latest of these times; `None` if there is none or one of them is missing.
fn last(times: impl Iterator<Item = Option<Instant>>) -> Option<Instant> {
    times.reduce(|one, other| Some(one?.max(other?))).flatten()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::home::Home;
    use crate::site::ThisHost;

    fn leader(program: &str) -> Child {
        let mut command = Command::new(program);
        command.arg("600").process_group(0).spawn().unwrap()
    }

    /// A process of a node, and a foreign process with a child.
    fn running(home: &Home, program: &str) -> (Running, Child) {
        let data = DataDir::new(home, "s1.", &plan::Node::default(), &process::NEVER).unwrap();
        let child = leader(program);
        let site: Arc<dyn Site> = Arc::new(ThisHost::default());
        let id = ProcessId::default();
        let running = Running::new(Launched::here(child), &site, &id, &data).unwrap();
        let mut other = Command::new("sh");
        other.args(["-c", "sleep 600 & echo; wait"]);
        let mut other = other.stdout(Stdio::piped()).spawn().unwrap();
        // The child is running.
        other.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        (running, other)
    }

    fn stopped_or_gone(pid: u32) -> bool {
        let family = host::process::family(ThisHost::default().files(), pid);
        family.len() != 2 || family.iter().any(|one| one.is_stopped)
    }

    #[test]
    fn nothing_is_done_to_the_process_that_has_the_number_of_one_that_ended() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let home = crate::servers::open_home(&dir.path().join("cache"), u64::MAX).unwrap();
        for was_noticed in [false, true] {
            let (mut running, mut other) = running(&home, "true");
            if was_noticed {
                running.ended_soon().unwrap();
                assert_eq!(running.id.get(), None);
            } else {
                running.first.child.wait().unwrap();
            }
            // As if the kernel had reused the process ID.
            running.id.set(other.id());
            running.first.pid = other.id();
            assert_eq!(running.pause(FaultProcess::Server), None);
            assert_eq!(running.resume(), None);
            running.kill();
            drop(running);
            assert!(!stopped_or_gone(other.id()));
            let group = host::process::family(ThisHost::default().files(), other.id());
            for one in group {
                let pid = rustix::process::Pid::from_raw(one.pid.cast_signed()).unwrap();
                rustix::process::kill_process(pid, Signal::KILL).unwrap();
            }
            other.wait().unwrap();
        }
    }

    #[test]
    fn what_a_process_that_remains_may_use_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let home = crate::servers::open_home(&dir.path().join("cache"), u64::MAX).unwrap();
        let run = home.run_dir().to_owned();
        let data = DataDir::new(&home, "s1.", &plan::Node::default(), &process::NEVER).unwrap();
        let child = leader("sleep");
        let site: Arc<dyn Site> = Arc::new(ThisHost::default());
        let id = ProcessId::default();
        let mut running = Running::new(Launched::here(child), &site, &id, &data).unwrap();
        // A user may start a server by hand to examine the data.
        let mut other = Command::new("sh");
        other.args(["-c", "echo; read line", "sh"]);
        other.arg(format!("--datadir={}", data.data().display()));
        other.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut other = other.spawn().unwrap();
        other.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        running.end().unwrap_err();
        let kept = data.dir().to_owned();
        data.end().unwrap();
        drop((running, data, home));
        assert!(kept.exists() && run.join("lock").exists());
        drop(other.stdin.take());
        other.wait().unwrap();
        let (_, cleaned) = crate::home::remove_dead_runs(
            &dir.path().join("cache"),
            &crate::servers::account().unwrap(),
        )
        .unwrap()
        .unwrap();
        assert!(cleaned.run_dirs == 1 && cleaned.left.is_empty() && !run.exists());
    }

    #[test]
    fn a_family_that_does_not_obey_is_not_hidden_by_one_that_does() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        assert_eq!(last([Some(later), Some(now)].into_iter()), Some(later));
        assert_eq!(last([None, Some(now)].into_iter()), None);
        assert_eq!(last(std::iter::empty()), None);
    }
}
