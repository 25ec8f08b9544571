//! Sets up the sites of a trial.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plan::SiteKind;

use super::{Machine, Site, Switch, ThisHost};
use crate::failure::Failure;
use crate::home::Home;

/// Sets up a site of this host, or a guest on it, for each node; `guest_image` is the directory that
/// `scripts/build-guest.sh` fills.
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
    let limits_io = topology.limits_io();
    let site = |_| -> Result<Arc<dyn Site>, Failure> {
        Ok(match planned.kind.value {
            SiteKind::Vm => {
                let limits = &planned.limits;
                Arc::new(Machine::guest(home, limits, guest_image, interrupted)?)
            }
            _ => Arc::new(ThisHost::new(home, planned, limits_io, switch.as_ref())?),
        })
    };
    (0..nodes).map(site).collect()
}

/// Sets up another site in the same network, but without limits, for services that the servers of
/// several sites share. `reached_at`: this host's address, if those are on others.
pub fn beside(
    site: &dyn Site,
    home: &Home,
    reached_at: Option<Ipv4Addr>,
) -> Result<Arc<dyn Site>, Failure> {
    let switch = site.links().map(|namespace| &namespace.switch);
    let beside = ThisHost::new(home, &plan::Site::default(), false, switch)?;
    Ok(Arc::new(match reached_at {
        Some(address) => beside.at(address.into()),
        None => beside,
    }))
}
