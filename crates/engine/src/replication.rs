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
/// which becomes the primary, then the others, and has each of them join when it accepts
/// connections.
pub trait Replication: fmt::Debug + Send + Sync {
    /// Its name in a study: `asynchronous`.
    fn name(&self) -> &'static str;

    /// The settings that make a server the member `number`, from 1.
    fn settings(&self, cluster: &Formation, number: u32) -> Vec<(String, String)>;

    /// Files in the data directory that make prepared data this member's, by their names there.
    fn data_files(&self, cluster: &Formation, number: u32) -> Vec<ServerFile> {
        let _ = (cluster, number);
        Vec::new()
    }

    /// The arguments with which the server's program prints how far a member's data goes, and ends,
    /// before the member starts again; `None`: the server needs no help with that.
    fn recovery(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The settings of a restart, in place of those of the same names in
    /// [`Replication::settings`]. `printed` is the output of [`Replication::recovery`], empty if
    /// there was none; `bootstraps`: the member begins its group anew.
    fn restart_settings(
        &self,
        cluster: &Formation,
        printed: &str,
        bootstraps: bool,
    ) -> Vec<(String, String)> {
        let _ = (cluster, printed, bootstraps);
        Vec::new()
    }

    /// What an operator does when the members have lost their quorum; `None`: there is none that
    /// they could lose for good.
    fn bootstrap(&self) -> Option<&'static dyn Bootstrap> {
        None
    }

    /// Has a member that accepts connections join.
    fn join(&self, member: &Member<'_>) -> Result<(), Failure>;

    /// Has a member that was restarted join again.
    fn rejoin(&self, member: &Member<'_>) -> Result<(), Failure> {
        let _ = member;
        Ok(())
    }

    /// Has a member leave before it is shut down, where its server does not do so reliably.
    fn leave(&self, member: &Member<'_>) -> Result<(), Failure> {
        let _ = member;
        Ok(())
    }

    /// What is done on the primary once the others replicate: when the cluster has formed, and when
    /// a member has returned.
    fn complete(&self, member: &Member<'_>) -> Result<(), Failure> {
        let _ = member;
        Ok(())
    }

    /// Whether the members elect a new primary by themselves.
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

    /// How many members must be connected for a commit to be accepted.
    fn quorum(&self) -> Quorum {
        match self.elects() {
            true => Quorum::Majority,
            false => Quorum::One,
        }
    }

    /// How it notices a failure and acknowledges a commit.
    fn conduct(&self) -> Conduct;

    /// At how many ports a member talks to the others, besides the one for its clients.
    fn group_ports(&self) -> usize {
        0
    }

    /// How many ports the services of a cluster need.
    fn service_ports(&self) -> usize {
        0
    }

    /// What runs beside the members of a cluster; their files are in `dir`, and `own` is the
    /// directory in which they may write.
    fn services(
        &self,
        cluster: &Formation,
        dir: &Path,
        own: &Path,
    ) -> Result<Vec<Service>, Failure> {
        let _ = (cluster, dir, own);
        Ok(Vec::new())
    }

    /// The file in a member's data directory that begins with the number of its server's process,
    /// if a cluster manager starts the servers; `None`: the laboratory does.
    fn process_file(&self) -> Option<&'static str> {
        None
    }

    /// The cluster manager of the member `number`, exactly if there is a
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

    /// The query whose answer is [`Replication::view`]'s, for the account of the load.
    fn view_query(&self) -> &'static str;

    /// A member's view of its cluster, from its answer to [`Replication::view_query`].
    fn view(&self, rows: &[Vec<Option<String>>]) -> View;

    /// Makes a member the primary, because the old one has been lost.
    fn promote(&self, member: &Member<'_>) -> Result<(), Failure> {
        Err(unable(self.name(), member, "promote a member"))
    }

    /// Has the primary refuse writes from now on; `false`: only shutting it down does.
    fn demote(&self, member: &Member<'_>) -> Result<bool, Failure> {
        let _ = member;
        Ok(false)
    }

    /// How much a member has of what the primary wrote, whether it has been applied or not; of the
    /// primary, how much it wrote. Only comparable among the members of one cluster.
    fn received(&self, member: &Member<'_>) -> Result<u64, Failure> {
        Err(unable(self.name(), member, "compare members"))
    }

    /// Makes a member replicate from the member `primary`.
    fn follow(&self, member: &Member<'_>, primary: u32) -> Result<(), Failure> {
        let _ = primary;
        Err(unable(self.name(), member, "choose a member's primary"))
    }

    /// Makes the member `to` the primary in place of this one, as an administrator does before
    /// maintenance.
    fn switchover(&self, member: &Member<'_>, to: u32) -> Result<(), Failure> {
        let _ = to;
        Err(unable(
            self.name(),
            member,
            "switch over to another primary",
        ))
    }

    /// The only member that this one, the primary, would switch over to; `None`: any replica.
    fn successor(&self, member: &Member<'_>) -> Result<Option<u32>, Failure> {
        let _ = member;
        Ok(None)
    }

