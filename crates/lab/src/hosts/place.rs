//! Where the nodes of a trial and their data are: on this host, or on others.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, available_parallelism};

use engine::Installed;
use ipnet::Ipv4Net;
use plan::{EngineSpec, SiteKind, Topology};

use super::asks::{Ask, Source};
use super::site::FarSite;
use super::{Host, Hosts, Key};
use crate::failure::Failure;
use crate::home::Home;
use crate::process::NEVER;
use crate::servers::DataDir;
use crate::setup::needs::Needs;
use crate::site::{self, Destination, Site};

/// Where a node runs.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    pub(crate) site: Arc<dyn Site>,
    /// `None` unless the site is a host with dyno's program.
    pub(crate) far: Option<Arc<FarSite>>,
}

impl Spot {
    fn on(host: &Arc<Host>, address: Ipv4Net) -> Self {
        let far = Arc::new(FarSite::new(host, address));
        Self {
            site: Arc::clone(&far) as _,
            far: Some(far),
        }
    }

    pub(crate) fn host(&self) -> Option<&Arc<Host>> {
        self.far.as_ref().map(|far| far.host())
    }
}

/// The data of a node.
#[derive(Debug)]
pub(crate) enum Data {
    Here(DataDir),
    There(FarData),
}

/// Data on another host. Dropping it removes it, with the server that uses it.
#[derive(Debug)]
pub(crate) struct FarData {
    pub(super) host: Arc<Host>,
    pub(super) id: u64,
}

impl FarData {
    pub(crate) fn source(&self) -> Source {
        Source::Received(self.id)
    }

    pub(crate) fn settle(&self, cold: bool, interrupted: &AtomicBool) -> Result<(), Failure> {
        let id = self.id;
        self.host.prepare(&Ask::Settle { id, cold }, interrupted)
    }
}

impl Drop for FarData {
    fn drop(&mut self) {
        // Without a connection, the host removes it by itself.
        let _ = self.host.ask::<()>(&Ask::Forget(self.id), &NEVER);
    }
}

/// Sets up where each node runs; connects to hosts that are not connected yet.
pub(crate) fn spots(
    home: &Home,
    topology: &Topology,
    connected: &mut Hosts,
    interrupted: &AtomicBool,
) -> Result<Vec<Spot>, Failure> {
    let nodes = topology.nodes();
    if topology.node.site.kind.value == SiteKind::Vm {
        let guest = |number| {
            let host = Arc::new(Host::guest(home, number, topology, interrupted)?);
            Ok(Spot::on(&host, host.address()))
        };
        let numbers: Vec<u32> = (1..=nodes).collect();
        // More guests than CPUs would only delay each other.
        let cpus = available_parallelism().map_or(1, usize::from);
        let some_at_once = numbers.chunks(cpus);
        let guests = some_at_once.flat_map(|some| at_once(some.iter().copied(), guest));
        return guests.collect();
    }
    if topology.node.site.hosts.is_none() {
        let sites = site::set_up(home, topology, nodes)?;
        let here = |site| Spot { site, far: None };
        return Ok(sites.into_iter().map(here).collect());
    }
    let lacks = connect(home, [topology], connected, interrupted);
    let hosts = by_host(topology, connected);
    together(lacks.into_iter().chain(unfit(topology, &hosts)))?;
    let all: Vec<Ipv4Net> = hosts.iter().map(|(host, _)| host.address()).collect();
    let spots = hosts.iter().flat_map(|(host, nodes)| {
        let address = network(host.address(), &all);
        nodes
            .iter()
            .map(move |node| (node, Spot::on(host, address)))
    });
    let spots: BTreeMap<_, _> = spots.collect();
    Ok(spots.into_values().collect())
}

/// Does `work` for all items at the same time; returns the results in their order.
fn at_once<T: Send, D: Send>(
    all: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> D + Sync,
) -> Vec<D> {
    let work = &work;
    thread::scope(|scope| {
        let threads = all.into_iter().map(|one| scope.spawn(move || work(one)));
        let threads: Vec<_> = threads.collect();
        let done = threads.into_iter().filter_map(|thread| thread.join().ok());
        done.collect()
    })
}

