//! Streaming replication: a primary sends its log to standbys, and waits for none, some, or a
//! quorum of them before it acknowledges a commit.
//!
//! All members are copies of one prepared data directory, so they share a system identifier and
//! begin at the same position of the log: a standby needs no base backup.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use client::postgres::{Connection, Postgres};
use plan::{ClusterTraits, Conduct, Configured, Failure, Quorum, StaticSettings};

use super::configuration::{REPLICATION_ROLE, ROLE, SUPERUSER};
use super::patroni::Patroni;
use crate::certificate::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE};
use crate::launch::{Invocation, ServerFile};
use crate::remote::{first_cell, first_number};
use crate::replication::{
    ClusterLayout, Copying, Failover, Member, MemberAddress, OwnedSettings, Questions, Replication,
    ReplicationTraits, Role, View, cell, member_name, settings,
};

/// How standbys recognize a server; the files are in its data directory.
const TLS_SETTINGS: StaticSettings = &[
    ("ssl", "on"),
    ("ssl_cert_file", CERTIFICATE_FILE),
    ("ssl_key_file", KEY_FILE),
];
const SETTINGS: StaticSettings = &[
    ("wal_level", "replica"),
    // How much of its log a primary keeps for standbys that are away.
    ("wal_keep_size", "512MB"),
    ("hot_standby", "on"),
];
/// The file that makes a data directory a standby's.
const STANDBY_SIGNAL: &str = "standby.signal";
/// The file with the password that a standby logs in with, in its data directory, which is its
/// working directory. A server would log a password in `primary_conninfo` whenever that changes.
const PASSWORD_FILE: &str = "dyno.pgpass";
/// The query for a member's state, in one cell.
const STATE: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN 'primary' \
     WHEN EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming') THEN 'replica' \
     ELSE 'detached' END";

/// The query for the state of a member while the cluster forms: a standby replicates once it has
/// applied what the primary had written before the standby connected, such as passwords.
const FORMING_STATE: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN 'primary' \
     WHEN EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming' \
     AND latest_end_lsn <= pg_last_wal_replay_lsn()) THEN 'replica' \
     ELSE 'detached' END";
/// Role, application name, and address of each session.
const SESSIONS: &str = "SELECT usename, application_name, COALESCE(host(client_addr), 'this host') \
     FROM pg_stat_activity WHERE usename IS NOT NULL";
/// Application names of Patroni's sessions on other members, and of the programs that it runs. A
/// standby without a name of its own is called `walreceiver`, so it never has the empty name.
const PROGRAMS: [&str; 3] = ["", "pg_rewind", "pg_basebackup"];
/// Log messages of servers that refuse a login.
const REFUSALS: [&str; 3] = [
    "no pg_hba.conf entry for",
    "password authentication failed for user",
    "Peer authentication failed for user",
];
/// The setting that names the standbys that a commit waits for.
pub(super) const AWAITED: &str = "synchronous_standby_names";
/// Waits at most 60 s for the end of recovery.
const PROMOTE: &str = "SELECT pg_promote(true, 60)";
/// The query for how far the log reaches, in bytes, in one cell.
const RECEIVED: &str = "SELECT CASE WHEN pg_is_in_recovery() \
     THEN GREATEST(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) \
     ELSE pg_current_wal_flush_lsn() END - '0/0'";

pub(super) static KINDS: [&dyn Replication; 5] = [
    &Streaming::Asynchronous,
    &Streaming::Synchronous,
    &Streaming::Quorum,
    &Patroni::Asynchronous,
    &Patroni::Synchronous,
];

/// Which standbys a commit waits for.
#[derive(Debug)]
enum Streaming {
    Asynchronous,
    /// The first standby that is connected, in their order.
    Synchronous,
    /// So many that, with the primary, they are more than half of the members.
    Quorum,
}

