//! Finds free subnets.

use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// Reserved for network benchmarks (RFC 2544), and never routed on the Internet.
pub(super) const RANGE: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(198, 18, 0, 0), 15);
/// The prefix length of a subnet.
const LENGTH: u8 = 24;

/// The subnets of [`RANGE`] that no route leads to, in random order; `routes` is what `ip route`
/// lists. Default routes do not count: they lead everywhere.
pub(super) fn free(routes: &str) -> impl Iterator<Item = Ipv4Net> {
    let taken: Vec<Ipv4Net> = routes.lines().filter_map(destination).collect();
    let random = RandomState::new();
    let mut subnets: Vec<Ipv4Net> = RANGE.subnets(LENGTH).into_iter().flatten().collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_to_which_a_route_leads_is_not_free() {
        let routes = "default via 192.0.2.1 dev eth0 \n\
                      198.18.0.0/16 dev tun0 scope link \n\
                      blackhole 198.19.128.0/17 \n\
                      local 198.19.3.9 dev lo table local proto kernel scope host src 198.19.3.9 \n\
                      198.19.64.0/18 via 192.0.2.7 dev eth0 table 7";
        let mut found: Vec<Ipv4Net> = free(routes).collect();
        found.sort();
        assert_eq!(found.len(), 63);
        assert!(!found.contains(&"198.19.3.0/24".parse().unwrap()));
        assert_eq!(found.last(), Some(&"198.19.63.0/24".parse().unwrap()));
        assert_eq!(free("default via 192.0.2.1 dev eth0").count(), 512);
    }
}