/// Does something for each server, numbered from 1: at the same time for those of different hosts.
pub(crate) fn on_each<T: Send>(
    spots: &[Spot],
    work: impl Fn(u32, &Spot) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let mut groups: BTreeMap<Option<&str>, Vec<(u32, &Spot)>> = BTreeMap::new();
    for (number, spot) in (1..).zip(spots) {
        let name = spot.host().map(|host| host.name());
        groups.entry(name).or_default().push((number, spot));
    }
    let done = at_once(groups.into_values(), |group| {
        let each = group.into_iter();
        let each = each.map(|(number, spot)| Ok((number, work(number, spot)?)));
        each.collect::<Result<Vec<_>, Failure>>()
    });
    let done = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    let done: BTreeMap<u32, T> = done.into_iter().flatten().collect();
    Ok(done.into_values().collect())
}

/// Connects to the hosts of topologies at the same time; returns why some cannot be used.
pub(crate) fn connect<'a>(
    home: &Home,
    topologies: impl IntoIterator<Item = &'a Topology>,
    connected: &mut Hosts,
    interrupted: &AtomicBool,
) -> Vec<Failure> {
    connected.retain(|_, host| !host.link().is_lost());
    let wanted = topologies.into_iter();
    let wanted = wanted.flat_map(|topology| {
        (0..topology.nodes()).filter_map(move |index| key_of(topology, index))
    });
    let wanted: BTreeSet<Key> = wanted.filter(|key| !connected.contains_key(key)).collect();
    let tried = at_once(wanted, |key| {
        let host = Host::connect(home, &key.0, &key.1, interrupted);
        (key, host)
    });
    let mut lacks = Vec::new();
    for (key, host) in tried {
        match host {
            Ok(host) => drop(connected.insert(key, Arc::new(host))),
            Err(failure) => lacks.push(failure),
        }
    }
    lacks
}

/// A connected host of a topology, with the indexes of its nodes.
type WithNodes<'a> = (&'a Arc<Host>, Vec<u32>);

/// The connected hosts that a topology uses.
fn by_host<'a>(topology: &Topology, connected: &'a Hosts) -> Vec<WithNodes<'a>> {
    let nodes_on = |host: &Key| {
        let nodes =
            (0..topology.nodes()).filter(|node| key_of(topology, *node).as_ref() == Some(host));
        nodes.collect::<Vec<u32>>()
    };
    let hosts = connected.iter().map(|(key, host)| (host, nodes_on(key)));
    hosts.filter(|(_, nodes)| !nodes.is_empty()).collect()
}

fn key_of(topology: &Topology, index: u32) -> Option<Key> {
    let planned = topology.node.site.hosts.as_ref()?;
    let host = planned.list.get(topology.host_of(index))?;
    let to = Destination {
        host: host.address.value.clone(),
        ssh_config: planned.ssh_config.clone(),
    };
    Some((to, planned.directory.clone()))
}

