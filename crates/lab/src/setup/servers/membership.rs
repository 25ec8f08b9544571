//! What makes a server a member of a cluster.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use engine::ServerFile;
use engine::certificate::Certificate;
use engine::manager::{ManagedServer, Manager};
use engine::replication::{ClusterLayout, MemberAddress, Replication};

use crate::failure::Failure;
use crate::port;
use crate::servers::DataDir;
use crate::servers::password::Password;
use crate::servers::running::ProcessId;

/// Hexadecimal digits of a cluster's ID.
const ID_CHARS: usize = 32;

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
    /// The memberships of a new cluster, one for each address and port; a free port where the study
    /// sets none. Shared services listen on `shared`.
    pub(crate) fn of_cluster(
        replication: &'static dyn Replication,
        places: &[(Ipv4Addr, Option<u16>)],
        shared: Ipv4Addr,
        ttl: Duration,
    ) -> Result<Vec<Self>, Failure> {
        let traits = replication.traits();
        let group_ports = traits.group_ports;
        let count = places.len() * (1 + group_ports) + traits.service_ports;
        let mut free = port::several(count)?.into_iter();
        let members = places.iter().map(|(ip, port)| {
            let own = free.next();
            MemberAddress {
                ip: (*ip).into(),
                port: port.or(own).unwrap_or_default(),
                group_ports: free.by_ref().take(group_ports).collect(),
            }
        });
        let members: Vec<_> = members.collect();
        let ips = members.iter().map(|member: &MemberAddress| member.ip);
        let certificate = Certificate::generate(ips.chain([shared.into()]))?;
        let services = free.map(|port| SocketAddr::from((shared, port)));
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

    pub(super) fn port(&self) -> Option<u16> {
        let member = self.layout.member(self.number)?;
        Some(member.port)
    }

    pub(super) fn settings(&self) -> Vec<(String, String)> {
        self.replication.settings(&self.layout, self.number)
    }

    /// The process of the server that uses `data`.
    pub(super) fn process_of(&self, data: &DataDir) -> ProcessId {
        match self.replication.traits().manager {
            Some(manager) => ProcessId::managed(data, manager.process_file()),
            None => ProcessId::default(),
        }
    }

    /// Whether the cluster manager makes this member the first primary.
    pub(super) fn is_promoted(&self) -> bool {
        self.number == 1 && self.replication.traits().cluster.has_manager
    }

    /// `None` if the laboratory starts the server itself.
    pub(super) fn manager(&self, server: &ManagedServer<'_>) -> Result<Option<Manager>, Failure> {
        let manager = self.replication.traits().manager;
        let manager = manager.map(|manager| manager.manager(&self.layout, self.number, server));
        manager.transpose()
    }

    pub(super) fn data_files(&self) -> Vec<ServerFile> {
        self.replication.data_files(&self.layout, self.number)
    }
}
