//! The accounts of a private server: `root`, the only one that can log in, and in a cluster the one with
//! which members log in to each other.
//!
//! In a template, `root` is locked. Each run of a server sets a new password by its init file,
//! which the server executes before it accepts connections.

use std::time::Duration;

use client::mysql::{Connection, Target, TlsMode, TlsOptions};
use ipnet::Ipv4Net;
use plan::{Failure, StaticSettings};

use crate::certificate::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE};
use crate::launch::LOOPBACK;
use crate::remote::{Rows, ask};
use crate::replication::{ClusterLayout, Member, cell};

pub(super) const INIT_FILE: &str = "init.sql";
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
pub(super) const TLS_SETTINGS: StaticSettings = &[
    ("ssl_ca", AUTHORITY_FILE),
    ("ssl_cert", CERTIFICATE_FILE),
    ("ssl_key", KEY_FILE),
];

/// The statements that unlock the account with a password, for `localhost` (the socket) and for the
/// network of the server's address. They are neither replicated nor logged.
///
/// If `ignores_read_only` is given, clients from the network lose that privilege: without it, they
/// obey `read_only`.
pub(super) fn unlock_root(
    address: Ipv4Net,
    password: &str,
    ignores_read_only: Option<&str>,
) -> Vec<String> {
    // The host part of an account for a whole network.
    let clients = match address.prefix_len() == address.max_prefix_len() {
        true => address.addr().to_string(),
        false => format!("{}/{}", address.network(), address.netmask()),
    };
    let mut statements = vec!["SET sql_log_bin = 0, sql_log_off = 1".to_owned()];
    // Templates have the account for the loopback address.
    if address != LOOPBACK {
        statements.extend([
            format!("CREATE USER IF NOT EXISTS root@'{clients}' ACCOUNT LOCK"),
            format!("GRANT ALL ON *.* TO root@'{clients}' WITH GRANT OPTION"),
        ]);
    }
    let revoke = |right| format!("REVOKE {right} ON *.* FROM root@'{clients}'");
    statements.extend(ignores_read_only.map(revoke));
    statements.push(format!(
        "ALTER USER root@localhost IDENTIFIED BY '{password}', \
         root@'{clients}' IDENTIFIED BY '{password}' ACCOUNT UNLOCK"
    ));
    statements
}

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

/// Sessions of accounts other than dyno's, and replicas that are not members.
pub(super) fn strangers(member: &Member<'_>) -> Result<Vec<String>, Failure> {
    let asked = member.administer(async |connection: &mut Connection| {
        let replicas = match connection.is_mariadb() {
            true => "SHOW REPLICA HOSTS",
            false => "SHOW REPLICAS",
        };
        let sessions = connection.rows("SHOW PROCESSLIST").await?;
        Ok((sessions, connection.rows(replicas).await?))
    })?;
    let (sessions, replicas) = asked.map_err(|error| member.login.refused(&error))?;
    let sessions = sessions.iter().map(|row| (cell(row, 1), cell(row, 2)));
    let sessions = sessions.filter(|(user, _)| !ACCOUNTS.contains(user));
    let sessions = sessions.map(|(user, host)| format!("a session of {user:?} from {host}"));
    let is_member = |row: &&Vec<_>| {
        let number = cell(row, 0).parse();
        number.is_ok_and(|number: u32| (1..=member.cluster.count()).contains(&number))
    };
    let replicas = replicas.iter().filter(|row| !is_member(row));
    let replicas = replicas.map(|row| format!("a replica with the server ID {}", cell(row, 0)));
    Ok(sessions.chain(replicas).collect())
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
    let url = format!("mysql://{ACCOUNT}@{}/", cluster.client_address(number));
    let tls = TlsOptions {
        mode: Some(TlsMode::VerifyFull),
        authority: Some(cluster.certificate.authority.clone()),
        ..TlsOptions::default()
    };
    let target = Target::parse(&url, Some(&cluster.password), ACCOUNT, &tls);
    let target = target.map_err(|error| failed(&error))?.with_database("");
    let question = async |connection: &mut Connection| connection.rows(sql).await;
    ask(&target, OTHER_LIMIT, question).map_err(|error| failed(&error))
}