    /// How an empty data directory becomes a copy of the primary's, ready to replicate: the data of
    /// a former primary may have diverged. `None`: it replicates all the same.
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

    /// Who takes part in the cluster, as this member sees it, or is logged in to it, and is not
    /// dyno's: `a member at 127.0.0.1:4567`.
    fn strangers(&self, member: &Member<'_>) -> Result<Vec<String>, Failure>;

    /// What lines of a member's log contain that say that it refused somebody who wanted to log in or
    /// to join.
    fn refusals(&self) -> &'static [&'static str];

    /// A member's role, and whether it replicates.
    fn state(&self, member: &Member<'_>) -> Result<Role, Failure>;
}

/// A program that copies the data of another member.
pub struct Copying {
    /// The program, without secrets.
    pub program: Invocation,
    /// The name and the value of the environment variable with the password.
    pub password: (&'static str, String),
    /// A file that it needs, and the name of the environment variable for its path.
    pub authority: (&'static str, ServerFile),
}

/// How members that have lost their quorum become a group again: an operator chooses the one that
/// has most ([`Replication::received`]), which begins the group anew, and the others join it.
pub trait Bootstrap: fmt::Debug + Send + Sync {
    /// The size of the group that accepts commits to which a member that runs belongs, lost members
    /// included as long as it has not noticed; `None` if there is none.
    fn group_size(&self, member: &Member<'_>) -> Result<Option<u32>, Failure>;

    /// What [`Replication::received`] would return if the member ran, from the output of
    /// [`Replication::recovery`].
    fn recovered(&self, printed: &str) -> u64 {
        let _ = printed;
        0
    }

    /// The files in the data directory that let a member begin the group as it starts.
    fn data_files(&self, cluster: &Formation) -> Vec<ServerFile> {
        let _ = cluster;
        Vec::new()
    }

    /// Has a member that runs begin the group anew, by itself.
    fn begin(&self, member: &Member<'_>) -> Result<(), Failure>;
}

/// How a member sees its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its own role.
    pub state: Role,
    /// What it sees of the other members: any change of this text is a change of its view.
    pub others: String,
}

/// Where a member listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberAddress {
    /// Its address for clients and for other members.
    pub ip: IpAddr,
    /// Its port for clients.
    pub port: u16,
    /// Its ports for the other members, as many as [`Replication::group_ports`].
    pub group_ports: Vec<u16>,
}

/// A member of a cluster whose server runs.
pub struct Member<'a> {
    pub cluster: &'a Formation,
    /// Its place among the members, from 1.
    pub number: u32,
    /// The account that administers it.
    pub login: Login<'a>,
}

impl Member<'_> {
    /// Its refusal to join, to become the primary, or to follow one, without the password that it was
    /// sent.
    pub(crate) fn refused(&self, error: &client::Error) -> Failure {
        let words = self.cluster.without_password(&error.to_string());
        let server = self.login.server;
        Failure::server(format!(
            "{server} cannot take its role in its cluster: {words}"
        ))
        .perhaps(error.remedy())
    }
}

/// What the members of one cluster know of each other.
#[derive(Clone)]
pub struct Formation {
    /// 32 hexadecimal digits that no other cluster has.
    pub id: String,
    /// Where the members listen, in their order.
    pub members: Vec<MemberAddress>,
    /// Where its services listen, as many as [`Replication::service_ports`].
    pub services: Vec<SocketAddr>,
    /// What its members and services know each other by.
    pub certificate: Certificate,
    /// The password of the account that replicates, for this run.
    pub password: String,
    /// How long a cluster manager waits for a primary that does not answer.
    pub ttl: Duration,
}

/// The password is hidden.
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
    /// How many members it has, at least 1.
    pub fn count(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    /// The member of this number, from 1.
    pub fn member(&self, number: u32) -> Option<&MemberAddress> {
        self.members
            .get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// Address and port for clients of the member of this number, from 1.
    pub fn client_address(&self, number: u32) -> Option<SocketAddr> {
        let member = self.member(number)?;
        Some(SocketAddr::new(member.ip, member.port))
    }

    /// Whether this is the address for clients of one of its members.
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

    /// A text of a server that may contain the password it was sent.
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

/// The name by which the other members know this one.
pub(crate) fn member_name(number: u32) -> String {
    format!("dyno{number}")
}

/// A cell of a row as text; empty for NULL and for a cell that does not exist.
pub(crate) fn cell(row: &[Option<String>], index: usize) -> &str {
    row.get(index).and_then(Option::as_deref).unwrap_or("")
}

/// All rows as one text.
pub(crate) fn text(rows: &[Vec<Option<String>>]) -> String {
    let line = |row: &Vec<Option<String>>| {
        let cells: Vec<&str> = (0..row.len()).map(|index| cell(row, index)).collect();
        cells.join(" ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("; ")
}
