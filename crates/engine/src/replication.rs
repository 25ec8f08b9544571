//! How servers replicate: an optional capability of an engine.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

pub use measure::recovery::Role;
use plan::ClusterTraits;

use crate::certificate::Certificate;
use crate::failure::Failure;
use crate::launch::{Invocation, Login, ServerFile};
use crate::manager::{ManagedServer, Manager, Service};
use crate::remote::Rows;

/// Names and values.
pub type OwnedSettings = Vec<(String, String)>;

/// What is the same for all clusters of a kind, and what they can do besides replicating.
#[derive(Debug, Clone, Copy)]
pub struct ReplicationTraits {
    pub cluster: ClusterTraits,
    /// Whether every member accepts writes.
    pub has_many_primaries: bool,
    /// Number of ports of a member besides the one for clients.
    pub group_ports: usize,
    /// Number of ports that the services of a cluster need.
    pub service_ports: usize,
    /// The query that [`Replication::view`] parses, for the load's account.
    pub view_query: &'static str,
    /// Texts in a member's log about refused logins or refused attempts to join.
    pub refusals: &'static [&'static str],
    /// The arguments with which the server's program prints how far a member's data goes and
    /// exits, before the member restarts. `None` if the server does not need that.
    pub recovery: Option<&'static [&'static str]>,
    /// `None` if the members cannot lose a quorum for good.
    pub bootstrap: Option<&'static dyn Bootstrap>,
    /// `None` if the members elect a new primary themselves, or need none.
    pub failover: Option<&'static dyn Failover>,
    /// `None` if a switchover takes a [`Failover`].
    pub switchover: Option<&'static dyn Switchover>,
    /// `None` if the laboratory starts the servers.
    pub manager: Option<&'static dyn ClusterManager>,
}

impl ReplicationTraits {
    /// A kind of cluster without optional capabilities.
    pub(crate) const fn new(
        cluster: ClusterTraits,
        view_query: &'static str,
        refusals: &'static [&'static str],
    ) -> Self {
        Self {
            cluster,
            has_many_primaries: false,
            group_ports: 0,
            service_ports: 0,
            view_query,
            refusals,
            recovery: None,
            bootstrap: None,
            failover: None,
            switchover: None,
            manager: None,
        }
    }
}

