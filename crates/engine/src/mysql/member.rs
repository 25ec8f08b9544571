//! What all kinds of clusters of MariaDB and MySQL do on their members.

use std::time::Duration;

use client::connection::LOGIN_LIMIT;
use client::mysql::{Connection, Error, Target, TlsMode, TlsOptions};
use client::reactor::timeout;

use super::root::socket_target;
use crate::certificate::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE};
use crate::failure::Failure;
use crate::remote::{Rows, administer, on_connection, on_reactor};
use crate::replication::{ClusterLayout, Member, cell};

/// The account with which members log in to each other.
pub(super) const ACCOUNT: &str = "dyno_replication";
/// Log message of servers that refuse a login.
pub(super) const DENIED: &str = "Access denied for user";
/// The accounts of dyno's own sessions and of the server's.
const ACCOUNTS: [&str; 5] = [
    "root",
    ACCOUNT,
    "system user",
    "event_scheduler",
    "unauthenticated user",
];
/// How long another member may take to answer.
const OTHER_LIMIT: Duration = Duration::from_secs(2);

/// How other members and dyno recognize a member; the files are in its data directory.
pub(super) const TLS_SETTINGS: [(&str, &str); 3] = [
    ("ssl_ca", AUTHORITY_FILE),
    ("ssl_cert", CERTIFICATE_FILE),
    ("ssl_key", KEY_FILE),
];

/// The statements that create the replication account without writing them to the binary log.
/// Clients that log in to it have verified the member's certificate, so only members get the
/// password, and not a program that listens at the address of a member that is gone.
pub(super) fn create_account(cluster: &ClusterLayout, rights: &str) -> [String; 4] {
    [
        "SET sql_log_bin = 0".to_owned(),
        format!(
            "CREATE USER {ACCOUNT}@'%' IDENTIFIED BY '{}' REQUIRE SSL",
            cluster.password
        ),
        format!("GRANT {rights} ON *.* TO {ACCOUNT}@'%'"),
        "SET sql_log_bin = 1".to_owned(),
    ]
}

/// Executes statements as `root` through the socket.
pub(super) fn run(member: &Member<'_>, statements: &[String]) -> Result<(), Failure> {
    let ran = as_root(member, async |connection| {
        for statement in statements {
            connection.run(statement).await?;
        }
        Ok(())
    })?;
    ran.map_err(|error| member.refused(&error))
}

/// Executes a query as `root` through the socket.
pub(super) fn rows(member: &Member<'_>, sql: &str) -> Result<Rows, Failure> {
    let rows = as_root(member, async |connection| connection.rows(sql).await)?;
    rows.map_err(|error| member.login.refused(&error))
}

/// Sessions of accounts other than dyno's, and replicas that are not members.
pub(super) fn strangers(member: &Member<'_>, replicas: &str) -> Result<Vec<String>, Failure> {
    let sessions = rows(member, "SHOW PROCESSLIST")?;
    let sessions = sessions.iter().map(|row| (cell(row, 1), cell(row, 2)));
    let sessions = sessions.filter(|(user, _)| !ACCOUNTS.contains(user));
    let sessions = sessions.map(|(user, host)| format!("a session of {user:?} from {host}"));
    let replicas = rows(member, replicas)?;
    let is_member = |row: &&Vec<_>| {
        let number = cell(row, 0).parse().ok();
        number.is_some_and(|number| member.cluster.member(number).is_some())
    };
    let replicas = replicas.iter().filter(|row| !is_member(row));
    let replicas = replicas.map(|row| format!("a replica with the server ID {}", cell(row, 0)));
    Ok(sessions.chain(replicas).collect())
}

/// Calls `work` with a connection as `root` through the socket.
pub(super) fn as_root<T>(
    member: &Member<'_>,
    work: impl AsyncFnOnce(&mut Connection) -> Result<T, Error>,
) -> Result<Result<T, Error>, Failure> {
    let target = socket_target(&member.login)?;
    administer(&member.login, &target, LOGIN_LIMIT, work)
}

/// Executes a query on member `number`, with the replication account.
pub(super) fn rows_of_other(
    cluster: &ClusterLayout,
    number: u32,
    sql: &str,
) -> Result<Rows, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("cannot ask member {number}: {error}");
        Failure::server(message)
    };
    let address = cluster.client_address(number);
    let address = address.ok_or_else(|| failed(&"the cluster has no such member"))?;
    let url = format!("mysql://{ACCOUNT}@{address}/");
    let tls = TlsOptions {
        mode: Some(TlsMode::VerifyFull),
        authority: Some(cluster.certificate.authority.clone()),
        ..TlsOptions::default()
    };
    let target = Target::parse(&url, Some(&cluster.password), ACCOUNT, &tls);
    let target = target.map_err(|error| failed(&error))?.with_database("");
    let asked = on_connection(&target, OTHER_LIMIT, async |connection: &mut Connection| {
        connection.rows(sql).await
    });
    let rows = on_reactor(timeout(OTHER_LIMIT, asked))?;
    let rows = rows.map_err(|_| failed(&format!("no answer within {OTHER_LIMIT:?}")))?;
    rows.map_err(|error| failed(&error))
}
