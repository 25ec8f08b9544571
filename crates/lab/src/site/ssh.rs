//! Another host, over ssh.

use std::fs::File;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Instant;

use engine::Invocation;
use host::Files;
use ipnet::Ipv4Net;
use rustix::process::Signal;

use super::{Destination, Launched, Machine, Process, Site};
use crate::account::Account;
use crate::error::LabError;
use crate::home::Home;
use crate::process;

/// Another host, which dyno reaches over ssh.
#[derive(Debug)]
pub struct Ssh(Machine);

impl Ssh {
    /// Connects to a host, and creates a directory below `below` there.
    ///
    /// # Errors
    /// As [`Machine::connect`]'s.
    pub fn new(home: &Home, to: &Destination, below: &Path) -> Result<Self, LabError> {
        Machine::connect(home, to, below).map(Self)
    }
}

impl Site for Ssh {
    fn spawn(
        &self,
        _: &Home,
        invocation: &Invocation,
        input: &Path,
        log: File,
    ) -> Result<Launched, LabError> {
        self.0.spawn(invocation, input, log)
    }

    fn terminate(&self, first: &mut Launched, signal: Signal) {
        // Once its session has ended, another process may have its number.
        if let Ok(None) = first.child.try_wait() {
            self.send(&[Process::Elsewhere(first.pid)], signal);
        }
    }

    fn kill(&self, first: &mut Launched) -> Instant {
        self.terminate(first, Signal::KILL);
        let killed_at = Instant::now();
        process::kill(&mut first.child);
        killed_at
    }

    fn how_it_ended(&self, status: ExitStatus) -> String {
        Machine::how_it_ended(status)
    }

    fn process(&self, pid: u32) -> Option<Process> {
        Some(Process::Elsewhere(pid))
    }

    fn send(&self, processes: &[Process], signal: Signal) {
        self.0.send(processes, signal);
    }

    /// Starting a program records its process.
    fn record(&self, _: &Path, _: u32) -> Result<(), LabError> {
        Ok(())
    }

    fn end_processes(&self, dir: &Path, _: &Account) -> Result<(), LabError> {
        self.0.end_processes(dir)
    }

    fn end(&self) -> Result<(), LabError> {
        self.0.end()
    }

    fn address(&self) -> Ipv4Net {
        self.0.address()
    }

    fn platform(&self) -> Option<String> {
        Some(self.0.platform())
    }

    fn machine(&self) -> Option<&Machine> {
        Some(&self.0)
    }

    fn files(&self) -> &dyn Files {
        self.0.files()
    }
}
