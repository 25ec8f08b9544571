//! Where nodes run. Each kind of site is one file.

mod cgroup;
mod container;
mod launched;
pub(crate) mod machine;
mod network;
mod ssh;
mod this_host;
mod vm;

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use host::Files;
use host::group::Usage;
use ipnet::Ipv4Net;
use plan::SiteKind;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::account::Account;
use crate::failure::Failure;
use crate::home::{Home, shared_memory, survivors};
use crate::process;

pub(crate) use container::TOOL_DIRS;
pub use launched::{Launched, Process};
pub use machine::{Destination, Machine, shown};
pub use network::{Namespace, Switch};
pub use ssh::Ssh;
pub use this_host::ThisHost;

/// The address of this host, to which nobody else can connect.
pub const LOOPBACK: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::LOCALHOST, 32);

/// A program of this run.
#[derive(Debug)]
pub struct Program<'a> {
    pub path: &'a Path,
    pub arguments: &'a [OsString],
    /// The file for standard input.
    pub input: &'a Path,
    /// Gets all output.
    pub log: File,
}

/// The power supply of a machine: without it, the machine loses its processes and the content of
/// its memory.
pub trait Power {
    /// Switches the machine off; returns when that was done.
    fn cut(&self) -> Instant;

    /// Switches the machine on again, with what was on its disk.
    fn restore(&self, interrupted: &AtomicBool) -> Result<(), Failure>;
}

/// Where a node runs. Dropping a site takes it down.
pub trait Site: fmt::Debug + Send + Sync {
    /// Starts a program as the servers' account.
    fn spawn(&self, home: &Home, program: Program<'_>) -> Result<Launched, Failure>;

    /// Lets programs read the directories `readable` and write to `writable`. By default, they
    /// already can.
    fn admit(&self, readable: &[PathBuf], writable: &[PathBuf]) {
        let _ = (readable, writable);
    }

    /// Sends a program the signal to shut down.
    fn terminate(&self, first: &mut Launched, signal: Signal) {
        first.signal(signal);
    }

    /// Kills a program; returns when it was killed.
    fn kill(&self, first: &mut Launched) -> Instant {
        first.kill()
    }

    /// Waits for the end of a killed program.
    fn reap(&self, first: &mut Launched) {
        first.reap();
    }

    /// How a program ended, as the rest of a sentence that begins with its name.
    fn how_it_ended(&self, status: ExitStatus) -> String {
        process::how_it_ended(status)
    }

    /// A process to send signals to; `None` if it has ended.
    fn process(&self, pid: u32) -> Option<Process> {
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        Some(Process::Here(pidfd_open(pid, PidfdFlags::empty()).ok()?))
    }

    /// Sends a signal to processes, some of which may have ended.
    fn send(&self, processes: &[Process], signal: Signal) {
        for process in processes {
            if let Process::Here(handle) = process {
                let _ = pidfd_send_signal(handle, signal);
            }
        }
    }

    /// Records a process of the node with this directory, so that [`Site::end_processes`] removes
    /// its shared memory.
    fn record(&self, dir: &Path, pid: u32) -> Result<(), Failure> {
        shared_memory::record(dir, pid)
    }

    /// Kills all processes of the node with this directory, and removes their shared memory.
    fn end_processes(&self, dir: &Path, account: &Account) -> Result<(), Failure> {
        let ended = survivors::end(dir, account).map(drop);
        shared_memory::remove_recorded(dir, account);
        ended
    }

    /// Removes what was set up for the site, after its processes have ended.
    fn end(&self) -> Result<(), Failure>;

    /// The address that servers listen on, with the prefix length of the network from which clients
    /// and other members connect.
    fn address(&self) -> Ipv4Net {
        LOOPBACK
    }

    /// The address at which dyno reaches a server that listens on `port`.
    fn reached_at(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.address().addr().into(), port)
    }

    /// The only port that can be reached; `None` if all can.
    fn port(&self) -> Option<u16> {
        None
    }

    /// Sets up another site in the same network, but without limits, for services that the servers
    /// of several sites share.
    fn beside(&self, home: &Home) -> Result<Arc<dyn Site>, Failure> {
        let _ = home;
        Ok(Arc::new(ThisHost::default()))
    }

    /// The links to the other sites of its network; `None` if they cannot be broken.
    fn links(&self) -> Option<&Namespace> {
        None
    }

    /// `None` if the site cannot be switched off.
    fn power(&self) -> Option<&dyn Power> {
        None
    }

    /// What dyno found out about the site, such as the program that runs its container; `None` if
    /// that adds nothing to the plan.
    fn platform(&self) -> Option<String> {
        None
    }

    /// Whether CPUs are emulated.
    fn is_emulated(&self) -> bool {
        false
    }

    /// `None` if the site is on this host.
    fn machine(&self) -> Option<&Machine> {
        None
    }

    /// The files of the site's machine.
    fn files(&self) -> &dyn Files;

    /// What the processes of the site's control groups use; `None` without control groups.
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// Limits what processes read and write on these devices, given by their major and minor
    /// numbers, and replaces earlier limits of those devices. The first call must precede the first
    /// process, even if it sets no limits.
    fn limit_io(&self, devices: &[(u32, u32)], limits: &plan::DiskLimits) -> Result<(), Failure> {
        let _ = (devices, limits);
        Err(Failure::server(
            "this kind of site cannot limit the requests to devices",
        ))
    }
}

/// Sets up a site for each node; `guest_image` is the directory that `scripts/build-guest.sh` fills.
pub fn set_up(
    home: &Home,
    topology: &plan::Topology,
    nodes: u32,
    guest_image: &Path,
) -> Result<Vec<Arc<dyn Site>>, Failure> {
    let planned = &topology.node.site;
    let switch = match topology.network() {
        plan::Network::Loopback => None,
        plan::Network::Namespaces => Some(Arc::new(Switch::new(home)?)),
    };
    let site = |_| -> Result<Arc<dyn Site>, Failure> {
        if let (SiteKind::Ssh, Some(host)) = (planned.kind.value, &planned.host) {
            let to = Destination {
                host: host.name.value.clone(),
                ssh_config: host.ssh_config.clone(),
            };
            return Ok(Arc::new(Ssh::new(home, &to, &host.directory)?));
        }
        if planned.kind.value == SiteKind::Vm {
            return Ok(Arc::new(Ssh::guest(home, &planned.limits, guest_image)?));
        }
        Ok(match &switch {
            None => Arc::new(ThisHost::new(home, planned)?),
            Some(switch) => Arc::new(Namespace::new(home, switch, planned)?),
        })
    };
    (0..nodes).map(site).collect()
}
