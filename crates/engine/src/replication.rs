//! How servers replicate: an optional capability of an engine.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

pub use measure::recovery::Role;
use plan::{Conduct, Quorum};

use crate::certificate::Certificate;
use crate::failure::Failure;
use crate::manager::{Managed, Manager, Service};
use crate::program::Installed;
use crate::server::{Invocation, Login, ServerFile};

/// A way in which servers of one engine form a cluster.
///
/// All members start from copies of the same prepared data. The laboratory starts the first one,
/// which becomes the primary, then the others, and makes each of them join when it accepts
/// connections.
pub trait Replication: fmt::Debug + Send + Sync {
    /// The name in a study, for example `asynchronous`.
    fn name(&self) -> &'static str;

    /// The settings that make a server member `number`, counted from 1.
    fn settings(&self, cluster: &Formation, number: u32) -> Vec<(String, String)>;

    /// Files in the data directory that make prepared data this member's.
    fn data_files(&self, cluster: &Formation, number: u32) -> Vec<ServerFile> {
        let _ = (cluster, number);
        Vec::new()
    }

    /// The arguments with which the server's program prints how far a member's data goes and exits,
    /// before the member restarts. `None` if the server does not need that.
    fn recovery(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Settings of a restart, which replace those of the same names in [`Replication::settings`].
    /// `printed` is the output of [`Replication::recovery`], empty without one. With `bootstraps`,
    /// the member bootstraps its group.
    fn restart_settings(
        &self,
        cluster: &Formation,
        printed: &str,
        bootstraps: bool,
    ) -> Vec<(String, String)> {
        let _ = (cluster, printed, bootstraps);
        Vec::new()
    }

    /// What an operator does when the members have lost their quorum; `None` if they cannot lose a
    /// quorum for good.
    fn bootstrap(&self) -> Option<&'static dyn Bootstrap> {
        None
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

    /// Whether the members elect a new primary themselves.
    fn elects(&self) -> bool {
        false
    }

    /// Whether every member accepts writes.
    fn has_many_primaries(&self) -> bool {
        false
    }

    /// Whether a cluster manager runs beside each member.
    fn has_manager(&self) -> bool {
        self.process_file().is_some()
    }

    /// How many members must be connected for commits to be accepted.
    fn quorum(&self) -> Quorum {
        match self.elects() {
            true => Quorum::Majority,
            false => Quorum::One,
        }
    }

    /// How failures are noticed and commits acknowledged.
    fn conduct(&self) -> Conduct;

    /// Number of ports of a member besides the one for clients.
    fn group_ports(&self) -> usize {
        0
    }

    /// Number of ports that the services of a cluster need.
    fn service_ports(&self) -> usize {
        0
    }

    /// The services that members share. Their files are in `dir`; they may write in `own`.
    fn services(
        &self,
        cluster: &Formation,
        dir: &Path,
        own: &Path,
    ) -> Result<Vec<Service>, Failure> {
        let _ = (cluster, dir, own);
        Ok(Vec::new())
    }

    /// The file in a member's data directory that begins with the server's process ID, if a cluster
    /// manager starts the servers; `None` if the laboratory does.
    fn process_file(&self) -> Option<&'static str> {
        None
    }

    /// The cluster manager of member `number`; present if and only if there is a
    /// [`Replication::process_file`].
    fn manager(
        &self,
        cluster: &Formation,
        number: u32,
        server: &Managed<'_>,
    ) -> Result<Option<Manager>, Failure> {
        let _ = (cluster, number, server);
        Ok(None)
    }

    /// The query that [`Replication::view`] parses, for the load's account.
    fn view_query(&self) -> &'static str;

    /// A member's view of its cluster, from the answer to [`Replication::view_query`].
    fn view(&self, rows: &[Vec<Option<String>>]) -> View;

    /// Makes a member the primary because the old one has been lost.
    fn promote(&self, member: &Member<'_>) -> Result<(), Failure> {
        Err(unable(self.name(), member, "promote a member"))
    }

    /// Makes the primary refuse writes from now on; false if only shutting it down does.
    fn demote(&self, member: &Member<'_>) -> Result<bool, Failure> {
        let _ = member;
        Ok(false)
    }

    /// How much of what the primary wrote a member has, applied or not; for the primary, how much
    /// it wrote. Comparable only among the members of one cluster.
    fn received(&self, member: &Member<'_>) -> Result<u64, Failure> {
        Err(unable(self.name(), member, "compare members"))
    }

    /// Makes a member replicate from the member `primary`.
    fn follow(&self, member: &Member<'_>, primary: u32) -> Result<(), Failure> {
        let _ = primary;
        Err(unable(self.name(), member, "choose a member's primary"))
    }

    /// Makes member `to` the primary in place of this one, as an administrator does before
    /// maintenance.
    fn switchover(&self, member: &Member<'_>, to: u32) -> Result<(), Failure> {
        let _ = to;
        Err(unable(
            self.name(),
            member,
            "switch over to another primary",
        ))
    }

    /// The only member to which this one, the primary, would switch over; `None` if any replica
    /// will do.
    fn successor(&self, member: &Member<'_>) -> Result<Option<u32>, Failure> {
        let _ = member;
        Ok(None)
    }

    /// How an empty data directory becomes a copy of the primary's, ready to replicate, because the
    /// data of a former primary may have diverged. `None` if it replicates anyway.
    fn copy(
        &self,
        cluster: &Formation,
        number: u32,
        primary: u32,
        installed: &Installed,
        data: &Path,
    ) -> Option<Copying> {
        let _ = (cluster, number, primary, installed, data);
        None
    }

