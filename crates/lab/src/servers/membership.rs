//! What makes a server a member of a cluster.

use std::net::Ipv4Addr;
use std::sync::Arc;

use engine::ServerFile;
use engine::replication::{Formation, MemberAddress, Replication};

use crate::error::LabError;
use crate::servers::password::Password;
use crate::servers::port;

/// Hexadecimal digits of a cluster's id.
const ID_CHARS: usize = 32;

/// One member of a cluster.
#[derive(Debug, Clone)]
pub struct Membership {
    pub(super) replication: &'static dyn Replication,
    pub(super) formation: Arc<Formation>,
    /// Its place among the members, from 1.
    pub(super) number: u32,
    /// All members have the account of the load, with one password.
    pub(super) password: Password,
}

impl Membership {
    /// The memberships of a new cluster, one for each address and port; a free port for those that
    /// the study does not set.
    ///
    /// # Errors
    /// When the operating system has no free port, or no random bytes.
    pub(crate) fn of_cluster(
        replication: &'static dyn Replication,
        places: &[(Ipv4Addr, Option<u16>)],
    ) -> Result<Vec<Self>, LabError> {
        let members = places.iter().map(|(ip, port)| {
            let group_ports = (0..replication.group_ports()).map(|_| port::free());
            Ok(MemberAddress {
                ip: (*ip).into(),
                port: port.map_or_else(port::free, Ok)?,
                group_ports: group_ports.collect::<Result<_, LabError>>()?,
            })
        });
        let formation = Arc::new(Formation {
            id: Password::random()?.text().chars().take(ID_CHARS).collect(),
            members: members.collect::<Result<_, LabError>>()?,
            password: Password::for_replication()?.text().to_owned(),
        });
        let password = Password::random()?;
        let member = |number| Self {
            replication,
            formation: Arc::clone(&formation),
            number,
            password: password.clone(),
        };
        Ok((1..=formation.count()).map(member).collect())
    }

    pub(super) fn port(&self) -> Option<u16> {
        let member = self.formation.member(self.number)?;
        Some(member.port)
    }

    pub(super) fn settings(&self) -> Vec<(String, String)> {
        self.replication.settings(&self.formation, self.number)
    }

    pub(super) fn data_files(&self) -> Vec<ServerFile> {
        self.replication.data_files(&self.formation, self.number)
    }
}