/// A way in which servers of one engine form a cluster.
///
/// All members start from copies of the same prepared data. The laboratory starts the first one,
/// which becomes the primary, then the others, and makes each of them join when it accepts
/// connections.
pub trait Replication: fmt::Debug + Send + Sync {
    fn traits(&'static self) -> ReplicationTraits;

    /// The settings that make a server member `number`, counted from 1.
    fn settings(&self, cluster: &ClusterLayout, number: u32) -> OwnedSettings;

    /// Files in the data directory that make prepared data this member's.
    fn data_files(&self, cluster: &ClusterLayout, number: u32) -> Vec<ServerFile> {
        let _ = number;
        cluster.certificate.files().into()
    }

    /// Settings of a restart, which replace those of the same names in [`Replication::settings`].
    /// `printed` is the output of [`ReplicationTraits::recovery`], empty without one. With
    /// `bootstraps`, the member bootstraps its group.
    fn restart_settings(
        &self,
        cluster: &ClusterLayout,
        printed: &str,
        bootstraps: bool,
    ) -> OwnedSettings {
        let _ = (cluster, printed, bootstraps);
        Vec::new()
    }

    /// Makes a member that accepts connections join.
    fn join(&self, member: &Member<'_>) -> Result<(), Failure>;

    /// Makes a restarted member join again.
    fn rejoin(&self, member: &Member<'_>) -> Result<(), Failure> {
        let _ = member;
        Ok(())
    }

    /// Makes a member leave before it is shut down, if its server does not do so reliably.
    fn leave(&self, member: &Member<'_>) -> Result<(), Failure> {
        let _ = member;
        Ok(())
    }

    /// Steps on the primary once the other members replicate: when the cluster has formed, and when
    /// a member has returned.
    fn complete(&self, member: &Member<'_>) -> Result<(), Failure> {
        let _ = member;
        Ok(())
    }

    /// A member's view of its cluster, from the answer to [`ReplicationTraits::view_query`].
    fn view(&self, rows: &Rows) -> View;

    /// A member's role, and whether it replicates.
    fn state(&self, member: &Member<'_>) -> Result<Role, Failure>;

    /// Members and sessions that this member sees and that are not dyno's, for example `a member at
    /// 127.0.0.1:4567`.
    fn strangers(&self, member: &Member<'_>) -> Result<Vec<String>, Failure>;
}

impl dyn Replication {
    pub fn elects(&'static self) -> bool {
        self.traits().cluster.elects
    }

    pub fn has_many_primaries(&'static self) -> bool {
        self.traits().has_many_primaries
    }

    /// The failure tells the user that dyno does not choose the primary of such a cluster.
    pub fn failover(&'static self) -> Result<&'static dyn Failover, Failure> {
        let traits = self.traits();
        traits.failover.ok_or_else(|| {
            let kind = traits.cluster.name;
            Failure::usage(format!(
                "cannot promote a member of a cluster of kind {kind}"
            ))
        })
    }
}

/// How dyno makes another member the primary.
pub trait Failover: fmt::Debug + Send + Sync {
    /// How much of what the primary wrote a member has, applied or not; for the primary, how much
    /// it wrote. Comparable only among the members of one cluster.
    fn received(&self, member: &Member<'_>) -> Result<u64, Failure>;

    /// Makes a member the primary because the old one has been lost.
    fn promote(&self, member: &Member<'_>) -> Result<(), Failure>;

    /// Makes the primary refuse writes from now on; false if only shutting it down does.
    fn demote(&self, member: &Member<'_>) -> Result<bool, Failure> {
        let _ = member;
        Ok(false)
    }

    /// Makes a member replicate from the member `primary`.
    fn follow(&self, member: &Member<'_>, primary: u32) -> Result<(), Failure>;

    /// How an empty data directory becomes a copy of the primary's, ready to replicate, because the
    /// data of a former primary may have diverged. `None` if it replicates anyway.
    fn copy(
        &self,
        cluster: &ClusterLayout,
        number: u32,
        primary: u32,
        program: &Path,
        data: &Path,
    ) -> Option<Copying> {
        let _ = (cluster, number, primary, program, data);
        None
    }
}

/// How the members themselves replace their primary on request.
pub trait Switchover: fmt::Debug + Send + Sync {
    /// Makes member `to` the primary in place of this one, as an administrator does before
    /// maintenance.
    fn switch_over(&self, member: &Member<'_>, to: u32) -> Result<(), Failure>;

    /// The only member to which this one, the primary, would switch over; `None` if any replica
    /// will do.
    fn successor(&self, member: &Member<'_>) -> Result<Option<u32>, Failure> {
        let _ = member;
        Ok(None)
    }
}

/// How members that have lost their quorum become a group again: an operator chooses the one with
/// the most data ([`Bootstrap::received`]), which bootstraps the group, and the other members join
/// it.
pub trait Bootstrap: fmt::Debug + Send + Sync {
    /// How much of what its group agreed on a running member has.
    fn received(&self, member: &Member<'_>) -> Result<u64, Failure>;

    /// What [`Bootstrap::received`] would return if the member ran, from the output of
    /// [`ReplicationTraits::recovery`].
    fn recovered(&self, printed: &str) -> u64 {
        let _ = printed;
        0
    }

    /// Size of the group that a running member belongs to, if that accepts commits; includes lost
    /// members that it has not noticed yet. `None` if there is no such group.
    fn group_size(&self, member: &Member<'_>) -> Result<Option<u32>, Failure>;

    /// The files in the data directory that let a member start the group with its own start.
    fn data_files(&self, cluster: &ClusterLayout) -> Vec<ServerFile> {
        let _ = cluster;
        Vec::new()
    }

    /// Makes a running member bootstrap the group, by itself.
    fn begin(&self, member: &Member<'_>) -> Result<(), Failure>;
}

/// Cluster managers that start the servers, and the services that they share.
pub trait ClusterManager: fmt::Debug + Send + Sync {
    /// The file in a member's data directory that begins with the server's process ID.
    fn process_file(&self) -> &'static str;

    /// The services that members share. Their files are in `dir`; they may write in `own`.
    fn services(
        &self,
        cluster: &ClusterLayout,
        dir: &Path,
        own: &Path,
    ) -> Result<Vec<Service>, Failure>;

    /// The cluster manager of member `number`.
    fn manager(
        &self,
        cluster: &ClusterLayout,
        number: u32,
        server: &ManagedServer<'_>,
    ) -> Result<Manager, Failure>;
}

/// A program that copies another member's data.
pub struct Copying {
    pub program: Invocation,
    /// Name and value of the environment variable for the password.
    pub password: (&'static str, String),
    /// A file that the program needs, and the environment variable for its path.
    pub authority: (&'static str, ServerFile),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The member's own role.
    pub state: Role,
    /// What the member sees of the others; any change of this text is a change of its view.
    pub others: String,
}

/// A member of a cluster whose server is running.
pub struct Member<'a> {
    pub cluster: &'a ClusterLayout,
    pub number: u32,
    /// The account that administers the member.
    pub login: Login<'a>,
}

impl Member<'_> {
    /// The failure of a member that refuses to join, to become the primary, or to follow one,
    /// without the password that it was sent.
    pub(crate) fn refused(&self, error: &client::Error) -> Failure {
        // A server's text may contain what the server was sent.
        let words = error.to_string().replace(&self.cluster.password, "***");
        let server = self.login.server;
        Failure::server(format!(
            "{server} cannot take its role in its cluster: {words}"
        ))
        .perhaps(error.remedy())
    }
}

/// What the members of a cluster know about each other.
#[derive(Clone)]
pub struct ClusterLayout {
    /// 32 hexadecimal digits that are unique to the cluster.
    pub id: String,
    /// Addresses of the members, in their order.
    pub members: Vec<MemberAddress>,
    /// Addresses of the services, as many as [`ReplicationTraits::service_ports`].
    pub services: Vec<SocketAddr>,
    /// How members and services recognize each other.
    pub certificate: Certificate,
    /// The replication account's password for this run.
    pub password: String,
    /// How long a cluster manager waits for a primary that does not answer.
    pub ttl: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberAddress {
    /// For clients and for other members.
    pub ip: IpAddr,
    pub port: u16,
    /// For other members, as many as [`ReplicationTraits::group_ports`].
    pub group_ports: Vec<u16>,
}

impl fmt::Debug for ClusterLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterLayout")
            .field("id", &self.id)
            .field("members", &self.members)
            .field("services", &self.services)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

impl ClusterLayout {
    /// Number of members, at least 1.
    pub fn count(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    /// `number` counts from 1.
    pub fn member(&self, number: u32) -> Option<&MemberAddress> {
        self.members
            .get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// The address for clients.
    pub fn client_address(&self, number: u32) -> Option<SocketAddr> {
        let member = self.member(number)?;
        Some(SocketAddr::new(member.ip, member.port))
    }

    /// An address for other members; `port` counts the member's group ports from 0.
    pub fn group_address(&self, number: u32, port: usize) -> Option<SocketAddr> {
        let member = self.member(number)?;
        Some(SocketAddr::new(member.ip, *member.group_ports.get(port)?))
    }

    /// The first group address of each member.
    pub fn group_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        (1..=self.count()).filter_map(|number| self.group_address(number, 0))
    }

    /// Reports those of these client addresses that belong to no member.
    pub(crate) fn strangers<'a>(
        &self,
        addresses: impl Iterator<Item = &'a str>,
    ) -> impl Iterator<Item = String> {
        let is_member = |address: &&str| {
            let mut members = (1..=self.count()).filter_map(|number| self.client_address(number));
            members.any(|member| member.to_string() == *address)
        };
        let others = addresses.filter(move |address| !is_member(address));
        others.map(|address| format!("a member at {address:?}"))
    }

    /// The members that follow the first one.
    pub fn followers(&self) -> impl Iterator<Item = u32> + use<> {
        2..=self.count()
    }
}

/// An address in a setting; empty if the cluster has no such member.
pub(crate) fn shown(address: Option<SocketAddr>) -> String {
    address.map_or_else(String::new, |address| address.to_string())
}

/// Settings with owned names and values.
pub(crate) fn owned<N: ToString, V: ToString>(
    settings: impl IntoIterator<Item = (N, V)>,
) -> OwnedSettings {
    let settings = settings.into_iter();
    settings
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

/// The name of member `number` among the other members.
pub(crate) fn member_name(number: u32) -> String {
    format!("dyno{number}")
}

/// A cell of a row as text; empty if it is NULL or does not exist.
pub(crate) fn cell(row: &[Option<String>], index: usize) -> &str {
    row.get(index).and_then(Option::as_deref).unwrap_or("")
}

pub(crate) fn text(rows: &Rows) -> String {
    let line = |row: &Vec<Option<String>>| {
        let cells: Vec<&str> = (0..row.len()).map(|index| cell(row, index)).collect();
        cells.join(" ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("; ")
}
