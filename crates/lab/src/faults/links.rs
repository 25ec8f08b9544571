//! Breaks links between the members of a cluster, for sites that have a network of their own, and
//! chooses which members a partition cuts off. Clients on this host still reach every member, unless
//! its host fails.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use plan::{ActsOn, FaultKind, FaultOptions, LostSide, SlowLink};

use super::context::{FaultContext, find};
use crate::ip::no_network;
use crate::site::{Machine, Namespace, Site};
use crate::{Cluster, Failure};

/// Which packets are dropped when a member is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Between the member and the other members.
    Both,
    /// All of `Both`, and from the member to clients on this host.
    All,
    /// From the member to the other members; it still receives what they send.
    Sent,
    /// From the member to clients on this host; the other members do not notice.
    ToClients,
}

/// Broken links, which stay broken until [`BrokenLinks::heal`] or until their sites end.
#[derive(Debug)]
pub(crate) struct BrokenLinks {
    pub(crate) since: Instant,
    /// Makes the links of a site to these peers work again.
    repair: fn(&Namespace, &[Ipv4Addr]) -> Result<Instant, Failure>,
    /// Sites, and the addresses to which their packets are dropped, limited, or delayed.
    links: Vec<(Arc<dyn Site>, Vec<Ipv4Addr>)>,
}

impl BrokenLinks {
    /// Returns when the last link worked again.
    pub(crate) fn heal(self) -> Result<Instant, Failure> {
        let mut healed = Ok(Instant::now());
        for (site, peers) in &self.links {
            let done = links_of(&**site).and_then(|links| (self.repair)(links, peers));
            healed = healed.and(done);
        }
        healed
    }
}

impl Cluster {
    /// Drops all packets between one side and the other members and shared services, except the
    /// spared ones. Senders get no error.
    pub(crate) fn separate(
        &self,
        side: &[usize],
        spared: &[usize],
        lost: Lost,
    ) -> Result<BrokenLinks, Failure> {
        let mut broken = BrokenLinks {
            since: Instant::now(),
            repair: Namespace::restore,
            links: Vec::new(),
        };
        let own = self.addresses(|index| side.contains(&index));
        let others = self.addresses(|index| !side.contains(&index) && !spared.contains(&index));
        for (sender, site) in self.sites().into_iter().enumerate() {
            let peers = match (side.contains(&sender), lost) {
                _ if spared.contains(&sender) => continue,
                (true, Lost::All) => {
                    let clients = links_of(&**site)?.clients();
                    others.iter().copied().chain([clients]).collect()
                }
                (true, Lost::ToClients) => vec![links_of(&**site)?.clients()],
                (true, _) => others.clone(),
                (false, Lost::Both | Lost::All) => own.clone(),
                (false, Lost::Sent | Lost::ToClients) => continue,
            };
            let cut = links_of(&**site).and_then(|links| links.cut(&peers));
            broken.links.push((Arc::clone(site), peers));
            match cut {
                Ok(at) => broken.since = at,
                Err(error) => {
                    let _ = broken.heal();
                    return Err(error);
                }
            }
        }
        Ok(broken)
    }

    /// Limits or delays what a member sends to all other members and to the services that they
    /// share.
    pub(crate) fn slow_down(&self, index: usize, how: &SlowLink) -> Result<BrokenLinks, Failure> {
        let (peers, sites) = (self.addresses(|other| other != index), self.sites());
        let site = Arc::clone(sites.get(index).ok_or_else(no_links)?);
        Ok(BrokenLinks {
            since: links_of(&*site)?.slow(&peers, how)?,
            repair: |links, _| links.speed_up(),
            links: vec![(site, peers)],
        })
    }

    /// Addresses of the selected sites, those of members first.
    fn addresses(&self, is_one: impl Fn(usize) -> bool) -> Vec<Ipv4Addr> {
        let sites = self.sites().into_iter().enumerate();
        let chosen = sites.filter(|(index, _)| is_one(*index));
        chosen.map(|(_, site)| site.address().addr()).collect()
    }
}

fn links_of(site: &dyn Site) -> Result<&Namespace, Failure> {
    site.links().ok_or_else(no_links)
}

