//! The processes of a node, or of a service that the members of a cluster share.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use host::process::{ProcessStat, family};
use plan::FaultProcess;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Signal, pidfd_send_signal};

use crate::account::Account;
use crate::failure::Failure;
use crate::home::survivors;
use crate::hosts::FarProcesses;
use crate::process;
use crate::setup::servers::data_dir::DataDir;
use crate::site::{Launched, Site, is_running};

/// How long a busy kernel may take to report the end of a process whose connections have closed.
pub(crate) const REPORT_LIMIT: Duration = Duration::from_secs(5);
/// How often to check whether processes have obeyed a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// How long processes may take to obey; one that waits for a disk obeys only afterward.
const SIGNAL_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of a file that are sufficient to contain a process ID.
const PID_BYTES: usize = 32;

/// The IDs of a node's processes. Clones share them, so that monitors follow a restarting node.
#[derive(Debug, Clone, Default)]
pub struct ProcessId {
    /// The process that dyno started; 0 without one.
    child: Arc<AtomicU32>,
    /// Where a server that a cluster manager starts records its process ID. `child` is then the
    /// manager.
    server: Option<Arc<ProcessFile>>,
    /// Knows the processes on another host.
    far: Option<Arc<FarProcesses>>,
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
            far: None,
        }
    }

    pub(crate) fn elsewhere(far: FarProcesses) -> Self {
        Self {
            far: Some(Arc::new(far)),
            ..Self::default()
        }
    }

    /// The server's process ID; `None` while there is no process.
    pub fn get(&self) -> Option<u32> {
        let [server, _] = self.ids();
        server
    }

    /// The cluster manager's process ID; `None` while there is no process.
    pub fn manager(&self) -> Option<u32> {
        let [_, manager] = self.ids();
        manager
    }

    /// What [`ProcessId::get`] and [`ProcessId::manager`] return.
    pub(crate) fn ids(&self) -> [Option<u32>; 2] {
        match (&self.far, &self.server) {
            (Some(far), _) => far.ids(),
            (None, Some(file)) => [file.process(), self.child()],
            (None, None) => [self.child(), None],
        }
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
            ..Self::default()
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

/// The process that dyno started for a server, and its descendants: the server itself, or a cluster
/// manager that starts it. All of them end when this value is dropped.
#[derive(Debug)]
pub(super) struct ServerProcess {
    first: Launched,
    site: Arc<dyn Site>,
    has_ended: bool,
    /// Whether it was stopped by a signal.
    pub(super) is_paused: bool,
    /// Whether dyno has killed the cluster manager but not its server.
    pub(super) is_orphaned: bool,
    id: ProcessId,
    /// The node's directory, which identifies its processes.
    dir: PathBuf,
    account: Account,
    /// Tells the node's directory that a process remains.
    is_in_use: Arc<AtomicBool>,
}

impl ServerProcess {
    pub(super) fn new(
        first: Launched,
        site: &Arc<dyn Site>,
        id: &ProcessId,
        data: &DataDir,
    ) -> Result<Self, Failure> {
        let server = Self {
            first,
            site: Arc::clone(site),
            has_ended: false,
            is_paused: false,
            is_orphaned: false,
            id: id.clone(),
            dir: data.dir().to_owned(),
            account: data.home().account().clone(),
            is_in_use: Arc::clone(&data.is_in_use),
        };
        survivors::record_process(&server.dir, server.first.pid)?;
        id.set(server.first.pid);
        Ok(server)
    }

    /// Replaces a cluster manager that was killed.
    pub(super) fn adopt(&mut self, manager: Launched) {
        self.id.set(manager.pid);
        self.first = manager;
        self.is_orphaned = false;
    }

    /// Records the process ID of a server that a cluster manager starts, so that its shared memory
    /// is removed with the node.
    pub(super) fn record_server(&self) {
        if let Some(server) = self.id.get() {
            // Not fatal: some memory may stay allocated.
            let _ = survivors::record_process(&self.dir, server);
        }
    }

    /// How the process ended; `None` if it has not. With `is_likely`, waits for its end.
    pub(super) fn ended(&mut self, is_likely: bool) -> Option<String> {
        if self.is_orphaned {
            return None;
        }
        let status = match is_likely {
            true => process::wait(&mut self.first.child, REPORT_LIMIT)?,
            false => self.first.child.try_wait().ok().flatten()?,
        };
        // Its ID may be reused.
        self.id.set(0);
        Some(process::how_it_ended(status))
    }

    /// Stops or resumes the selected processes with a signal; returns when the last one had obeyed,
    /// `None` if one did not.
    pub(super) fn set_stopped(&mut self, which: FaultProcess, stopped: bool) -> Option<Instant> {
        self.is_paused = stopped;
        let trees = self.trees(which).into_iter();
        last(trees.map(|tree| tree.set_stopped(stopped)))
    }

    /// Kills all processes, as [`ServerProcess::end`] does later; returns when the first one was
    /// killed.
    pub(super) fn kill(&mut self) -> Instant {
        let others = self.others(FaultProcess::Both);
        let killed_at = self.first.kill();
        send(&others, Signal::KILL);
        self.id.set(0);
        self.first.reap();
        killed_at
    }

    /// Kills the server but not its cluster manager; returns when it was killed, `None` if it was
    /// not running.
    pub(super) fn kill_server(&mut self) -> Option<Instant> {
        self.id.get()?;
        self.record_server();
        send(&self.others(FaultProcess::Server), Signal::KILL);
        Some(Instant::now())
    }

    /// Kills the cluster manager but not its server; returns when it was killed, `None` if it was
    /// not running.
    pub(super) fn kill_manager(&mut self) -> Option<Instant> {
        if std::mem::replace(&mut self.is_orphaned, true) {
            return None;
        }
        self.id.set(0);
        let killed_at = self.first.kill();
        self.first.reap();
        Some(killed_at)
    }

    /// The processes that a fault affects, the manager's first, without those of a process that has
    /// ended.
    fn trees(&mut self, which: FaultProcess) -> Vec<ProcessTree<'_>> {
        let (site, first, id) = (&*self.site, &mut self.first, &self.id);
        let mut of_child = || ProcessTree::of(site, id.child()?, || first.has_its_pid());
        let of_server = || {
            let pid = id.get()?;
            ProcessTree::of(site, pid, || id.get() == Some(pid))
        };
        let (child, server) = match (&id.server, which) {
            (None, _) | (Some(_), FaultProcess::Manager) => (of_child(), None),
            (Some(_), FaultProcess::Server) => (None, of_server()),
            (Some(_), FaultProcess::Both) => (of_child(), of_server()),
        };
        child.into_iter().chain(server).collect()
    }

    /// The selected processes except the one that dyno started.
    fn others(&mut self, which: FaultProcess) -> Vec<OwnedFd> {
        let child = self.id.child();
        let trees = self.trees(which).into_iter();
        trees
            .flat_map(|tree| tree.open(|one| Some(one.pid) != child))
            .collect()
    }

    /// Asks the process to end and waits at most `limit`, like [`process::finish`].
    pub(super) fn stop(
        &mut self,
        signal: Signal,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Option<ExitStatus>, Failure> {
        self.first.signal(signal);
        self.first.finish(limit, interrupted)
    }

    /// Kills the process and all processes that it started, and removes their shared memory.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        self.record_server();
        self.id.set(0);
        self.first.kill();
        self.first.reap();
        // Some servers consist of processes that each lead a process group and briefly outlive
        // their parent.
        let ended = survivors::end_server(&self.dir, &self.account);
        self.is_in_use.fetch_or(ended.is_err(), Ordering::Relaxed);
        ended
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The sweep of the run directory finds survivors.
        let _ = self.end();
    }
}