    /// Members and sessions that this member sees and that are not dyno's, for example `a member at
    /// 127.0.0.1:4567`.
    fn strangers(&self, member: &Member<'_>) -> Result<Vec<String>, Failure>;

    /// Texts in a member's log about refused logins or refused attempts to join.
    fn refusals(&self) -> &'static [&'static str];

    /// A member's role, and whether it replicates.
    fn state(&self, member: &Member<'_>) -> Result<Role, Failure>;
}

/// A program that copies another member's data.
pub struct Copying {
    /// Without secrets.
    pub program: Invocation,
    /// Name and value of the environment variable for the password.
    pub password: (&'static str, String),
    /// A file that the program needs, and the environment variable for its path.
    pub authority: (&'static str, ServerFile),
}

/// How members that have lost their quorum become a group again: an operator chooses the one with
/// the most data ([`Replication::received`]), which bootstraps the group, and the other members
/// join it.
pub trait Bootstrap: fmt::Debug + Send + Sync {
    /// Size of the group that a running member belongs to, if that accepts commits; includes lost
    /// members that it has not noticed yet. `None` if there is no such group.
    fn group_size(&self, member: &Member<'_>) -> Result<Option<u32>, Failure>;

    /// What [`Replication::received`] would return if the member ran, from the output of
    /// [`Replication::recovery`].
    fn recovered(&self, printed: &str) -> u64 {
        let _ = printed;
        0
    }

    /// The files in the data directory that let a member start the group with its own start.
    fn data_files(&self, cluster: &Formation) -> Vec<ServerFile> {
        let _ = cluster;
        Vec::new()
    }

    /// Makes a running member bootstrap the group, by itself.
    fn begin(&self, member: &Member<'_>) -> Result<(), Failure>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The member's own role.
    pub state: Role,
    /// What the member sees of the others; any change of this text is a change of its view.
    pub others: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberAddress {
    /// The address for clients and for other members.
    pub ip: IpAddr,
    /// The port for clients.
    pub port: u16,
    /// The ports for other members, as many as [`Replication::group_ports`].
    pub group_ports: Vec<u16>,
}

/// A member of a cluster whose server is running.
pub struct Member<'a> {
    pub cluster: &'a Formation,
    /// Number of the member, counted from 1.
    pub number: u32,
    /// The account that administers the member.
    pub login: Login<'a>,
}

impl Member<'_> {
    /// The failure of a member that refuses to join, to become the primary, or to follow one,
    /// without the password that it was sent.
    pub(crate) fn refused(&self, error: &client::Error) -> Failure {
        let words = self.cluster.without_password(&error.to_string());
        let server = self.login.server;
        Failure::server(format!(
            "{server} cannot take its role in its cluster: {words}"
        ))
        .perhaps(error.remedy())
    }
}

/// What the members of a cluster know about each other.
#[derive(Clone)]
pub struct Formation {
    /// 32 hexadecimal digits that are unique to the cluster.
    pub id: String,
    /// Addresses of the members, in their order.
    pub members: Vec<MemberAddress>,
    /// Addresses of the services, as many as [`Replication::service_ports`].
    pub services: Vec<SocketAddr>,
    /// How members and services recognize each other.
    pub certificate: Certificate,
    /// The replication account's password for this run.
    pub password: String,
    /// How long a cluster manager waits for a primary that does not answer.
    pub ttl: Duration,
}

/// Hides the password.
impl fmt::Debug for Formation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Formation")
            .field("id", &self.id)
            .field("members", &self.members)
            .field("services", &self.services)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

impl Formation {
    /// Number of members, at least 1.
    pub fn count(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    /// `number` counts from 1.
    pub fn member(&self, number: u32) -> Option<&MemberAddress> {
        self.members
            .get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// The address for clients; `number` counts from 1.
    pub fn client_address(&self, number: u32) -> Option<SocketAddr> {
        let member = self.member(number)?;
        Some(SocketAddr::new(member.ip, member.port))
    }

    /// Whether this is the address for clients of a member.
    pub(crate) fn has_member_at(&self, address: &str) -> bool {
        let members = self.members.iter();
        let mut members = members.map(|member| SocketAddr::new(member.ip, member.port));
        members.any(|member| member.to_string() == address)
    }

    /// Address and first group port of each member.
    pub fn group_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        let members = self.members.iter();
        members.filter_map(|member| Some(SocketAddr::new(member.ip, *member.group_ports.first()?)))
    }

    /// Removes the password from a server's text, which may contain what the server was sent.
    pub(crate) fn without_password(&self, text: &str) -> String {
        text.replace(&self.password, "***")
    }

    /// The members that follow the first one.
    pub fn followers(&self) -> impl Iterator<Item = u32> {
        2..=self.count()
    }
}

fn unable(kind: &str, member: &Member<'_>, what: &str) -> Failure {
    let message = format!(
        "cannot {what} of a cluster of kind {kind}: {}",
        member.login.server
    );
    Failure::usage(message)
}

/// The name of member `number` among the other members.
pub(crate) fn member_name(number: u32) -> String {
    format!("dyno{number}")
}

/// A cell of a row as text; empty if it is NULL or does not exist.
pub(crate) fn cell(row: &[Option<String>], index: usize) -> &str {
    row.get(index).and_then(Option::as_deref).unwrap_or("")
}

pub(crate) fn text(rows: &[Vec<Option<String>>]) -> String {
    let line = |row: &Vec<Option<String>>| {
        let cells: Vec<&str> = (0..row.len()).map(|index| cell(row, index)).collect();
        cells.join(" ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("; ")
}
