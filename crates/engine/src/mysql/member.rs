//! What all kinds of clusters of MariaDB and MySQL do on their members.

use std::time::Duration;

use client::connection::LOGIN_LIMIT;
use client::mysql::{Connection, Error, Target, TlsOptions};
use client::reactor::timeout;
use client::tls::ServerPublicKey;

use super::server::socket_target;
use crate::error::{Cause, EngineError};
use crate::remote::{Rows, administer, on_connection, on_reactor};
use crate::replication::{Formation, Member};

/// The account with which members log in to each other.
pub(super) const ACCOUNT: &str = "dyno_replication";
/// How long another member may take to answer.
const OTHER_LIMIT: Duration = Duration::from_secs(2);

/// The statements that create the account for replication, without writing them to the binary log.
/// Only who reaches the member's address can use it, which includes dyno.
pub(super) fn create_account(cluster: &Formation, rights: &str) -> [String; 4] {
    [
        "SET sql_log_bin = 0".to_owned(),
        format!(
            "CREATE USER {ACCOUNT}@'%' IDENTIFIED BY '{}'",
            cluster.password
        ),
        format!("GRANT {rights} ON *.* TO {ACCOUNT}@'%'"),
        "SET sql_log_bin = 1".to_owned(),
    ]
}

/// Runs statements as `root`, through the socket.
pub(super) fn run(member: &Member<'_>, statements: &[String]) -> Result<(), EngineError> {
    let ran = as_root(member, async |connection| {
        for statement in statements {
            connection.run(statement).await?;
        }
        Ok(())
    })?;
    ran.map_err(|error| member.refused(&error))
}

/// The rows of a statement, as `root`, through the socket.
pub(super) fn rows(member: &Member<'_>, sql: &str) -> Result<Rows, EngineError> {
    let rows = as_root(member, async |connection| connection.rows(sql).await)?;
    rows.map_err(|error| member.login.refused(&error))
}

/// Does something as `root`, through the socket.
pub(super) fn as_root<T>(
    member: &Member<'_>,
    work: impl AsyncFnOnce(&mut Connection) -> Result<T, Error>,
) -> Result<Result<T, Error>, EngineError> {
    let target = socket_target(&member.login)?;
    administer(&member.login, &target, LOGIN_LIMIT, work)
}

/// The rows of a statement on the member of this number, as the account for replication, which
/// members also use with whatever key the other one presents.
pub(super) fn rows_of_other(
    cluster: &Formation,
    number: u32,
    sql: &str,
) -> Result<Rows, EngineError> {
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("cannot ask member {number}: {error}");
        EngineError::failed(Cause::Server, message)
    };
    let address = cluster.client_address(number);
    let address = address.ok_or_else(|| failed(&"the cluster has no such member"))?;
    let url = format!("mysql://{ACCOUNT}@{address}/");
    let tls = TlsOptions {
        server_public_key: ServerPublicKey::Accepted,
        ..TlsOptions::disabled()
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
