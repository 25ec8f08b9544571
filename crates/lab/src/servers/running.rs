//! The process of a node.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use plan::FaultProcess;
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;

use crate::account::Account;
use crate::error::LabError;
use crate::home::survivors;
use crate::process;
use crate::servers::DataDir;
use crate::servers::family::Family;
use crate::site::{Launched, Process, Site};

/// How long a busy kernel may take to report the end of a process whose connections have closed.
pub(crate) const REPORT_LIMIT: Duration = Duration::from_secs(5);
/// As many bytes of a file as contain the number of a process.
const PID_BYTES: usize = 32;

/// The IDs of a node's processes. Clones share them, so that monitors follow a node that restarts.
#[derive(Debug, Clone, Default)]
pub struct ProcessId {
    /// The process that dyno started; 0: none.
    child: Arc<AtomicU32>,
    /// Where a server that a cluster manager starts says which process it is. The child is the
    /// manager.
    server: Option<Arc<ProcessFile>>,
}

/// A file that begins with the number of a process.
#[derive(Debug)]
struct ProcessFile {
    path: PathBuf,
    /// The directory of the node, which identifies its processes.
    dir: PathBuf,
    account: Account,
}

impl ProcessId {
    /// The process of a server that a cluster manager starts, with the name of a file in its data.
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

    /// The server's process; `None` while there is none.
    #[must_use]
    pub fn get(&self) -> Option<u32> {
        match &self.server {
            Some(file) => file.process(),
            None => self.child(),
        }
    }

    /// The process of its cluster manager; `None` while there is none.
    #[must_use]
    pub fn manager(&self) -> Option<u32> {
        self.server.as_ref().and_then(|_| self.child())
    }

    /// The first of each group of processes that a fault strikes, the manager first.
    fn struck(&self, which: FaultProcess) -> Vec<u32> {
        if self.server.is_none() {
            return self.child().into_iter().collect();
        }
        let (server, manager) = match which {
            FaultProcess::Server => (self.get(), None),
            FaultProcess::Manager => (None, self.child()),
            FaultProcess::Both => (self.get(), self.child()),
        };
        manager.into_iter().chain(server).collect()
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
    /// The process, if it runs and is one of this node's.
    fn process(&self) -> Option<u32> {
        // The servers' account can put anything there, also what would block.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(&self.path, flags, Mode::empty()).ok()?;
        let mut bytes = [0; PID_BYTES];
        let length = rustix::io::read(file, &mut bytes).ok()?;
        let text = String::from_utf8_lossy(bytes.get(..length)?);
        let pid = text.lines().next()?.trim().parse().ok()?;
        survivors::is_of(pid, &self.dir, &self.account).then_some(pid)
    }
}

/// A server's process; it and the processes that it started end with this value.
#[derive(Debug)]
pub(super) struct Running {
    first: Launched,
    site: Arc<dyn Site>,
    has_ended: bool,
    /// Whether a signal has stopped it.
    is_paused: bool,
    /// Whether dyno has killed the first one, a cluster manager, but not its server.
    is_orphaned: bool,
    id: ProcessId,
    /// The node's directory, which identifies its processes.
    dir: PathBuf,
    account: Account,
}

impl Running {
    /// A process that has just been started.
    pub(super) fn new(
        first: Launched,
        site: &Arc<dyn Site>,
        id: &ProcessId,
        data: &DataDir,
    ) -> Result<Self, LabError> {
        let running = Self {
            first,
            site: Arc::clone(site),
            has_ended: false,
            is_paused: false,
            is_orphaned: false,
            id: id.clone(),
            dir: data.dir().to_owned(),
            account: data.home().account().clone(),
        };
        site.record(&running.dir, running.first.pid)?;
        id.set(running.first.pid);
        Ok(running)
    }

    /// Replaces the cluster manager that was killed.
    pub(super) fn adopt(&mut self, manager: Launched) {
        self.id.set(manager.pid);
        self.first = manager;
        self.is_orphaned = false;
    }

    /// Whether its cluster manager was killed, but not the server.
    pub(super) fn is_orphaned(&self) -> bool {
        self.is_orphaned
    }

