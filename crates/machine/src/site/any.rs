//! What every site can do, and what only some can.

use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use host::Files;
use host::group::Usage;
use ipnet::Ipv4Net;
use measure::clock::HostClock;
use rustix::process::{Signal, pidfd_send_signal};

use super::launched::{Launched, Process, Program};
use super::machine::Machine;
use super::network::Namespace;
use super::this_host::ThisHost;
use super::vm::Guest;
use crate::account::Account;
use crate::failure::Failure;
use crate::home::{Home, survivors};
use crate::process;

/// The exit code of another machine's session, ssh, if the connection fails.
const NO_CONNECTION: i32 = 255;
/// The address of this host, to which nobody else can connect.
pub const LOOPBACK: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::LOCALHOST, 32);

/// Where a node runs. Dropping a site takes it down.
pub trait Site: fmt::Debug + Send + Sync {
    /// Starts a program as the servers' account.
    fn spawn(&self, home: &Home, program: Program<'_>) -> Result<Launched, Failure>;

    /// The files of the site's machine.
    fn files(&self) -> &dyn Files;

    /// Removes what was set up for the site, after its processes have ended.
    fn end(&self) -> Result<(), Failure>;

    /// The address that servers listen on, with the prefix length of the network from which clients
    /// and other members connect.
    fn address(&self) -> Ipv4Net {
        LOOPBACK
    }

    /// What dyno found out about the site, such as the program that runs its container; `None` if
    /// that adds nothing to the plan.
    fn platform(&self) -> Option<String> {
        None
    }

    /// What is known of the clocks of the site's machine; `None` if they are this host's.
    fn clock(&self) -> Option<HostClock> {
        None
    }

    /// What contains and limits the site's processes; `None` if nothing can.
    fn this_host(&self) -> Option<&ThisHost> {
        None
    }

    /// What the processes of the site's control groups use; `None` without control groups.
    fn usage(&self) -> Option<Usage> {
        Some(self.this_host()?.groups.as_ref()?.usage(self.files()))
    }

    /// `None` if the site is on this host.
    fn machine(&self) -> Option<&Machine> {
        None
    }
}

/// The processes of a site, which are on this host or on another machine.
impl dyn Site + '_ {
    pub fn is_here(&self) -> bool {
        self.machine().is_none()
    }

