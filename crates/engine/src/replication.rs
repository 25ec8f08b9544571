//! How servers replicate: an optional capability of an engine.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use client::connection::LOGIN_LIMIT;
use client::{Connection, Error};
pub use measure::recovery::Role;
use plan::{ClusterTraits, Failure, StaticSettings};
use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::http;
use crate::launch::{Invocation, Login, Paths, ServerFile};
use crate::network::NetworkEngine;
use crate::remote::{Rows, administer};
use crate::settings::Settings;

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
    pub questions: &'static Questions,
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
        questions: &'static Questions,
        refusals: &'static [&'static str],
    ) -> Self {
        Self {
            cluster,
            has_many_primaries: false,
            group_ports: 0,
            service_ports: 0,
            questions,
            refusals,
            recovery: None,
            bootstrap: None,
            failover: None,
            switchover: None,
            manager: None,
        }
    }
}

/// What members are asked about their cluster, and how their answers are read.
#[derive(Debug)]
pub struct Questions {
    /// The query for a member's view of its cluster, for the load's account.
    pub view_query: &'static str,
    pub view: fn(&Rows) -> View,
    /// A member's role, and whether it replicates.
    pub state: fn(&Member<'_>) -> Result<Role, Failure>,
    /// Members and sessions that a member sees and that are not dyno's, for example `a member at
    /// 127.0.0.1:4567`.
    pub strangers: fn(&Member<'_>) -> Result<Vec<String>, Failure>,
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

    /// Settings for checks: those in which the first primary of a complete cluster with this number
    /// of members differs from a single server.
    fn checked_settings(&self, _members: u32) -> OwnedSettings {
        Vec::new()
    }

    /// Files in the data directory that make prepared data this member's.
    fn data_files(&self, cluster: &ClusterLayout, _number: u32) -> Vec<ServerFile> {
        cluster.certificate.files().into()
    }

    /// Settings of a restart, which replace those of the same names in [`Replication::settings`].
    /// `printed` is the output of [`ReplicationTraits::recovery`], empty without one. With
    /// `bootstraps`, the member bootstraps its group.
    fn restart_settings(
        &self,
        _cluster: &ClusterLayout,
        _printed: &str,
        _bootstraps: bool,
    ) -> OwnedSettings {
        Vec::new()
    }

    /// Makes a member that accepts connections join.
    fn join(&self, member: &Member<'_>) -> Result<(), Failure>;

    /// Makes a restarted member join again.
    fn rejoin(&self, _member: &Member<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes a member leave before it is shut down, if its server does not do so reliably.
    fn leave(&self, _member: &Member<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Steps on the primary once the other members replicate: when the cluster has formed, and when
    /// a member has returned.
    fn complete(&self, _member: &Member<'_>) -> Result<(), Failure> {
        Ok(())
    }
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
    fn demote(&self, _member: &Member<'_>) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Reverses [`Failover::demote`]: the member accepts writes again.
    fn reinstate(&self, _member: &Member<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes a member replicate from the member `primary`.
    fn follow(&self, member: &Member<'_>, primary: u32) -> Result<(), Failure>;

    /// How an empty data directory becomes a copy of the primary's, ready to replicate, because the
    /// data of a former primary may have diverged. `None` if it replicates anyway.
    fn copy(
        &self,
        _cluster: &ClusterLayout,
        _number: u32,
        _primary: u32,
        _program: &Path,
        _data: &Path,
    ) -> Option<Copying> {
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
    fn successor(&self, _member: &Member<'_>) -> Result<Option<u32>, Failure> {
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
    fn recovered(&self, _printed: &str) -> u64 {
        0
    }

    /// Size of the group that a running member belongs to, if that accepts commits; includes lost
    /// members that it has not noticed yet. `None` if there is no such group.
    fn group_size(&self, member: &Member<'_>) -> Result<Option<u32>, Failure>;

    /// The files in the data directory that let a member start the group with its own start.
    fn data_files(&self, _cluster: &ClusterLayout) -> Vec<ServerFile> {
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

    fn manager(
        &self,
        cluster: &ClusterLayout,
        number: u32,
        server: &ManagedServer<'_>,
    ) -> Result<Manager, Failure>;
}

/// A program that runs once per cluster, from before its first member starts until after its last
/// member has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The name, also of its log: `etcd`.
    pub name: &'static str,
    pub invocation: Invocation,
    pub files: Vec<ServerFile>,
    /// Where the service reports whether it is ready.
    pub address: SocketAddr,
    /// The path of a page that the service serves, and what the page contains once the service is
    /// ready; `None` if it is once it accepts connections.
    pub health: Option<(&'static str, &'static str)>,
}

impl Service {
    pub fn is_ready(&self) -> bool {
        let Some((path, word)) = self.health else {
            return http::connect(self.address, http::ANSWER_LIMIT).is_ok();
        };
        http::get(self.address, path)
            .is_ok_and(|page| page.is_success() && page.body.contains(word))
    }
}

/// A server that a cluster manager starts.
#[derive(Debug, Clone, Copy)]
pub struct ManagedServer<'a> {
    pub program: &'a Path,
    pub paths: &'a Paths,
    pub config: &'a Settings,
    /// The system user that server and manager run as; `None` if that is dyno's own.
    pub account: Option<&'a str>,
}

/// A program that starts, stops, and restarts a member's server in place of the laboratory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// SIGTERM stops the manager together with its server.
    pub invocation: Invocation,
    pub files: Vec<ServerFile>,
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
    pub state: Role,
    /// What the member sees of the others; any change of this text is a change of its view.
    pub others: String,
}

/// A member of a cluster whose server is running.
pub struct Member<'a> {
    pub cluster: &'a ClusterLayout,
    pub number: u32,
    pub login: Login<'a>,
}

impl Member<'_> {
    /// Executes statements as the administrator.
    pub(crate) fn run<P: NetworkEngine>(&self, statements: &[String]) -> Result<(), Failure> {
        let ran = self.administer(async |connection: &mut Connection<P>| {
            for statement in statements {
                connection.rows(statement).await?;
            }
            Ok(())
        })?;
        ran.map_err(|error| self.refused(&error))
    }

    pub(crate) fn rows<P: NetworkEngine>(&self, sql: &str) -> Result<Rows, Failure> {
        let rows =
            self.administer(async |connection: &mut Connection<P>| connection.rows(sql).await)?;
        rows.map_err(|error| self.refused(&error))
    }

    pub(crate) fn administer<P: NetworkEngine, T>(
        &self,
        work: impl AsyncFnOnce(&mut Connection<P>) -> Result<T, Error>,
    ) -> Result<Result<T, Error>, Failure> {
        administer(&self.login, LOGIN_LIMIT, work)
    }

    /// The failure of a member that refuses to join, to become the primary, or to follow one,
    /// without the password that it was sent.
    pub(crate) fn refused(&self, error: &Error) -> Failure {
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
#[derive(Clone, Serialize, Deserialize)]
pub struct ClusterLayout {
    /// 32 hexadecimal digits that are unique to the cluster.
    pub id: String,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    pub fn member(&self, number: u32) -> &MemberAddress {
        &self.members[number as usize - 1]
    }

    /// The address for clients.
    pub fn client_address(&self, number: u32) -> SocketAddr {
        let member = self.member(number);
        SocketAddr::new(member.ip, member.port)
    }

    /// An address for other members; `port` counts the member's group ports from 0.
    pub fn group_address(&self, number: u32, port: usize) -> SocketAddr {
        let member = self.member(number);
        SocketAddr::new(member.ip, member.group_ports[port])
    }

    /// The first group address of each member.
    pub fn group_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        (1..=self.count()).map(|number| self.group_address(number, 0))
    }

    /// Reports those of these client addresses that belong to no member.
    pub(crate) fn strangers<'a>(
        &self,
        addresses: impl Iterator<Item = &'a str>,
    ) -> impl Iterator<Item = String> {
        let is_member = |address: &&str| {
            let mut members = (1..=self.count()).map(|number| self.client_address(number));
            members.any(|member| member.to_string() == *address)
        };
        let others = addresses.filter(move |address| !is_member(address));
        others.map(|address| format!("a member at {address:?}"))
    }
}

/// A member's own settings, and fixed ones.
pub(crate) fn settings(
    own: impl IntoIterator<Item = (&'static str, String)>,
    fixed: &[StaticSettings],
) -> OwnedSettings {
    let fixed = fixed.iter().copied().flatten();
    let fixed = fixed.map(|(name, value)| (*name, (*value).to_owned()));
    let all = own.into_iter().chain(fixed);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

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
