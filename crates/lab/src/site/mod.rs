//! Where nodes run. Each kind of site is one file.

mod cgroup;
mod container;
mod launched;
pub(crate) mod machine;
mod network;
mod ssh;
mod this_host;
mod vm;

use std::fmt;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use engine::{Invocation, LOOPBACK};
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
pub use machine::{Destination, Machine};
pub use network::{Namespace, Switch};
pub use ssh::Ssh;
pub use this_host::ThisHost;

/// The power of a machine, its programs and the content of its memory included.
pub trait Power {
    /// Switches it off; returns when that was done.
    fn cut(&self) -> Instant;

    /// Switches it on again, with what was on its disk.
    fn restore(&self, interrupted: &AtomicBool) -> Result<(), Failure>;
}

/// Where a node runs. Dropping it ends it.
pub trait Site: fmt::Debug + Send + Sync {
    /// Starts a program of this run as the servers' account. Its standard input is the file `input`,
    /// and its output goes to `log`.
    fn spawn(
        &self,
        home: &Home,
        invocation: &Invocation,
        input: &Path,
        log: File,
    ) -> Result<Launched, Failure>;

    /// Lets its programs read the first and use the second of these directories; by default they
    /// can.
    fn admit(&self, readable: &[PathBuf], writable: &[PathBuf]) {
        let _ = (readable, writable);
    }

    /// Sends a program that it started the signal to shut down.
    fn terminate(&self, first: &mut Launched, signal: Signal) {
        first.signal(signal);
    }

    /// Kills a program that it started; returns when it was killed.
    fn kill(&self, first: &mut Launched) -> Instant {
        first.kill()
    }

    /// Waits for the end of a program that was killed.
    fn reap(&self, first: &mut Launched) {
        first.reap();
    }

    /// How a program that it started ended, for a sentence that begins with its name.
    fn how_it_ended(&self, status: ExitStatus) -> String {
        process::how_it_ended(status)
    }

    /// One of its processes, to send signals to; `None` if it has ended.
    fn process(&self, pid: u32) -> Option<Process> {
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        Some(Process::Here(pidfd_open(pid, PidfdFlags::empty()).ok()?))
    }

    /// Sends a signal to its processes, some of which may have ended.
    fn send(&self, processes: &[Process], signal: Signal) {
        for process in processes {
            if let Process::Here(handle) = process {
                let _ = pidfd_send_signal(handle, signal);
            }
        }
    }

    /// Records a process of the node with this directory, whose shared memory
    /// [`Site::end_processes`] removes.
    fn record(&self, dir: &Path, pid: u32) -> Result<(), Failure> {
        shared_memory::record(dir, pid)
    }

    /// Kills all processes that were started for the node with this directory, and removes their
    /// shared memory.
    fn end_processes(&self, dir: &Path, account: &Account) -> Result<(), Failure> {
        let ended = survivors::end(dir, account).map(drop);
        shared_memory::remove_recorded(dir, account);
        ended
    }

    /// Removes what was set up for it, after its processes have ended.
    fn end(&self) -> Result<(), Failure>;

    /// The address that its servers listen on, with the prefix length of the network from which
    /// clients and other members connect to them.
    fn address(&self) -> Ipv4Net {
        LOOPBACK
    }

    /// Where dyno connects to a server that listens on this port of it.
    fn reached_at(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.address().addr().into(), port)
    }

    /// The only port of it that can be reached; `None` if all can.
    fn port(&self) -> Option<u16> {
        None
    }

    /// Sets up a site beside it, in the same network but without its limits, for what the servers of
    /// several sites share.
    fn beside(&self, home: &Home) -> Result<Arc<dyn Site>, Failure> {
        let _ = home;
        Ok(Arc::new(ThisHost::default()))
    }

    /// Its links with the other sites of its network; `None` if they cannot be broken.
    fn links(&self) -> Option<&Namespace> {
        None
    }

    /// Its power; `None` if it cannot be switched off.
    fn power(&self) -> Option<&dyn Power> {
        None
    }

    /// What it turned out to be, such as the program that runs its container; `None` if the plan
    /// says all.
    fn platform(&self) -> Option<String> {
        None
    }

    /// Whether its CPUs are emulated.
    fn is_emulated(&self) -> bool {
        false
    }

    /// The machine that it is, if it is not this host.
    fn machine(&self) -> Option<&Machine> {
        None
    }

    /// The files of the machine.
    fn files(&self) -> &dyn Files;

    /// What the processes of its control groups use; `None` without one.
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// Limits what its processes read and write on each of these devices, given by their major and
    /// minor numbers, and replaces an earlier limit of the device. The first call is before the
    /// first process starts, if only with no limits.
    fn limit_io(&self, devices: &[(u32, u32)], limits: &plan::DiskLimits) -> Result<(), Failure> {
        let _ = (devices, limits);
        Err(Failure::server(
            "this kind of site cannot limit the requests to devices",
        ))
    }
}

/// Sets up a site for each of these nodes.
pub fn set_up(
    home: &Home,
    topology: &plan::Topology,
    nodes: u32,
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
            return Ok(Arc::new(Ssh::guest(home, &planned.limits)?));
        }
        Ok(match &switch {
            None => Arc::new(ThisHost::new(home, planned)?),
            Some(switch) => Arc::new(Namespace::new(home, switch, planned)?),
        })
    };
    (0..nodes).map(site).collect()
}