    /// Sends a program the signal to shut down.
    pub fn terminate(&self, first: &mut Launched, signal: Signal) -> Result<(), Failure> {
        match self.machine() {
            None => first.signal(signal),
            // Once its session has ended, its process ID may be reused.
            Some(machine) if matches!(first.child.try_wait(), Ok(None)) => {
                return machine.send(&[Process::Elsewhere(first.pid)], signal);
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Kills a program; returns when it was killed.
    pub fn kill(&self, first: &mut Launched) -> Result<Instant, Failure> {
        if self.is_here() {
            return Ok(first.kill());
        }
        self.terminate(first, Signal::KILL)?;
        Ok(Instant::now())
    }

    /// How a program ended, as the rest of a sentence that begins with its name.
    pub fn how_it_ended(&self, status: ExitStatus) -> String {
        match status.code() {
            Some(NO_CONNECTION) if !self.is_here() => "lost the connection to its host".to_owned(),
            _ => process::how_it_ended(status),
        }
    }

    /// A process to send signals to; `None` if it has ended.
    pub fn process(&self, pid: u32) -> Option<Process> {
        match self.is_here() {
            true => Some(Process::Here(process::handle(pid).ok()?)),
            false => Some(Process::Elsewhere(pid)),
        }
    }

    /// Sends a signal to processes, some of which may have ended.
    pub fn send(&self, processes: &[Process], signal: Signal) -> Result<(), Failure> {
        if let Some(machine) = self.machine() {
            return machine.send(processes, signal);
        }
        for process in processes {
            if let Process::Here(handle) = process {
                let _ = pidfd_send_signal(handle, signal);
            }
        }
        Ok(())
    }

    /// Records a process of the node with this directory, so that `end_processes` removes its
    /// shared memory. A guest's ends with it.
    pub fn record(&self, dir: &Path, pid: u32) -> Result<(), Failure> {
        match self.is_here() {
            true => survivors::record_process(dir, pid),
            false => Ok(()),
        }
    }

    /// Kills all processes of the node with this directory, and removes their shared memory.
    pub fn end_processes(&self, dir: &Path, account: &Account) -> Result<(), Failure> {
        match self.machine() {
            None => {
                let ended = survivors::end(dir, account).map(drop);
                survivors::remove_shared_memory(dir, account);
                ended
            }
            // A guest's processes end with it.
            Some(_) if self.guest().is_some_and(Guest::is_off) => Ok(()),
            Some(machine) => machine.end_processes(dir),
        }
    }
}

/// What else depends on the site's machine.
impl dyn Site + '_ {
    /// Lets programs read the directories `readable` and write to `writable`.
    pub fn admit(&self, readable: &[PathBuf], writable: &[PathBuf]) {
        let host = self.this_host();
        if let Some(container) = host.and_then(|host| host.container.as_ref()) {
            container.admit(readable, writable);
        }
    }

    /// The links to the other sites of its network; `None` if they cannot be broken.
    pub fn links(&self) -> Option<&Namespace> {
        self.this_host()?.network.as_ref()
    }

    /// Limits what processes read and write on these devices, given by their major and minor
    /// numbers, and replaces earlier limits of those devices.
    pub fn limit_io(
        &self,
        devices: &[(u32, u32)],
        limits: &plan::DiskLimits,
    ) -> Result<(), Failure> {
        let host = self.this_host().ok_or_else(|| {
            Failure::server("this kind of site cannot limit the requests to devices")
        })?;
        let groups = host
            .groups
            .as_ref()
            .ok_or_else(|| Failure::server("a server without a control group cannot be limited"))?;
        groups.limit_io(self.files(), devices, limits)
    }

    /// `None` if the site cannot be switched off.
    pub fn power(&self) -> Option<&Machine> {
        self.machine().filter(|machine| machine.is_guest())
    }

    /// Whether CPUs are emulated.
    pub fn is_emulated(&self) -> bool {
        self.guest().is_some_and(Guest::is_emulated)
    }

    /// The only port that can be reached, which is forwarded from the same port of this host;
    /// `None` if all can.
    pub fn port(&self) -> Option<u16> {
        self.guest().map(Guest::port)
    }

    fn guest(&self) -> Option<&Guest> {
        self.machine()?.guest.as_ref()
    }

    /// The address at which dyno reaches a server that listens on `port`.
    pub fn reached_at(&self, port: u16) -> SocketAddr {
        let address = match self.port() {
            None => self.address().addr(),
            Some(_) => Ipv4Addr::LOCALHOST,
        };
        SocketAddr::new(address.into(), port)
    }

    /// The path on the site of `here`, a path in the run directory on this host.
    pub fn path(&self, here: &Path) -> PathBuf {
        let machine = self.machine();
        machine.map_or_else(|| here.to_owned(), |machine| machine.path(here))
    }

    /// Copies the node's directory `dir` to the site before its server starts, without the data, and
    /// connects the socket `here` on this host to the server's.
    pub fn bring(
        &self,
        dir: &Path,
        (here, there): (&Path, &Path),
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let Some(machine) = self.machine() else {
            return Ok(());
        };
        machine.bring(dir, interrupted)?;
        machine.forward(here, there)
    }

    /// Removes a file of a node's directory, here and on the site.
    pub fn remove_file(&self, here: &Path) -> Result<(), Failure> {
        fs::remove_file(here).map_err(Failure::at("remove", here))?;
        let machine = self.machine();
        machine.map_or(Ok(()), |machine| machine.remove_file(here))
    }
}