pub(crate) fn no_links() -> Failure {
    no_network(
        "members that share the loopback interface have no links that can be broken",
        "give each member a network namespace: topology.network = \"namespaces\"",
    )
}

/// The sides of a partition, or what another fault hits, by the indexes of members and sites.
#[derive(Default)]
pub(super) struct Sides {
    /// The members of the side that is lost, or of the target's.
    pub(super) cut_off: Vec<usize>,
    /// The sites that both sides reach.
    pub(super) spared: Vec<usize>,
    /// The members that may be lost.
    pub(super) lost: Vec<usize>,
    pub(super) primary: usize,
    /// Whether it is a host of several.
    pub(super) is_host: bool,
}

impl Sides {
    /// Empty for servers that dyno did not start. The lost side is also cut off from shared
    /// services such as the coordinator.
    pub(super) fn choose(
        kind: FaultKind,
        options: &FaultOptions,
        context: &FaultContext<'_>,
    ) -> Result<Self, Failure> {
        let Some(target) = context.index else {
            return Ok(Self::default());
        };
        let cluster = context.cluster();
        let primary = cluster.primary_index();
        let members = on_host(target, cluster);
        if kind.rules().acts_on == ActsOn::Host && !members.is_empty() {
            return Ok(Self {
                cut_off: members.clone(),
                spared: Vec::new(),
                lost: members,
                primary,
                is_host: true,
            });
        }
        let (side, bridge) = named(options, target, cluster)?;
        let members = cluster.members().len();
        let rest = |index: &usize| !side.contains(index) && bridge != Some(*index);
        let rest: Vec<usize> = (0..members).filter(rest).collect();
        let count = |all: usize| u32::try_from(all).unwrap_or(u32::MAX);
        let bridges = u32::from(bridge.is_some());
        let mut spared: Vec<_> = bridge.into_iter().collect();
        let lost = LostSide::of(count(members), count(side.len()), bridges);
        let (cut_off, lost) = match lost {
            LostSide::Target => (side.clone(), side),
            LostSide::Rest => (rest.clone(), rest),
            LostSide::Neither => {
                spared.extend(members..cluster.sites().len());
                (side, Vec::new())
            }
        };
        Ok(Self {
            cut_off,
            spared,
            lost,
            primary,
            is_host: false,
        })
    }

    pub(super) fn return_to_cluster(&self, context: &FaultContext<'_>) -> Result<(), Failure> {
        let returned = self.cut_off.iter().map(|index| {
            let cut_off = context.of(*index, *index == self.primary);
            cut_off.return_to_cluster()
        });
        returned.collect::<Vec<_>>().into_iter().collect()
    }
}

/// The members on the other host that one runs on; none if it runs on this host.
fn on_host(target: usize, cluster: &Cluster) -> Vec<usize> {
    let machines: Vec<_> = cluster
        .members()
        .iter()
        .map(|member| member.site()?.machine())
        .collect();
    let own = machines.get(target).copied().flatten();
    let is_same = |machine: &Option<&Machine>| {
        own.zip(*machine)
            .is_some_and(|(own, one)| std::ptr::eq(own, one))
    };
    (0..machines.len())
        .filter(|index| is_same(&machines[*index]))
        .collect()
}

/// The members on the target's side, and the bridge.
fn named(
    options: &FaultOptions,
    target: usize,
    cluster: &Cluster,
) -> Result<(Vec<usize>, Option<usize>), Failure> {
    let mut side = vec![target];
    for with in &options.with {
        let index = find(*with, cluster, |_| false, &side)?;
        if !side.contains(&index) {
            side.push(index);
        }
    }
    let find = |bridge| find(bridge, cluster, |_| false, &side);
    let bridge = options.bridge.map(find).transpose()?;
    match bridge.filter(|bridge| side.contains(bridge)) {
        Some(index) => {
            let number = cluster.members().get(index).map_or(0, |one| one.number);
            let message = format!("server {number} is on one side now, and cannot be the bridge");
            Err(Failure::server(message))
        }
        None => Ok((side, bridge)),
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
