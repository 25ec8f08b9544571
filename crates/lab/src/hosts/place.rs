//! Where the nodes of a trial and their data are: on this host, or on others.

use std::collections::BTreeSet;
use std::iter;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use engine::Installed;
use ipnet::Ipv4Net;
use plan::{EngineSpec, SiteKind, Topology};

use super::asks::Ask;
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
        let guest = |_| {
            let host = Arc::new(Host::guest(home, topology, interrupted)?);
            Ok(Spot::on(&host, host.address()))
        };
        return (0..nodes).map(guest).collect();
    }
    if topology.node.site.hosts.is_none() {
        let sites = site::set_up(home, topology, nodes)?;
        let here = |site| Spot { site, far: None };
        return Ok(sites.into_iter().map(here).collect());
    }
    let lacks = connect(home, [topology], connected, interrupted);
    let hosts: Vec<_> = of_nodes(topology, connected)
        .map(|(_, host)| host)
        .collect();
    together(lacks.into_iter().chain(unfit(topology, &hosts)))?;
    let own: Vec<Ipv4Net> = hosts.iter().map(|host| host.address()).collect();
    let spot = |host| Spot::on(host, network(host.address(), &own));
    Ok(hosts.iter().map(spot).collect())
}

/// Does something for each server, numbered from 1: at the same time for those of different hosts.
pub(crate) fn on_each<T: Send>(
    spots: &[Spot],
    work: impl Fn(u32, &Spot) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let is_same = |one: &Spot, other: &Spot| match (one.host(), other.host()) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    };
    let mut groups: Vec<Vec<(u32, &Spot)>> = Vec::new();
    for (number, spot) in (1..).zip(spots) {
        let mut known = groups.iter_mut();
        match known.find(|group| is_same(group[0].1, spot)) {
            Some(group) => group.push((number, spot)),
            None => groups.push(vec![(number, spot)]),
        }
    }
    let work = &work;
    let mut done = thread::scope(|scope| {
        let each = groups.into_iter().map(|group| {
            scope.spawn(move || {
                let mut done = Vec::new();
                for (number, spot) in group {
                    let one = work(number, spot);
                    let has_failed = one.is_err();
                    done.push((number, one));
                    if has_failed {
                        break;
                    }
                }
                done
            })
        });
        let threads: Vec<_> = each.collect();
        let done = threads.into_iter().filter_map(|thread| thread.join().ok());
        done.flatten().collect::<Vec<_>>()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, one)| one).collect()
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
        let keys = (0..topology.nodes()).filter_map(|index| key_of(topology, index));
        keys.collect::<Vec<_>>()
    });
    let tried: BTreeSet<Key> = wanted.filter(|key| !connected.contains_key(key)).collect();
    let tried: Vec<_> = thread::scope(|scope| {
        let threads = tried.into_iter().map(|key| {
            scope.spawn(move || {
                let to = Destination {
                    host: key.0.clone(),
                    ssh_config: key.1.clone(),
                };
                let host = Host::connect(home, &to, &key.2, interrupted);
                (key, host)
            })
        });
        let threads: Vec<_> = threads.collect();
        let tried = threads.into_iter().filter_map(|thread| thread.join().ok());
        tried.collect()
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

/// The nodes of a topology whose hosts are connected, with those.
fn of_nodes<'a>(
    topology: &'a Topology,
    connected: &'a Hosts,
) -> impl Iterator<Item = (u32, Arc<Host>)> + 'a {
    let nodes = (0..topology.nodes()).map(|index| (index, key_of(topology, index)));
    nodes.filter_map(|(index, key)| Some((index, Arc::clone(connected.get(&key?)?))))
}

fn key_of(topology: &Topology, index: u32) -> Option<Key> {
    let planned = topology.node.site.hosts.as_ref()?;
    Some(key(planned, planned.list.get(topology.host_of(index))?))
}

/// What tells one connection from another.
fn key(planned: &plan::Hosts, host: &plan::Host) -> Key {
    let name = host.address.value.clone();
    (name, planned.ssh_config.clone(), planned.directory.clone())
}

/// Two names of one host, which would get the share of two.
fn same_host(hosts: &[Arc<Host>]) -> Option<Failure> {
    let mut known: Vec<&Arc<Host>> = Vec::new();
    for host in hosts {
        let address = |host: &Arc<Host>| host.address().addr();
        let same = known.iter().find(|known| address(known) == address(host));
        match same.filter(|_| !address(host).is_loopback()) {
            Some(same) if !Arc::ptr_eq(same, host) => {
                let why = format!(
                    "it is {}, too: ssh reaches both at {}",
                    same.name,
                    address(host)
                );
                return Some(host.machine.unusable(why, "name each host once"));
            }
            _ => known.push(host),
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
    let Some(planned) = &topology.node.site.hosts else {
        return Ok(());
    };
    let checked = planned.list.iter().enumerate().map(|(place, host)| {
        let servers = (0..topology.nodes()).filter(|index| topology.host_of(*index) == place);
        let servers: Vec<u32> = servers.collect();
        match (servers.first(), connected.get(&key(planned, host))) {
            (Some(first), Some(host)) => {
                let there = topology.node_of(*first);
                host.check_room(&there, servers.len(), topology.nodes(), needs)
            }
            _ => Ok(()),
        }
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
    let (mut lacks, mut checked) = (Vec::new(), Vec::new());
    for (index, host) in of_nodes(topology, connected) {
        if checked.iter().any(|known| Arc::ptr_eq(known, &host)) {
            continue;
        }
        let there = Topology {
            node: topology.node_of(index),
            ..topology.clone()
        };
        lacks.extend(host.check(spec, installed, &there, interrupted).err());
        checked.push(host);
    }
    lacks.extend(unfit(topology, &checked));
    lacks
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
fn unfit(topology: &Topology, hosts: &[Arc<Host>]) -> Option<Failure> {
    let apart = (topology.members() > 1).then(|| cannot_reach(hosts));
    same_host(hosts).or(apart.flatten())
}

/// The members of a cluster cannot use the loopback address of one of them.
fn cannot_reach(hosts: &[Arc<Host>]) -> Option<Failure> {
    let is_local = |host: &&Arc<Host>| host.address().addr().is_loopback();
    let local = hosts.iter().find(is_local)?;
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
    let bits = |net: &Ipv4Net| u32::from(net.addr());
    let common = |other: &Ipv4Net| {
        let differing = (bits(&own) ^ bits(other)).leading_zeros();
        u8::try_from(differing)
            .unwrap_or_default()
            .min(other.prefix_len())
    };
    let is_far = |net: &&Ipv4Net| !net.addr().is_loopback();
    let prefix = all.iter().filter(is_far).map(common).min();
    let prefix = prefix.filter(|_| !own.addr().is_loopback());
    let prefix = prefix.unwrap_or(own.prefix_len()).min(own.prefix_len());
    Ipv4Net::new(own.addr(), prefix).unwrap_or(own)
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
