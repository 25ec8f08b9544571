//! The processes of a server: the first one and its descendants.

use std::thread::sleep;
use std::time::{Duration, Instant};

use host::process::{self, Relative};
use rustix::process::Signal;

use crate::site::{Process, Site};

/// How often to check whether all of them have obeyed a signal.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// How long processes may take to obey; one that waits for a disk obeys only afterward.
const LIMIT: Duration = Duration::from_secs(10);

/// A server's processes, valid until the first one is reaped: then its ID may become another
/// process's.
pub(super) struct Family<'a> {
    site: &'a dyn Site,
    pub(super) first: u32,
    handle: Process,
}

impl<'a> Family<'a> {
    /// The family of a process; `None` if it has ended. `is_own` checks that the process of this ID
    /// is the intended one.
    pub(super) fn of(
        site: &'a dyn Site,
        first: u32,
        is_own: impl FnOnce() -> bool,
    ) -> Option<Self> {
        let handle = site.process(first)?;
        // Checked once the handle is open, because the ID may have been reused before.
        is_own().then_some(Self {
            site,
            first,
            handle,
        })
    }

    /// Stops all processes; returns when the last one was stopped, `None` at the limit.
    pub(super) fn stop(&self) -> Option<Instant> {
        self.signal_until(Signal::STOP, |one| one.is_stopped)
    }

    /// Resumes all processes; returns when they were resumed, `None` at the limit.
    pub(super) fn resume(&self) -> Option<Instant> {
        self.signal_until(Signal::CONT, |one| !one.is_stopped)
    }

    /// The descendants of the first process, which may outlive it.
    pub(super) fn descendants(&self) -> Vec<Process> {
        let mut all = self.list();
        all.retain(|one| one.pid != self.first);
        self.open(&all)
    }

    /// The first process and its descendants.
    pub(super) fn all(&self) -> Vec<Process> {
        self.open(&self.list())
    }

    /// Repeatedly sends a signal to processes that have not obeyed it, until all have: meanwhile,
    /// they may start others. `None` if the first process ends.
    fn signal_until(&self, signal: Signal, obeys: fn(&Relative) -> bool) -> Option<Instant> {
        let deadline = Instant::now() + LIMIT;
        while Instant::now() < deadline {
            let mut rest = self.list();
            rest.retain(|one| !obeys(one));
            if !self.handle.is_running() {
                return None;
            }
            if rest.is_empty() {
                return Some(Instant::now());
            }
            self.site.send(&self.open(&rest), signal);
            sleep(POLL_INTERVAL);
        }
        None
    }

    fn list(&self) -> Vec<Relative> {
        process::family(self.site.files(), self.first)
    }

    /// Handles that are certain to refer to these processes.
    fn open(&self, processes: &[Relative]) -> Vec<Process> {
        let open = |one: &Relative| Some((one.pid, self.site.process(one.pid)?));
        let handles: Vec<_> = processes.iter().filter_map(open).collect();
        // An ID may have been reused before its handle was opened.
        let now = self.list();
        if !self.handle.is_running() {
            return Vec::new();
        }
        let is_still_one = |pid| now.iter().any(|one| one.pid == pid);
        let sure = handles.into_iter().filter(|(pid, _)| is_still_one(*pid));
        sure.map(|(_, handle)| handle).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::site::ThisHost;

    #[test]
    fn who_has_the_number_of_a_process_that_ended_is_no_relative() {
        let site: &dyn Site = &ThisHost::default();
        let sleeping = || Command::new("sleep").arg("600").spawn().unwrap();
        let (mut ended, mut other) = (sleeping(), sleeping());
        let handle = site.process(ended.id()).unwrap();
        let family = Family {
            site,
            first: other.id(),
            handle,
        };
        assert_eq!(family.all().len(), 1);
        ended.kill().unwrap();
        ended.wait().unwrap();
        assert!(family.all().is_empty() && family.stop().is_none());
        assert!(Family::of(site, other.id(), || false).is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