impl Streaming {
    /// The value of `synchronous_standby_names`; `None` if a commit waits for no standby.
    fn awaited(&self, members: u32, primary: u32) -> Option<String> {
        let standbys = (1..=members).filter(|number| *number != primary);
        let names: Vec<String> = standbys.map(member_name).collect();
        if names.is_empty() {
            return None;
        }
        let names = names.join(", ");
        match self {
            Self::Asynchronous => None,
            Self::Synchronous => Some(format!("FIRST 1 ({names})")),
            Self::Quorum => Some(format!("ANY {} ({names})", members / 2)),
        }
    }

    /// The settings of a standby: its primary, and the standbys that it waits for once it is
    /// promoted. Of two members, one would then be left, and would wait for the lost one. A copy of
    /// the primary's data has the primary's value.
    fn following(
        &self,
        cluster: &ClusterLayout,
        standby: u32,
        primary: u32,
    ) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let source = source(cluster, standby, primary);
        let source = format!("{source} sslrootcert={AUTHORITY_FILE} passfile={PASSWORD_FILE}");
        let awaited = self.awaited(cluster.count(), standby);
        let awaited = awaited.map(|names| match cluster.count() {
            0..=2 => String::new(),
            _ => names,
        });
        let awaited = awaited.map(|names| (AWAITED, names));
        [("primary_conninfo", source)].into_iter().chain(awaited)
    }
}

