//! Sets up the sites of a trial.

use std::net::Ipv4Addr;
use std::sync::Arc;

use super::{Site, Switch, ThisHost};
use crate::failure::Failure;
use crate::home::Home;

/// Sets up a site of this host for each node.
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
    let limits_io = topology.limits_io();
    let site = |_| -> Result<Arc<dyn Site>, Failure> {
        let site = ThisHost::new(home, planned, limits_io, switch.as_ref())?;
        Ok(Arc::new(site))
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
