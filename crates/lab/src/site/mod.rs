//! Where nodes run. Each kind of site is one file.

mod cgroup;
mod links;
mod network;
mod this_host;

use std::fmt;
use std::fs::File;
use std::process::Child;
use std::sync::Arc;

use engine::{Invocation, LOOPBACK};
use host::Files;
use host::throttling::Throttling;
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

    /// Sets up a site beside it, in the same network but without its limits, for what the servers of
    /// several sites share.
    ///
    /// # Errors
    /// When this user may not, or the kernel cannot.
    fn beside(&self, home: &Home) -> Result<Arc<dyn Site>, LabError> {
        let _ = home;
        Ok(Arc::new(ThisHost::default()))
    }

    /// Its links with the other sites of its network; `None` if they cannot be broken.
    fn links(&self) -> Option<&dyn Links> {
        None
    }

    /// The files of the machine.
    fn files(&self) -> &dyn Files;

    /// Reads the counters of the machine and of these disks.
    fn sample(&self, disks: &[String]) -> host::Sample {
        host::Sample::take(self.files(), disks)
    }

    /// Reads the counters of the CPU quota; `None` without one.
    fn throttling(&self) -> Option<Throttling> {
        None
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
    let plan::Site::Host { cpus } = &topology.node.site;
    let cpus = cpus.as_ref().map(|cpus| cpus.value);
    let switch = match topology.network() {
        plan::Network::Loopback => None,
        plan::Network::Namespaces => Some(Arc::new(Switch::new(home)?)),
    };
    let site = |_| -> Result<Arc<dyn Site>, LabError> {
        Ok(match &switch {
            None => Arc::new(ThisHost::with_quota(home, cpus)?),
            Some(switch) => Arc::new(Namespace::new(home, switch, cpus)?),
        })
    };
    (0..nodes).map(site).collect()
}