/// Sends a signal to processes, some of which may have ended.
fn send(processes: &[OwnedFd], signal: Signal) {
    for process in processes {
        let _ = pidfd_send_signal(process, signal);
    }
}

/// The latest of these times; `None` if there is none or one of them is missing.
fn last(times: impl Iterator<Item = Option<Instant>>) -> Option<Instant> {
    times.reduce(|one, other| Some(one?.max(other?))).flatten()
}

/// Stops or resumes all processes of a server with a signal; returns whether all of them obeyed.
pub(crate) fn freeze(site: &dyn Site, id: &ProcessId, frozen: bool) -> bool {
    if let Some(far) = &id.far {
        return far.freeze(frozen);
    }
    let trees = [id.manager(), id.get()].into_iter().flatten().map(|pid| {
        let is_own = || [id.manager(), id.get()].contains(&Some(pid));
        ProcessTree::of(site, pid, is_own)
    });
    last(trees.map(|tree| tree?.set_stopped(frozen))).is_some()
}

/// A process and its descendants, until that process is reaped: then its ID may become another
/// one's.
struct ProcessTree<'a> {
    site: &'a dyn Site,
    root: u32,
    handle: OwnedFd,
}

impl<'a> ProcessTree<'a> {
    /// `None` if the process `root` has ended. `is_own` checks that the process of this ID is the
    /// intended one.
    fn of(site: &'a dyn Site, root: u32, is_own: impl FnOnce() -> bool) -> Option<Self> {
        let handle = process::handle(root).ok()?;
        // Checked once the handle is open, because the ID may have been reused before.
        is_own().then_some(Self { site, root, handle })
    }

