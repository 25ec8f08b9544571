//! Other hosts, which ssh reaches, and what runs on which of them.

use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Spanned, TextError, shown};

const MAX_HOSTS: usize = 100;
const HOW: &str =
    "write names without spaces and quotes, as ssh takes them: hosts = [\"db1\", \"me@db2\"]";

/// The hosts of a site of the kind `ssh`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hosts {
    /// At least one, each once.
    pub list: Vec<Host>,
    /// ssh's configuration file, an absolute path; `None`: the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_config: Option<PathBuf>,
    /// The directory on each host, an absolute path, below which dyno creates its own.
    pub directory: PathBuf,
    /// The hosts of instances, or of the members of each cluster, in turn; empty: all of the list.
    #[serde(default, skip_serializing_if = "On::is_everywhere")]
    pub on: On,
    /// The addresses of those that a fault may restart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_reboot: Vec<String>,
}

/// Which hosts have which servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// Servers are dealt out in turn.
    #[default]
    Everywhere,
    /// The addresses of the hosts of the instances, each with all of its members.
    Instances(Vec<String>),
    /// The addresses of the hosts of each cluster's members.
    Members(Vec<String>),
}

impl On {
    fn is_everywhere(&self) -> bool {
        *self == Self::Everywhere
    }
}

/// A host, and what differs there from the study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its name for ssh, which [`Host::is_name`] accepts.
    pub address: Spanned<String>,
    /// In place of the site's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// The block device of the volume there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<PathBuf>,
}

impl Host {
    /// Between the hosts of a list.
    pub const BETWEEN: &str = ",";

    /// Whether it is a name, not a number, and safe to pass to ssh, whose configuration may pass it to a shell.
    pub fn is_name(text: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@:".contains(c);
        let is_safe = !text.starts_with('-') && text.chars().all(is_plain);
        (1..=255).contains(&text.len()) && is_safe && text.parse::<f64>().is_err()
    }

    /// Reads a list of hosts: `db1, db2 cpus=2 device=/dev/nvme0n1`.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, TextError> {
        if text.trim().is_empty() {
            return Err(TextError::new("the list of hosts is empty", HOW));
        }
        let hosts: Vec<Self> = text
            .split(Self::BETWEEN)
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        match hosts.len() {
            ..=MAX_HOSTS => Ok(hosts),
            count => Err(TextError::new(
                format!("{count} hosts"),
                format!("a study has at most {MAX_HOSTS}"),
            )),
        }
    }
}

impl FromStr for Host {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut words = text.split_whitespace();
        let address = words.next().unwrap_or_default();
        if !Self::is_name(address) || !words.clone().all(|word| word.contains('=')) {
            let message = format!("`{}` is not a host's name", shown(text.trim()));
            return Err(TextError::new(message, HOW));
        }
        let mut host = Self {
            address: address.to_owned().into(),
            cpus: None,
            device: None,
        };
        for word in words {
            let is_read = match word.split_once('=') {
                Some(("cpus", number)) => {
                    host.cpus = number
                        .parse()
                        .ok()
                        .filter(|cpus| (0.01..=10_000.0).contains(cpus));
                    host.cpus.is_some()
                }
                Some(("device", path)) => {
                    host.device = Some(path.into());
                    path.starts_with('/')
                }
                _ => false,
            };
            if !is_read {
                let message = format!("`{}` does not describe the host {address}", shown(word));
                let help = "a host has an `address`, and may have `cpus`, a number from 0.01 to 10000, and `device`, an absolute path without spaces";
                return Err(TextError::new(message, help));
            }
        }
        Ok(host)
    }
}

impl Hosts {
    /// The host of a member of an instance, by its place in the list. `members`: of each instance.
    ///
    /// Servers are dealt out in turn. Where the first members, which are the primaries at first,
    /// would all be on a part of the hosts, each round begins one host further.
    pub(crate) fn place(&self, instance: u32, member: u32, members: u32) -> usize {
        let (names, index) = match &self.on {
            On::Instances(names) => (names, instance),
            On::Members(names) => (names, member),
            On::Everywhere => {
                let (hosts, members) = (self.list.len().max(1) as u64, u64::from(members.max(1)));
                let (instance, member) = (u64::from(instance), u64::from(member));
                let common = greatest_common_divisor(hosts, members);
                let round = instance / (hosts / common) % common;
                return ((instance * members + member + round) % hosts) as usize;
            }
        };
        let name = names.get(index as usize % names.len().max(1));
        let place = name.and_then(|name| self.find(name));
        place.unwrap_or_default()
    }

