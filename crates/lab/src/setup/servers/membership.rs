//! What makes a server a member of a cluster, and the passwords of private servers.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::Server;
use engine::certificate::Certificate;
use engine::replication::{ClusterLayout, MemberAddress, Replication};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::hosts::SentMembership;
use crate::port;

/// Hexadecimal digits of a cluster's ID.
const ID_CHARS: usize = 32;
/// The operating system's source of random bytes.
const RANDOM: &str = "/dev/urandom";
/// 192 bits cannot be guessed.
const RANDOM_BYTES: usize = 24;
const MAX_REPLICATION_CHARS: usize = 32;
/// Appended to satisfy password validation plugins, which require a symbol and a capital letter.
const ALL_CLASSES: &str = "-A1";

/// One member of a cluster.
#[derive(Debug, Clone)]
pub struct Membership {
    pub(super) replication: &'static dyn Replication,
    pub(super) layout: Arc<ClusterLayout>,
    /// The member's number in the cluster, counted from 1.
    pub(super) number: u32,
    /// All members share the load's account and its password.
    pub(super) password: Password,
}

impl Membership {
    /// Number of ports that a member needs.
    pub(crate) fn ports(replication: &'static dyn Replication) -> usize {
        1 + replication.traits().group_ports
    }

    /// The memberships of a new cluster, one for each place. Shared services listen on `shared`.
    pub(crate) fn of_cluster(
        replication: &'static dyn Replication,
        places: Vec<MemberPlace>,
        shared: Ipv4Addr,
        ttl: Duration,
    ) -> Result<Vec<Self>, Failure> {
        let traits = replication.traits();
        let members = places.into_iter().map(|place| {
            let mut free = place.free.into_iter();
            let own = free.next();
            MemberAddress {
                ip: place.ip.into(),
                port: place.port.or(own).unwrap_or_default(),
                group_ports: free.collect(),
            }
        });
        let members: Vec<_> = members.collect();
        let ips = members.iter().map(|member: &MemberAddress| member.ip);
        let certificate = Certificate::generate(ips.chain([shared.into()]))?;
        let services = port::several(traits.service_ports, shared)?.into_iter();
        let services = services.map(|port| SocketAddr::from((shared, port)));
        let layout = Arc::new(ClusterLayout {
            id: Password::random()?.text().chars().take(ID_CHARS).collect(),
            members,
            services: services.collect(),
            certificate,
            password: Password::for_replication()?.text().to_owned(),
            ttl,
        });
        let password = Password::random()?;
        let member = |number| Self {
            replication,
            layout: Arc::clone(&layout),
            number,
            password: password.clone(),
        };
        Ok((1..=layout.count()).map(member).collect())
    }

    pub(crate) fn replication(&self) -> &'static dyn Replication {
        self.replication
    }

    /// What another host needs to know of it.
    pub(crate) fn to_send(&self) -> SentMembership {
        SentMembership {
            kind: self.replication.traits().cluster.name.to_owned(),
            layout: (*self.layout).clone(),
            number: self.number,
            password: self.password.clone(),
        }
    }

    /// From another host.
    pub(crate) fn of(sent: SentMembership, engine: &dyn Server) -> Result<Self, Failure> {
        let is_member = (1..=sent.layout.count()).contains(&sent.number);
        let replication = engine.replicates_as(&sent.kind).filter(|_| is_member);
        let unknown = || Failure::internal(format!("unknown kind of cluster: {}", sent.kind));
        Ok(Self {
            replication: replication.ok_or_else(unknown)?,
            layout: Arc::new(sent.layout),
            number: sent.number,
            password: sent.password,
        })
    }
}

/// Where a member listens.
#[derive(Debug)]
pub(crate) struct MemberPlace {
    pub(crate) ip: Ipv4Addr,
    /// The study's port; `None` for a free one.
    pub(crate) port: Option<u16>,
    /// Free ports there, as many as [`Membership::ports`].
    pub(crate) free: Vec<u16>,
}

/// The password of a private server's only account: random, for one run; never printed.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Password(String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(***)")
    }
}

impl Password {
    pub(super) fn random() -> Result<Self, Failure> {
        let mut bytes = [0; RANDOM_BYTES];
        File::open(RANDOM)
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(Failure::at("read", Path::new(RANDOM)))?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(format!("{digits}{ALL_CLASSES}")))
    }

    /// 32 characters, the maximum that some engines accept for replication.
    pub(super) fn for_replication() -> Result<Self, Failure> {
        let Self(long) = Self::random()?;
        let shorter = long.len() - MAX_REPLICATION_CHARS;
        Ok(Self(long.chars().skip(shorter).collect()))
    }

    pub(crate) fn known(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_new_each_time_and_not_shown() {
        let (one, other) = (Password::random().unwrap(), Password::random().unwrap());
        assert_ne!(one.text(), other.text());
        assert!(!format!("{one:?}").contains(one.text()));
    }
}