    /// Stops or resumes the processes: repeatedly sends a signal to those that have not obeyed it,
    /// until all have, because meanwhile they may start others. Returns when the last one had
    /// obeyed; `None` at the limit, and if the root ends.
    fn set_stopped(&self, stopped: bool) -> Option<Instant> {
        let signal = match stopped {
            true => Signal::STOP,
            false => Signal::CONT,
        };
        let deadline = Instant::now() + SIGNAL_LIMIT;
        while Instant::now() < deadline {
            let all = self.list();
            let is_done = !all.is_empty() && all.iter().all(|one| one.is_stopped == stopped);
            if !is_running(&self.handle) {
                return None;
            }
            if is_done {
                return Some(Instant::now());
            }
            send(&self.open(|one| one.is_stopped != stopped), signal);
            sleep(POLL_INTERVAL);
        }
        None
    }

    fn list(&self) -> Vec<ProcessStat> {
        family(self.site.files(), self.root)
    }

    /// Handles that are certain to refer to the processes that `is_wanted`.
    fn open(&self, is_wanted: impl Fn(&ProcessStat) -> bool) -> Vec<OwnedFd> {
        let wanted = self.list().into_iter().filter(is_wanted);
        let handles: Vec<_> = wanted
            .filter_map(|one| Some((one.pid, process::handle(one.pid).ok()?)))
            .collect();
        // An ID may have been reused before its handle was opened.
        let now = self.list();
        if !is_running(&self.handle) {
            return Vec::new();
        }
        let is_still_one = |pid| now.iter().any(|one| one.pid == pid);
        let sure = handles.into_iter().filter(|(pid, _)| is_still_one(*pid));
        sure.map(|(_, handle)| handle).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
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
    fn running(home: &Home, program: &str) -> (ServerProcess, Child) {
        let data = DataDir::new(home, "s1.", &plan::Node::default(), &process::NEVER).unwrap();
        let child = leader(program);
        let site: Arc<dyn Site> = Arc::new(ThisHost::default());
        let id = ProcessId::default();
        let running = ServerProcess::new(Launched::here(child), &site, &id, &data).unwrap();
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
        let (_dir, home) = crate::for_tests::new_home();
        for was_noticed in [false, true] {
            let (mut running, mut other) = running(&home, "true");
            if was_noticed {
                running.ended(true).unwrap();
                assert_eq!(running.id.get(), None);
            } else {
                running.first.child.wait().unwrap();
            }
            // As if the kernel had reused the process ID.
            running.id.set(other.id());
            running.first.pid = other.id();
            assert_eq!(running.set_stopped(FaultProcess::Server, true), None);
            assert_eq!(running.set_stopped(FaultProcess::Both, false), None);
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
        let (dir, home) = crate::for_tests::new_home();
        let run = home.run_dir().to_owned();
        let data = DataDir::new(&home, "s1.", &plan::Node::default(), &process::NEVER).unwrap();
        let child = leader("sleep");
        let site: Arc<dyn Site> = Arc::new(ThisHost::default());
        let id = ProcessId::default();
        let mut running = ServerProcess::new(Launched::here(child), &site, &id, &data).unwrap();
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
            &crate::setup::servers::account().unwrap(),
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

    #[test]
    fn who_has_the_number_of_a_process_that_ended_is_no_relative() {
        let site: &dyn Site = &ThisHost::default();
        let sleeping = || Command::new("sleep").arg("600").spawn().unwrap();
        let (mut ended, mut other) = (sleeping(), sleeping());
        let handle = process::handle(ended.id()).unwrap();
        let tree = ProcessTree {
            site,
            root: other.id(),
            handle,
        };
        let all = || tree.open(|_| true);
        assert_eq!(all().len(), 1);
        ended.kill().unwrap();
        ended.wait().unwrap();
        assert!(all().is_empty());
        assert!(tree.set_stopped(true).is_none());
        assert!(ProcessTree::of(site, other.id(), || false).is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
