//! Another host, or a guest on this one, reached over ssh.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use host::Files;
use ipnet::Ipv4Net;

use super::vm::Guest;
use super::{Launched, Machine, Program, Site};
use crate::failure::Failure;
use crate::home::Home;
use crate::ssh::Destination;

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
            machine: Machine::connect(home, to, below, None)?,
            guest: None,
        })
    }

    /// Boots a guest with the CPUs and memory of these limits.
    pub fn guest(home: &Home, limits: &plan::Limits, image: &Path) -> Result<Self, Failure> {
        let guest = Guest::boot(home, limits, image)?;
        let (to, disk) = (&guest.destination, guest.disk.clone());
        Ok(Self {
            machine: Machine::connect(home, to, Path::new("/var/tmp"), Some(disk))?,
            guest: Some(guest),
        })
    }
}

impl Site for Ssh {
    fn spawn(&self, _: &Home, program: Program<'_>) -> Result<Launched, Failure> {
        self.machine.spawn(program)
    }

    fn files(&self) -> &dyn Files {
        self.machine.files()
    }

    fn end(&self) -> Result<(), Failure> {
        let ended = self.machine.end();
        let guest = self.guest.as_ref().map_or(Ok(()), Guest::end);
        ended.and(guest)
    }

    fn address(&self) -> Ipv4Net {
        self.machine.address
    }

    fn port(&self) -> Option<u16> {
        self.guest.as_ref().map(Guest::port)
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

    fn power(&self) -> Option<&Ssh> {
        self.guest.as_ref().map(|_| self)
    }
}

/// The power supply of a guest, which loses its processes and the content of its memory without it.
impl Ssh {
    pub(super) fn is_off(&self) -> bool {
        self.guest.as_ref().is_some_and(Guest::is_off)
    }

    /// Switches the guest off, and returns once it is off.
    pub fn cut(&self) -> Instant {
        let cut_at = self.guest.as_ref().map(Guest::cut);
        // No request waits for an answer.
        self.machine.disconnect();
        cut_at.unwrap_or_else(Instant::now)
    }

    /// Switches the guest on again, with what was on its disk.
    pub fn restore(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        if let Some(guest) = &self.guest {
            guest.restore(interrupted)?;
        }
        self.machine.reconnect(interrupted)
    }
}
