//! Another host, or a guest on this one, reached over ssh.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use engine::Invocation;
use host::Files;
use ipnet::Ipv4Net;
use rustix::process::Signal;

use super::vm::Guest;
use super::{Destination, Launched, Machine, Power, Process, Site};
use crate::account::Account;
use crate::failure::Failure;
use crate::home::Home;
use crate::process;

#[derive(Debug)]
pub struct Ssh {
    /// Before the guest, so that the connection to the guest ends first.
    machine: Machine,
    guest: Option<Guest>,
}

impl Ssh {
    /// Connects to a host, and creates a directory below `below` on it.
    pub fn new(home: &Home, to: &Destination, below: &Path) -> Result<Self, Failure> {
        Ok(Self {
            machine: Machine::connect(home, to, below)?,
            guest: None,
        })
    }

    /// Boots a guest with the CPUs and memory of these limits.
    pub fn guest(home: &Home, limits: &plan::Limits) -> Result<Self, Failure> {
        let (guest, to, disk) = Guest::boot(home, limits)?;
        Ok(Self {
            machine: Machine::guest(home, &to, disk)?,
            guest: Some(guest),
        })
    }
}

impl Site for Ssh {
    fn spawn(
        &self,
        _: &Home,
        invocation: &Invocation,
        input: &Path,
        log: File,
    ) -> Result<Launched, Failure> {
        self.machine.spawn(invocation, input, log)
    }

    fn terminate(&self, first: &mut Launched, signal: Signal) {
        // Once its session has ended, its process ID may be reused.
        if let Ok(None) = first.child.try_wait() {
            self.send(&[Process::Elsewhere(first.pid)], signal);
        }
    }

    fn kill(&self, first: &mut Launched) -> Instant {
        self.terminate(first, Signal::KILL);
        Instant::now()
    }

    fn reap(&self, first: &mut Launched) {
        process::kill(&mut first.child);
    }

    fn how_it_ended(&self, status: ExitStatus) -> String {
        Machine::how_it_ended(status)
    }

    fn process(&self, pid: u32) -> Option<Process> {
        Some(Process::Elsewhere(pid))
    }

    fn send(&self, processes: &[Process], signal: Signal) {
        self.machine.send(processes, signal);
    }

    /// Starting a program already records its process.
    fn record(&self, _: &Path, _: u32) -> Result<(), Failure> {
        Ok(())
    }

    fn end_processes(&self, dir: &Path, _: &Account) -> Result<(), Failure> {
        // A guest's processes end with it.
        match &self.guest {
            Some(guest) if guest.is_off() => Ok(()),
            _ => self.machine.end_processes(dir),
        }
    }

    fn end(&self) -> Result<(), Failure> {
        let ended = self.machine.end();
        let guest = self.guest.as_ref().map_or(Ok(()), Guest::end);
        ended.and(guest)
    }

    fn address(&self) -> Ipv4Net {
        self.machine.address()
    }

    fn reached_at(&self, port: u16) -> SocketAddr {
        let address = match &self.guest {
            None => self.address().addr(),
            Some(_) => Ipv4Addr::LOCALHOST,
        };
        SocketAddr::new(address.into(), port)
    }

    fn port(&self) -> Option<u16> {
        self.guest.as_ref().map(Guest::port)
    }

    fn power(&self) -> Option<&dyn Power> {
        self.guest.as_ref().map(|_| -> &dyn Power { self })
    }

    fn platform(&self) -> Option<String> {
        let machine = self.machine.platform();
        Some(match &self.guest {
            None => machine,
            Some(guest) => format!("{}; {machine}", guest.accelerator()),
        })
    }

    fn is_emulated(&self) -> bool {
        self.guest.as_ref().is_some_and(Guest::is_emulated)
    }

    fn machine(&self) -> Option<&Machine> {
        Some(&self.machine)
    }

    fn files(&self) -> &dyn Files {
        self.machine.files()
    }
}

impl Power for Ssh {
    fn cut(&self) -> Instant {
        let cut_at = self.guest.as_ref().map(Guest::cut);
        self.machine.disconnect();
        cut_at.unwrap_or_else(Instant::now)
    }

    fn restore(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        if let Some(guest) = &self.guest {
            guest.restore(interrupted)?;
        }
        self.machine.reconnect(interrupted)
    }
}
