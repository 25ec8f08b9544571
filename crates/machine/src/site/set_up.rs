//! Sets up the sites of a trial.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plan::SiteKind;

use super::{Machine, Site, Switch, ThisHost};
use crate::failure::Failure;
use crate::home::Home;
use crate::ssh::Destination;

/// Sets up a site for each node; `guest_image` is the directory that `scripts/build-guest.sh` fills.
pub fn set_up(
    home: &Home,
    topology: &plan::Topology,
    nodes: u32,
    guest_image: &Path,
    interrupted: &AtomicBool,
) -> Result<Vec<Arc<dyn Site>>, Failure> {
    let planned = &topology.node.site;
    let switch = match topology.network() {
        plan::Network::Loopback => None,
        plan::Network::Namespaces => Some(Arc::new(Switch::new(home)?)),
    };
    let mut volumes = topology.node.volumes();
    let mut faults = topology.faults.iter();
    let limits_io = volumes.any(|volume| !volume.limits.is_none())
        || faults.any(|fault| fault.kind().has("limits"));
    let site = |number| -> Result<Arc<dyn Site>, Failure> {
        let members = topology.members();
        let place = topology.host_of(number / members, number % members);
        let hosts = planned.hosts.as_ref();
        let host = hosts.and_then(|hosts| Some((hosts, hosts.list.get(place)?)));
        Ok(match (planned.kind.value, host) {
            (SiteKind::Ssh, Some((hosts, host))) => {
                let to = Destination {
                    host: host.address.value.clone(),
                    ssh_config: hosts.ssh_config.clone(),
                };
                Arc::new(Machine::new(home, &to, &hosts.directory)?)
            }
            (SiteKind::Vm, _) => {
                let limits = &planned.limits;
                Arc::new(Machine::guest(home, limits, guest_image, interrupted)?)
            }
            _ => Arc::new(ThisHost::new(home, planned, limits_io, switch.as_ref())?),
        })
    };
    (0..nodes).map(site).collect()
}

/// Sets up another site in the same network, but without limits, for services that the servers of
/// several sites share.
pub fn beside(site: &dyn Site, home: &Home) -> Result<Arc<dyn Site>, Failure> {
    let switch = site.links().map(|namespace| &namespace.switch);
    let beside = ThisHost::new(home, &plan::Site::default(), false, switch)?;
    Ok(Arc::new(beside))
}