    /// Records the process of a server that a cluster manager starts: its shared memory is removed
    /// with the node.
    pub(super) fn record_server(&self) {
        if let Some(server) = self.id.get() {
            // On failure a page of memory is lost.
            let _ = self.site.record(&self.dir, server);
        }
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<String> {
        if self.is_orphaned {
            return None;
        }
        let status = self.first.child.try_wait().ok().flatten()?;
        Some(self.site.how_it_ended(status))
    }

    /// The same, for a process that is about to end: waits for it.
    pub(super) fn ended_soon(&mut self) -> Option<String> {
        if self.is_orphaned {
            return None;
        }
        let status = process::wait(&mut self.first.child, REPORT_LIMIT)?;
        Some(self.site.how_it_ended(status))
    }

    /// Stops these of its processes by a signal; returns when the last one was stopped, or `None`
    /// if one did not.
    pub(super) fn pause(&mut self, which: FaultProcess) -> Option<Instant> {
        self.is_paused = true;
        last(self.families(which).map(|family| family.stop()))
    }

    /// Lets all its processes go on; returns when they did, or `None` if one did not.
    pub(super) fn resume(&mut self) -> Option<Instant> {
        self.is_paused = false;
        let families = self.families(FaultProcess::Both);
        last(families.map(|family| family.resume()))
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Kills all its processes, as [`Running::end`] does afterwards; returns when it was killed.
    pub(super) fn kill(&mut self) -> Instant {
        let others = self.others(FaultProcess::Both);
        let killed_at = self.site.kill(&mut self.first);
        self.site.send(&others, Signal::KILL);
        self.site.reap(&mut self.first);
        killed_at
    }

    /// Kills the server, but not its cluster manager; returns when it was killed, or `None` if it
    /// was not running.
    pub(super) fn kill_server(&mut self) -> Option<Instant> {
        self.id.get()?;
        self.record_server();
        let processes = self.others(FaultProcess::Server);
        self.site.send(&processes, Signal::KILL);
        Some(Instant::now())
    }

    /// Kills the cluster manager, but not its server; returns when it was killed, or `None` if it
    /// was not running.
    pub(super) fn kill_manager(&mut self) -> Option<Instant> {
        if std::mem::replace(&mut self.is_orphaned, true) {
            return None;
        }
        self.id.set(0);
        let killed_at = self.site.kill(&mut self.first);
        self.site.reap(&mut self.first);
        Some(killed_at)
    }

    fn families(&self, which: FaultProcess) -> impl Iterator<Item = Family<'_>> {
        let struck = self.id.struck(which).into_iter();
        struck.map(|first| Family {
            site: &*self.site,
            first,
        })
    }

    /// These processes except the one that dyno started.
    fn others(&self, which: FaultProcess) -> Vec<Process> {
        self.families(which)
            .flat_map(|family| match family.first == self.first.pid {
                true => family.descendants(),
                false => family.all(),
            })
            .collect()
    }

    /// Asks it to end, and waits at most `limit`; otherwise as [`process::finish`].
    pub(super) fn stop(
        &mut self,
        signal: Signal,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Option<ExitStatus>, LabError> {
        self.site.terminate(&mut self.first, signal);
        self.first.finish(limit, interrupted)
    }

    /// Kills it and all processes that it started, and removes their shared memory.
    ///
    /// # Errors
    /// When a process survives.
    pub(super) fn end(&mut self) -> Result<(), LabError> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        self.record_server();
        self.id.set(0);
        self.site.kill(&mut self.first);
        self.site.reap(&mut self.first);
        // Some servers consist of processes that each lead a group, and outlive their parent for a
        // moment.
        self.site.end_processes(&self.dir, &self.account)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What survives is found when the run directory is swept.
        let _ = self.end();
    }
}

/// The last of these times; `None` if there is none, or one of them is missing.
fn last(times: impl Iterator<Item = Option<Instant>>) -> Option<Instant> {
    times.reduce(|one, other| Some(one?.max(other?))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_that_does_not_obey_is_not_hidden_by_one_that_does() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        assert_eq!(last([Some(later), Some(now)].into_iter()), Some(later));
        assert_eq!(last([None, Some(now)].into_iter()), None);
        assert_eq!(last(std::iter::empty()), None);
    }
}
