//! What every site can do, and what only some can.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use host::Files;
use host::group::Usage;
use ipnet::Ipv4Net;
use measure::clock::HostClock;

use super::launched::{Launched, Program};
use super::machine::Machine;
use super::network::Namespace;
use super::this_host::ThisHost;
use super::vm::Guest;
use crate::failure::Failure;
use crate::home::Home;

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

/// What depends on the site's machine.
impl dyn Site + '_ {
    pub fn is_here(&self) -> bool {
        self.machine().is_none()
    }

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
        let groups = self.this_host().and_then(|host| host.groups.as_ref());
        let groups = groups
            .ok_or_else(|| Failure::server("a server without a control group cannot be limited"))?;
        groups.limit_io(self.files(), devices, limits)
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
}