    /// The place of a host in the list.
    pub fn find(&self, address: &str) -> Option<usize> {
        self.list
            .iter()
            .position(|host| host.address.value == address)
    }
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => greatest_common_divisor(other, one % other),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hosts(list: &str, on: On) -> Hosts {
        Hosts {
            list: Host::parse_list(list).unwrap(),
            ssh_config: None,
            directory: "/var/tmp".into(),
            on,
            allow_reboot: Vec::new(),
        }
    }

    #[test]
    fn a_host_is_named_without_what_a_shell_could_run() {
        for name in ["db1", "me@db-1.example.org", "10.0.0.7", "fe80::1"] {
            assert!(Host::is_name(name), "{name}");
        }
        for name in ["", "-oProxyCommand=x", "a b", "$(x)", "a;b", "`x`", "1"] {
            assert!(!Host::is_name(name), "{name}");
        }
    }

    #[test]
    fn hosts_are_read_with_what_differs_there() {
        let read = Host::parse_list("db1, me@db2  device=/dev/sdb cpus=1.5").unwrap();
        assert_eq!(read[0], "db1".parse().unwrap());
        assert_eq!(
            (read[1].address.as_str(), read[1].cpus),
            ("me@db2", Some(1.5))
        );
        assert_eq!(read[1].device, Some("/dev/sdb".into()));
        let many = vec!["a"; MAX_HOSTS + 1].join(",");
        let bad = [
            "",
            "db1,",
            "-o",
            "a cpus=0",
            "a cpus=x",
            "a device=sdb",
            "a b",
            "a cpus",
        ];
        for bad in bad.into_iter().chain([many.as_str()]) {
            assert!(Host::parse_list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn servers_are_dealt_out_in_turn_and_primaries_do_not_meet_on_a_host() {
        let place = |list: &str, members: u32, instances: u32| {
            let hosts = hosts(list, On::Everywhere);
            let of = |instance| (0..members).map(move |member| (instance, member));
            let places = (0..instances).flat_map(of);
            let places = places.map(|(instance, member)| hosts.place(instance, member, members));
            places.collect::<Vec<_>>()
        };
        assert_eq!(place("a,b,c", 1, 5), [0, 1, 2, 0, 1]);
        assert_eq!(place("a", 3, 2), [0; 6]);
        assert_eq!(place("a,b,c,d", 3, 2), [0, 1, 2, 3, 0, 1]);
        assert_eq!(place("a,b,c", 3, 3), [0, 1, 2, 1, 2, 0, 2, 0, 1]);
        assert_eq!(place("a,b,c,d", 2, 4), [0, 1, 2, 3, 1, 2, 3, 0]);
    }

    #[test]
    fn servers_are_where_the_study_puts_them() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let members = hosts("a,b,c", On::Members(names(&["c", "a"])));
        let places = (0..3).map(|member| members.place(7, member, 3));
        assert_eq!(places.collect::<Vec<_>>(), [2, 0, 2]);
        let instances = hosts("a,b,c", On::Instances(names(&["b", "b", "c"])));
        let places = (0..4).map(|instance| instances.place(instance, 1, 2));
        assert_eq!(places.collect::<Vec<_>>(), [1, 1, 2, 1]);
    }

    proptest! {
        /// Every host has as many servers as any other, but for one; so have primaries after each
        /// round of all hosts, and members of a cluster meet only where there are too few hosts.
        #[test]
        fn every_host_has_its_share(count in 1_usize..9, members in 1_u32..10, instances in 1_u32..20) {
            let names: Vec<String> = (0..count).map(|number| format!("h{number}")).collect();
            let hosts = hosts(&names.join(","), On::Everywhere);
            let mut first = vec![0_u32; count];
            let mut all = vec![0_u32; count];
            for instance in 0..instances {
                let of = |member| hosts.place(instance, member, members);
                let own: std::collections::BTreeSet<_> = (0..members).map(of).collect();
                prop_assert_eq!(own.len(), count.min(members as usize));
                (0..members).for_each(|member| all[of(member)] += 1);
                first[of(0)] += 1;
            }
            let spread = |counts: &[u32]| counts.iter().max().unwrap() - counts.iter().min().unwrap();
            prop_assert!(spread(&all) <= 2, "{all:?}");
            prop_assert!(spread(&first) <= 1, "{first:?}");
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a-b,@ =./cpusdevi0-9-]{0,40}") {
            if let Ok(hosts) = Host::parse_list(&text) {
                prop_assert!(hosts.iter().all(|host| Host::is_name(&host.address)));
            }
        }
    }
}
