//! The processes of a server: itself, and what it started.

use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use host::Files;
use host::process::{self, Relative};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How often to look whether all of them have obeyed a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// How long they may take; one that waits for a disk obeys only afterwards.
const LIMIT: Duration = Duration::from_secs(10);

/// A server's processes, by the ID of the first, whose number dyno holds by not reaping it.
pub(super) struct Family<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) first: u32,
}

impl Family<'_> {
    /// Stops all of them; returns when the last one stood still, or `None` at the limit.
    pub(super) fn stop(&self) -> Option<Instant> {
        self.signal_until(Signal::STOP, |one| one.is_stopped)
    }

    /// Lets all of them go on; returns when they did, or `None` at the limit.
    pub(super) fn resume(&self) -> Option<Instant> {
        self.signal_until(Signal::CONT, |one| !one.is_stopped)
    }

    /// The descendants of the first, which may outlive it.
    pub(super) fn descendants(&self) -> Vec<OwnedFd> {
        let mut all = self.list();
        all.retain(|one| one.pid != self.first);
        self.open(&all)
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<OwnedFd> {
        self.open(&self.list())
    }

    /// Sends a signal to those that have not obeyed it yet, until all have: until then, they may
    /// start others.
    fn signal_until(&self, signal: Signal, obeys: fn(&Relative) -> bool) -> Option<Instant> {
        let deadline = Instant::now() + LIMIT;
        while Instant::now() < deadline {
            let mut rest = self.list();
            rest.retain(|one| !obeys(one));
            if rest.is_empty() {
                return Some(Instant::now());
            }
            send(&self.open(&rest), signal);
            sleep(POLL_INTERVAL);
        }
        None
    }

    fn list(&self) -> Vec<Relative> {
        process::family(self.files, self.first)
    }

    /// Handles that are certain to be of these processes.
    fn open(&self, processes: &[Relative]) -> Vec<OwnedFd> {
        let open = |one: &Relative| {
            let pid = Pid::from_raw(i32::try_from(one.pid).ok()?)?;
            Some((one.pid, pidfd_open(pid, PidfdFlags::empty()).ok()?))
        };
        let handles: Vec<_> = processes.iter().filter_map(open).collect();
        // A number may have been reused before its handle was opened.
        let now = self.list();
        let is_still_one = |pid| now.iter().any(|one| one.pid == pid);
        let sure = handles.into_iter().filter(|(pid, _)| is_still_one(*pid));
        sure.map(|(_, handle)| handle).collect()
    }
}

/// Sends a signal to processes, some of which may have ended.
pub(super) fn send(handles: &[OwnedFd], signal: Signal) {
    for handle in handles {
        let _ = pidfd_send_signal(handle, signal);
    }
}