pub(super) fn conduct(acknowledged: fn(&Configured<'_>) -> String) -> Conduct {
    Conduct {
        detector: |_| None,
        acknowledged,
        durable: &[("synchronous_commit", "on"), ("fsync", "on")],
        tuned: &[
            ("shared_buffers", "256MB"),
            ("wal_sender_timeout", "10s"),
            ("wal_receiver_timeout", "10s"),
            ("wal_compression", "on"),
            ("max_wal_size", "2GB"),
        ],
    }
}

/// Where a commit is stored at the primary, and at the standbys that it waits for.
pub(super) fn acknowledged(config: &Configured<'_>, standbys: Option<&str>) -> String {
    let (level, synced) = (
        config.value("synchronous_commit", "on"),
        config.value("fsync", "on"),
    );
    let standbys = standbys.filter(|_| config.members > 1);
    let is_off = |value: &str| ["off", "false", "no", "0"].contains(&value);
    let because = format!(" (synchronous_commit = {level})");
    let (own, other, because) = match level.as_str() {
        level if is_off(level) => ("memory of", None, because),
        _ if is_off(&synced) => (
            "memory of",
            Some("memory of"),
            format!(" (fsync = {synced})"),
        ),
        "local" => ("disk of", None, because),
        "remote_write" => ("disk of", Some("memory of"), because),
        "remote_apply" => ("disk of", Some("applied by"), because),
        _ => ("disk of", Some("disk of"), String::new()),
    };
    match standbys.zip(other) {
        Some((standbys, other)) => format!("{own} the primary, {other} {standbys}{because}"),
        None if standbys.is_none() && own == "disk of" => "disk of the primary".to_owned(),
        None => format!("{own} the primary{because}"),
    }
}

impl Replication for Streaming {
    fn traits(&'static self) -> ReplicationTraits {
        let (name, quorum) = match self {
            Self::Asynchronous => ("asynchronous", Quorum::One),
            Self::Synchronous => ("synchronous", Quorum::Two),
            Self::Quorum => ("quorum", Quorum::Majority),
        };
        let conduct = conduct(match self {
            Self::Asynchronous => |config| acknowledged(config, None),
            Self::Synchronous => |config| acknowledged(config, Some("the first standby")),
            Self::Quorum => |config| {
                let (awaited, all) = (config.members / 2, config.members.saturating_sub(1));
                acknowledged(config, Some(&format!("{awaited} of {all} standbys")))
            },
        });
        let cluster = ClusterTraits::new(name, quorum, conduct);
        ReplicationTraits {
            failover: Some(self),
            ..ReplicationTraits::new(cluster, &QUESTIONS, &REFUSALS)
        }
    }

    fn settings(&self, cluster: &ClusterLayout, number: u32) -> OwnedSettings {
        let senders = cluster.count() + 2;
        let mut own = vec![("max_wal_senders", senders.to_string())];
        if number != 1 {
            own.extend(self.following(cluster, number, 1));
        }
        settings(own, &[SETTINGS, TLS_SETTINGS])
    }

    fn checked_settings(&self, members: u32) -> OwnedSettings {
        let awaited = self.awaited(members, 1);
        settings(awaited.map(|names| (AWAITED, names)), &[])
    }

    fn data_files(&self, cluster: &ClusterLayout, number: u32) -> Vec<ServerFile> {
        let password = format!("*:*:*:{REPLICATION_ROLE}:{}\n", cluster.password);
        let mut files = Vec::from(cluster.certificate.files());
        files.push(ServerFile::new(PASSWORD_FILE, password));
        files.extend((number != 1).then(|| ServerFile::new(STANDBY_SIGNAL, "")));
        files
    }

    /// The primary creates the role that standbys log in to.
    fn join(&self, member: &Member<'_>) -> Result<(), Failure> {
        if member.number != 1 {
            return Ok(());
        }
        // dyno's own changes must not wait for a standby that may be away.
        let local = format!("ALTER ROLE {SUPERUSER} SET synchronous_commit = local");
        create_roles(member, [local])
    }

    /// From now on, commits wait for standbys.
    fn complete(&self, member: &Member<'_>) -> Result<(), Failure> {
        let Some(names) = self.awaited(member.cluster.count(), member.number) else {
            return Ok(());
        };
        set_and_reload(member, [(AWAITED, names)])
    }
}

impl Failover for Streaming {
    /// Nothing is reloaded before: a standby that is told to do both at once may sleep for
    /// `wal_retrieve_retry_interval`, 5 s, before it is promoted.
    fn promote(&self, member: &Member<'_>) -> Result<(), Failure> {
        let promote = async |connection: &mut Connection| connection.rows(PROMOTE).await;
        let promoted = member.administer(promote)?;
        let promoted = promoted.map_err(|error| member.refused(&error))?;
        match first_cell(promoted).as_deref() {
            Some("t") => Ok(()),
            _ => Err(Failure::server(format!(
                "{} did not become the primary in time",
                member.login.server
            ))),
        }
    }

    fn received(&self, member: &Member<'_>) -> Result<u64, Failure> {
        let bytes = first_number(member.rows::<Postgres>(RECEIVED)?);
        Ok(bytes.unwrap_or(0))
    }

    fn follow(&self, member: &Member<'_>, primary: u32) -> Result<(), Failure> {
        let settings = self.following(member.cluster, member.number, primary);
        set_and_reload(member, settings)
    }

    /// A base backup, because the replaced server may have written what its successor never
    /// received.
    fn copy(
        &self,
        cluster: &ClusterLayout,
        number: u32,
        primary: u32,
        server: &Path,
        data: &Path,
    ) -> Option<Copying> {
        let arguments: [OsString; 6] = [
            OsString::from("--pgdata"),
            data.into(),
            format!("--dbname={}", source(cluster, number, primary)).into(),
            "--checkpoint=fast".into(),
            "--write-recovery-conf".into(),
            "--no-password".into(),
        ];
        let beside = |program: &Path| program.with_file_name("pg_basebackup");
        let mut program = beside(server);
        if !program.is_file() {
            // A link to the server's program may be without links to the other programs.
            program = fs::canonicalize(server).map_or(program, |real| beside(&real));
        }
        Some(Copying {
            program: Invocation::new(program, arguments),
            password: ("PGPASSWORD", cluster.password.clone()),
            authority: ("PGSSLROOTCERT", cluster.certificate.authority_file()),
        })
    }
}

/// On the primary: gives the role of loads its password, creates the role that standbys log in to,
/// and runs further statements.
pub(super) fn create_roles(
    member: &Member<'_>,
    further: impl IntoIterator<Item = String>,
) -> Result<(), Failure> {
    let create = format!("CREATE ROLE {REPLICATION_ROLE} LOGIN REPLICATION");
    let created = member.administer(async |connection: &mut Connection| {
        for sql in std::iter::once(create).chain(further) {
            connection.rows(&sql).await?;
        }
        connection.set_password(ROLE, member.login.password).await?;
        connection
            .set_password(REPLICATION_ROLE, &member.cluster.password)
            .await
    })?;
    created.map_err(|error| member.refused(&error))
}

fn set_and_reload(
    member: &Member<'_>,
    settings: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<(), Failure> {
    let set = settings.into_iter();
    let set = set.map(|(name, value)| format!("ALTER SYSTEM SET {name} = '{value}'"));
    let reload = "SELECT pg_reload_conf()".to_owned();
    member.run::<Postgres>(&set.chain([reload]).collect::<Vec<_>>())
}

pub(super) static QUESTIONS: Questions = Questions {
    view_query: STATE,
    view: |rows| {
        let state = rows.first().map_or("", |row| cell(row, 0));
        View {
            state: role(state),
            others: state.to_owned(),
        }
    },
    state: |member| {
        let state = first_cell(member.rows::<Postgres>(FORMING_STATE)?);
        Ok(role(&state.unwrap_or_default()))
    },
    strangers,
};

/// Sessions of roles other than dyno's, and standbys that are not members.
fn strangers(member: &Member<'_>) -> Result<Vec<String>, Failure> {
    let sessions = member.rows::<Postgres>(SESSIONS)?;
    let members = member.cluster.count();
    let strangers = sessions.iter().filter(|row| is_stranger(row, members));
    let describe = |row: &Vec<_>| {
        let (role, name, from) = (cell(row, 0), cell(row, 1), cell(row, 2));
        format!("a session of {role:?} ({name}) from {from}")
    };
    Ok(strangers.map(describe).collect())
}

/// Whether a row of [`SESSIONS`] comes from outside a cluster with this number of members.
fn is_stranger(session: &[Option<String>], members: u32) -> bool {
    let is_members = |name| (1..=members).any(|number| member_name(number) == name);
    match (cell(session, 0), cell(session, 1)) {
        (REPLICATION_ROLE, name) => !PROGRAMS.contains(&name) && !is_members(name),
        (role, _) => ![SUPERUSER, ROLE].contains(&role),
    }
}

fn role(word: &str) -> Role {
    match word {
        "primary" => Role::Primary,
        "replica" => Role::Replica,
        _ => Role::Detached,
    }
}

/// How member `number` reaches its primary. A server without the cluster's key does not get the
/// password.
fn source(cluster: &ClusterLayout, number: u32, primary: u32) -> String {
    let MemberAddress { ip, port, .. } = cluster.member(primary);
    format!(
        "host={ip} port={port} sslmode=verify-ca user={REPLICATION_ROLE} application_name={}",
        member_name(number)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_members_and_of_their_programs_are_no_strangers() {
        for (role, name, expected) in [
            (SUPERUSER, "psql", false),
            (ROLE, "dyno", false),
            ("eve", "dyno1", true),
            (REPLICATION_ROLE, "dyno3", false),
            (REPLICATION_ROLE, "dyno4", true),
            (REPLICATION_ROLE, "walreceiver", true),
            (REPLICATION_ROLE, "pg_rewind", false),
            (REPLICATION_ROLE, "", false),
        ] {
            let session = [role, name, "10.0.0.1"].map(|cell| Some(cell.to_owned()));
            assert_eq!(is_stranger(&session, 3), expected, "{role} {name}");
        }
    }
}