/// Two names of one host, which would get the share of two.
fn same_host(hosts: &[WithNodes<'_>]) -> Option<Failure> {
    let mut known: BTreeMap<Ipv4Addr, &str> = BTreeMap::new();
    for (host, _) in hosts {
        let address = host.address().addr();
        if let Some(same) = known.insert(address, host.name())
            && !address.is_loopback()
        {
            let why = format!("it is {same}, too: ssh reaches both at {address}");
            return Some(host.machine.unusable(why, "name each host once"));
        }
    }
    None
}

/// Checks that each connected host has the disk space and the memory that its servers need.
pub(crate) fn check_room(
    topology: &Topology,
    connected: &Hosts,
    needs: &Needs,
) -> Result<(), Failure> {
    let checked = by_host(topology, connected)
        .into_iter()
        .map(|(host, nodes)| {
            let node = topology.node_of(nodes[0]);
            host.check_room(&node, nodes.len(), topology.nodes(), needs)
        });
    together(checked.filter_map(Result::err))
}

/// Checks each connected host with the node that it gets; returns why some cannot have theirs.
pub(crate) fn check_each(
    topology: &Topology,
    connected: &Hosts,
    spec: &EngineSpec,
    installed: &Installed,
    interrupted: &AtomicBool,
) -> Vec<Failure> {
    let hosts = by_host(topology, connected);
    let lacks = hosts.iter().filter_map(|(host, nodes)| {
        let there = Topology {
            node: topology.node_of(nodes[0]),
            ..topology.clone()
        };
        host.check(spec, installed, &there, interrupted).err()
    });
    lacks.chain(unfit(topology, &hosts)).collect()
}

/// Fails with one failure that tells of all, if there are any.
pub(crate) fn together(failures: impl IntoIterator<Item = Failure>) -> Result<(), Failure> {
    let mut said = BTreeSet::new();
    let failures = failures.into_iter();
    let failures = failures.filter(|one| said.insert(one.message.clone()));
    let mut failures: Vec<Failure> = failures.collect();
    // What the user has stopped lacks nothing.
    if let Some(index) = failures.iter().position(Failure::is_interrupted) {
        return Err(failures.swap_remove(index));
    }
    let all = failures.into_iter().reduce(|all, one| {
        let remedy = match (all.remedy.clone(), one.remedy) {
            (Some(all), Some(one)) => {
                let new = one.split("; ").filter(|part| !all.contains(part));
                Some(iter::once(&*all).chain(new).collect::<Vec<_>>().join("; "))
            }
            (all, one) => all.or(one),
        };
        Failure {
            message: format!("{}\n{}", all.message, one.message),
            remedy,
            ..all
        }
    });
    all.map_or(Ok(()), Err)
}

/// Why hosts cannot be used together.
fn unfit(topology: &Topology, hosts: &[WithNodes<'_>]) -> Option<Failure> {
    let apart = (topology.members() > 1).then(|| cannot_reach(hosts));
    same_host(hosts).or(apart.flatten())
}

/// The members of a cluster cannot use the loopback address of one of them.
fn cannot_reach(hosts: &[WithNodes<'_>]) -> Option<Failure> {
    let is_local = |(host, _): &&WithNodes<'_>| host.address().addr().is_loopback();
    let (local, _) = hosts.iter().find(is_local)?;
    (!hosts.iter().all(|host| is_local(&host))).then(|| {
        local.machine.unusable(
            "ssh reaches it at a loopback address, which members on other hosts cannot reach"
                .to_owned(),
            "use an address of it that all hosts can reach",
        )
    })
}

/// The address of a host, in the smallest network that also contains dyno's host and the others.
fn network(own: Ipv4Net, all: &[Ipv4Net]) -> Ipv4Net {
    let far = all.iter().filter(|net| !net.addr().is_loopback());
    match own.addr().is_loopback() {
        true => own,
        false => far.fold(own, site::widened),
    }
}

/// The address of this host as another one sees it; where services of a cluster listen.
pub(crate) fn own_address(spot: &Spot) -> Option<Ipv4Addr> {
    Some(spot.host()?.machine.reached_from())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_of_a_host_has_all_others() {
        let net = |text: &str| text.parse::<Ipv4Net>().unwrap();
        let all = [net("10.0.0.5/30"), net("10.0.0.17/28"), net("10.0.1.1/32")];
        assert_eq!(network(all[0], &all), net("10.0.0.5/23"));
        assert_eq!(network(all[1], &all[..2]), net("10.0.0.17/27"));
        let local = net("127.0.0.1/32");
        assert_eq!(network(local, &[local, local]), local);
    }

    #[test]
    fn what_all_hosts_lack_is_said_at_once() {
        let lack = |text: &str| Failure::server(text).remedy("install it");
        let all = together(vec![lack("a"), lack("b")]).unwrap_err();
        assert_eq!(
            (&*all.message, all.remedy.as_deref()),
            ("a\nb", Some("install it"))
        );
        let other = together(vec![Failure::server("c"), lack("d"), Failure::server("e")]);
        assert_eq!(other.unwrap_err().remedy.as_deref(), Some("install it"));
        let [log_in, log_in_too] =
            ["use a key; ssh a", "use a key; ssh b"].map(|remedy| lack(remedy).remedy(remedy));
        let keys = together(vec![log_in, log_in_too]).unwrap_err();
        assert_eq!(keys.remedy.as_deref(), Some("use a key; ssh a; ssh b"));
        let again = together(vec![lack("a"), lack("a")]).unwrap_err();
        assert_eq!(again.message, "a");
        let stopped = together(vec![lack("a"), Failure::interrupted("b")]);
        assert_eq!(stopped.unwrap_err().message, "b");
        assert!(together(Vec::new()).is_ok());
    }
}
