//! A virtual Ethernet switch, and the connection of this host to it.

use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use ipnet::Ipv4Net;

use crate::failure::Failure;
use crate::home::Home;
use crate::home::journal::Kind;
use crate::home::outside::{NAMESPACES, Outside};
use crate::ip::{self, no_network};

/// Reserved for network benchmarks (RFC 2544), and never routed on the Internet.
const RANGE: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(198, 18, 0, 0), 15);
const SUBNET_LENGTH: u8 = 24;
/// Last byte of the host's address. Namespaces are numbered below it.
const HOST: u8 = 254;
/// How many free subnets to try if other processes take them first.
const MAX_TRIES: usize = 20;

/// A virtual Ethernet switch, and this host's connection to it. Dropping the switch removes both.
#[derive(Debug)]
pub struct Switch {
    namespace: Outside,
    subnet: Ipv4Net,
    /// Number of the last namespace.
    last: AtomicU8,
}

impl Switch {
    /// Sets up a switch with a subnet to which no route of this host leads.
    pub fn new(home: &Home) -> Result<Self, Failure> {
        let namespace = Outside::make(home, Kind::Namespace, Path::new(NAMESPACES))?;
        let name = namespace.name();
        ip::run("ip", &format!("-n {name} link add bridge type bridge"))?;
        ip::run("ip", &format!("-n {name} link set bridge up"))?;
        let subnet = connect_host(&name)?;
        ip::run("ip", &format!("-n {name} link set host master bridge up"))?;
        Ok(Self {
            namespace,
            subnet,
            last: AtomicU8::new(0),
        })
    }

    /// Creates a namespace with the next address, connected to the switch.
    pub(super) fn connect(&self, home: &Home) -> Result<(Outside, Ipv4Net), Failure> {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        if number >= HOST {
            let why = format!("a network has at most {} members", HOST - 1);
            return Err(no_network(why, "use fewer instances or members"));
        }
        let address = in_subnet(self.subnet, number);
        let namespace = Outside::make(home, Kind::Namespace, Path::new(NAMESPACES))?;
        let (own, switch) = (namespace.name(), self.namespace.name());
        for command in [
            format!("-n {own} link add eth0 type veth peer name port{number} netns {switch}"),
            format!("-n {own} addr add {address} dev eth0"),
            format!("-n {own} link set eth0 up"),
            format!("-n {own} link set lo up"),
            format!("-n {switch} link set port{number} master bridge up"),
        ] {
            ip::run("ip", &command)?;
        }
        Ok((namespace, address))
    }

    /// The host's address in the network.
    pub(super) fn host(&self) -> Ipv4Addr {
        in_subnet(self.subnet, HOST).addr()
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // Without this, it would disappear with the namespace, but only after a while.
        let _ = ip::run("ip", &format!("link del {}", interface(self.subnet)));
    }
}

/// Connects this host to the switch with an address in a new subnet.
fn connect_host(switch: &str) -> Result<Ipv4Net, Failure> {
    let routes = ip::run("ip", "-4 -o route show table all")?;
    let mut last = no_network(
        format!("routes of this host lead to all of {}", RANGE),
        "remove one of the routes (ip route show table all)",
    );
    for subnet in free_subnets(&routes).take(MAX_TRIES) {
        let name = interface(subnet);
        // Another dyno may have the name, and with it the subnet.
        let added = ip::run(
            "ip",
            &format!("link add {name} type veth peer name host netns {switch}"),
        );
        match added {
            Err(error) if error.to_string().contains("exists") => last = error,
            Err(error) => return Err(error),
            Ok(_) => {
                let address = in_subnet(subnet, HOST);
                ip::run("ip", &format!("addr add {address} dev {name}"))?;
                ip::run("ip", &format!("link set {name} up"))?;
                return Ok(subnet);
            }
        }
    }
    Err(last)
}

/// The subnets of [`RANGE`] that no route leads to, in random order; `routes` is what `ip route`
/// lists. Default routes do not count: they lead everywhere.
pub(super) fn free_subnets(routes: &str) -> impl Iterator<Item = Ipv4Net> {
    let taken: Vec<Ipv4Net> = routes.lines().filter_map(destination).collect();
    let random = RandomState::new();
    let mut subnets: Vec<Ipv4Net> = RANGE.subnets(SUBNET_LENGTH).into_iter().flatten().collect();
    subnets.sort_by_cached_key(|subnet| random.hash_one(subnet));
    let is_taken = move |subnet: &Ipv4Net| taken.iter().any(|route| overlap(route, subnet));
    subnets.into_iter().filter(move |subnet| !is_taken(subnet))
}

/// The destination of a route; `None` for a default route.
fn destination(route: &str) -> Option<Ipv4Net> {
    // Special routes have their type before their destination.
    route.split_whitespace().take(2).find_map(|word| {
        let address = || word.parse::<Ipv4Addr>().map(Ipv4Net::from);
        word.parse().or_else(|_| address()).ok()
    })
}

fn overlap(one: &Ipv4Net, other: &Ipv4Net) -> bool {
    one.contains(other) || other.contains(one)
}

/// The name of the host's interface in a subnet, unique on the host and at most 15 characters long.
fn interface(subnet: Ipv4Net) -> String {
    let [a, b, c, _] = subnet.network().octets();
    format!("dyno-{a}-{b}-{c}")
}

fn in_subnet(subnet: Ipv4Net, number: u8) -> Ipv4Net {
    let [a, b, c, _] = subnet.network().octets();
    // The prefix length comes from another network, so it is valid.
    Ipv4Net::new(Ipv4Addr::new(a, b, c, number), subnet.prefix_len()).unwrap_or(subnet)
}
