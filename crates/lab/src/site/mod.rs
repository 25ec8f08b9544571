//! Where nodes run. Each kind of site is one file.

mod cgroup;
mod links;
mod network;
mod this_host;

use std::fmt;
use std::fs::File;
use std::net::Ipv4Addr;
use std::process::Child;
use std::sync::Arc;

use engine::{Invocation, LOOPBACK};
use host::Files;
use host::group::Usage;
use ipnet::Ipv4Net;

use crate::error::LabError;
use crate::home::Home;

pub use links::{Links, SlowLink};
pub use network::{Namespace, Switch};
pub use this_host::ThisHost;

/// Where a node runs. Dropping it ends it.
pub trait Site: fmt::Debug + Send + Sync {
    /// Starts a program of this run as the servers' account. Its standard input is `input`, and its
    /// output goes to `log`.
    ///
    /// # Errors
    /// When the operating system refuses.
    fn spawn(
        &self,
        home: &Home,
        invocation: &Invocation,
        input: File,
        log: File,
    ) -> Result<Child, LabError>;

    /// Removes what was set up for it, after its processes have ended.
    ///
    /// # Errors
    /// What could not be removed.
    fn end(&self) -> Result<(), LabError>;

    /// The address that its servers listen on, with the prefix length of the network from which
    /// clients and other members connect to them.
    fn address(&self) -> Ipv4Net {
        LOOPBACK
    }

    /// The address at which its servers reach this host.
    fn host_ip(&self) -> Ipv4Addr {
        LOOPBACK.addr()
    }

    /// Its links with the other sites of its network; `None` if they cannot be broken.
    fn links(&self) -> Option<&dyn Links> {
        None
    }

    /// What it turned out to be, such as the program that runs its container; `None` if the plan
    /// says all.
    fn platform(&self) -> Option<String> {
        None
    }

    /// The files of the machine.
    fn files(&self) -> &dyn Files;

    /// Reads the counters of the machine and of these disks.
    fn sample(&self, disks: &[String]) -> host::Sample {
        host::Sample::take(self.files(), disks)
    }

    /// What the processes of its control groups use; `None` without one.
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// Limits what its processes read and write on each of these devices, given by their major and
    /// minor numbers, and replaces an earlier limit of the device. The first call is before the
    /// first process starts, if only with no limits.
    ///
    /// # Errors
    /// When the site cannot limit it.
    fn limit_io(&self, devices: &[(u32, u32)], limits: &plan::DiskLimits) -> Result<(), LabError> {
        let _ = (devices, limits);
        Err(LabError::Impossible(
            "this kind of site cannot limit the requests to devices".to_owned(),
        ))
    }
}

/// Sets up a site for each of these nodes.
///
/// # Errors
/// When this machine cannot enforce their limits, or give them a network of their own.
pub fn set_up(
    home: &Home,
    topology: &plan::Topology,
    nodes: u32,
) -> Result<Vec<Arc<dyn Site>>, LabError> {
    let planned = &topology.node.site;
    let switch = match topology.network() {
        plan::Network::Loopback => None,
        plan::Network::Namespaces => Some(Arc::new(Switch::new(home)?)),
    };
    let site = |_| -> Result<Arc<dyn Site>, LabError> {
        Ok(match &switch {
            None => Arc::new(ThisHost::new(home, planned)?),
            Some(switch) => Arc::new(Namespace::new(home, switch, planned)?),
        })
    };
    (0..nodes).map(site).collect()
}
