//! Replication by the binary log: a primary sends it to replicas, and waits for none of them, or
//! for one to receive a transaction, before it reports a commit.
//!
//! All members are copies of one prepared data directory without a log of its own, so a replica
//! begins with the first transaction of the primary's.

use client::connection::LOGIN_LIMIT;
use client::mysql::{Connection, Error};

use super::server::socket_target;
use crate::error::EngineError;
use crate::remote::{Rows, on_connection, on_reactor};
use crate::replication::{Formation, MemberAddress, MemberState, Replication, View, cell, refused};
use crate::server::Login;

/// The account with which members log in to each other.
pub(super) const ACCOUNT: &str = "dyno_replication";
/// Answers a row on a replica, and none on a primary.
const STATUS: &str = "SHOW REPLICA STATUS";
/// The columns of `Replica_IO_Running` and `Replica_SQL_Running` in both engines' status.
const RUNNING: [usize; 2] = [10, 11];
/// What every member's configuration has.
const SETTINGS: [(&str, &str); 2] = [("log_bin", "binlog"), ("relay_log", "relay")];

/// One way of replicating by the binary log.
#[derive(Debug)]
pub(super) struct BinaryLog {
    name: &'static str,
    /// Settings of every member, besides [`SETTINGS`].
    settings: &'static [(&'static str, &'static str)],
    /// The primary's. A replica that waited for replicas of its own would apply nothing.
    of_primary: &'static [(&'static str, &'static str)],
    /// A replica's.
    of_replica: &'static [(&'static str, &'static str)],
    /// How a replica is pointed to its primary.
    source: fn(&Formation, &MemberAddress) -> String,
    /// Keeps all but the replication from writing.
    read_only: &'static str,
}

const MARIADB_SETTINGS: [(&str, &str); 1] = [("log_slave_updates", "ON")];
const MARIADB_READ_ONLY: &str = "SET GLOBAL read_only = ON";

/// MariaDB's kinds of clusters that use only the binary log.
pub(super) const MARIADB_ASYNCHRONOUS: &dyn Replication = &BinaryLog {
    name: "asynchronous",
    settings: &MARIADB_SETTINGS,
    of_primary: &[],
    of_replica: &[],
    source: mariadb_source,
    read_only: MARIADB_READ_ONLY,
};
pub(super) const MARIADB_SEMI_SYNCHRONOUS: &dyn Replication = &BinaryLog {
    name: "semi-synchronous",
    settings: &MARIADB_SETTINGS,
    of_primary: &[("rpl_semi_sync_master_enabled", "ON")],
    of_replica: &[("rpl_semi_sync_slave_enabled", "ON")],
    source: mariadb_source,
    read_only: MARIADB_READ_ONLY,
};

const MYSQL_SETTINGS: [(&str, &str); 2] = [("gtid_mode", "ON"), ("enforce_gtid_consistency", "ON")];
const MYSQL_READ_ONLY: &str = "SET GLOBAL super_read_only = ON";

/// MySQL's kinds of clusters that use only the binary log.
pub(super) const MYSQL_ASYNCHRONOUS: &dyn Replication = &BinaryLog {
    name: "asynchronous",
    settings: &MYSQL_SETTINGS,
    of_primary: &[],
    of_replica: &[],
    source: mysql_source,
    read_only: MYSQL_READ_ONLY,
};
pub(super) const MYSQL_SEMI_SYNCHRONOUS: &dyn Replication = &BinaryLog {
    name: "semi-synchronous",
    settings: &MYSQL_SETTINGS,
    of_primary: &[
        ("plugin_load_add", "semisync_source.so"),
        ("rpl_semi_sync_source_enabled", "ON"),
    ],
    of_replica: &[
        ("plugin_load_add", "semisync_replica.so"),
        ("rpl_semi_sync_replica_enabled", "ON"),
    ],
    source: mysql_source,
    read_only: MYSQL_READ_ONLY,
};

fn mariadb_source(cluster: &Formation, primary: &MemberAddress) -> String {
    format!(
        "CHANGE MASTER TO MASTER_HOST = '{}', MASTER_PORT = {}, MASTER_USER = '{ACCOUNT}', \
         MASTER_PASSWORD = '{}', MASTER_SSL = 0, MASTER_USE_GTID = slave_pos",
        primary.ip, primary.port, cluster.password
    )
}

fn mysql_source(cluster: &Formation, primary: &MemberAddress) -> String {
    format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{}', SOURCE_PORT = {}, \
         SOURCE_USER = '{ACCOUNT}', SOURCE_PASSWORD = '{}', SOURCE_AUTO_POSITION = 1, \
         GET_SOURCE_PUBLIC_KEY = 1",
        primary.ip, primary.port, cluster.password
    )
}

impl Replication for BinaryLog {
    fn name(&self) -> &'static str {
        self.name
    }

    fn settings(&self, cluster: &Formation, number: u32) -> Vec<(String, String)> {
        let own = ("server_id".to_owned(), number.to_string());
        let of_role = match number {
            // Without replicas, each commit would wait until the timeout.
            1 if cluster.count() == 1 => &[],
            1 => self.of_primary,
            _ => self.of_replica,
        };
        let all = SETTINGS.iter().chain(self.settings).chain(of_role);
        let all = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        std::iter::once(own).chain(all).collect()
    }

    fn join(&self, cluster: &Formation, number: u32, login: &Login<'_>) -> Result<(), EngineError> {
        if number == 1 {
            return run(
                cluster,
                login,
                &create_account(cluster, "REPLICATION SLAVE"),
            );
        }
        self.replicate_from(cluster, 1, login)
    }

    fn rejoin(
        &self,
        cluster: &Formation,
        number: u32,
        login: &Login<'_>,
    ) -> Result<(), EngineError> {
        match number {
            1 => Ok(()),
            // It remembers its source.
            _ => run(cluster, login, &[self.read_only.to_owned()]),
        }
    }

    fn view_query(&self) -> &'static str {
        STATUS
    }

    fn view(&self, rows: &[Vec<Option<String>>]) -> View {
        let state = state_of(rows);
        View {
            state,
            others: format!("{state:?}"),
        }
    }

    fn state(&self, login: &Login<'_>) -> Result<MemberState, EngineError> {
        Ok(state_of(&rows(login, STATUS)?))
    }
}

impl BinaryLog {
    fn replicate_from(
        &self,
        cluster: &Formation,
        primary: u32,
        login: &Login<'_>,
    ) -> Result<(), EngineError> {
        let source = cluster.member(primary).map(|at| (self.source)(cluster, at));
        let rest = ["START REPLICA".to_owned(), self.read_only.to_owned()];
        let statements: Vec<String> = source.into_iter().chain(rest).collect();
        run(cluster, login, &statements)
    }
}

/// The role of a member with this answer to [`STATUS`].
fn state_of(rows: &[Vec<Option<String>>]) -> MemberState {
    let Some(status) = rows.first() else {
        return MemberState::Primary;
    };
    match RUNNING.iter().all(|place| cell(status, *place) == "Yes") {
        true => MemberState::Replica,
        false => MemberState::Detached,
    }
}

/// The statements that create the account for replication, without writing them to the binary log.
pub(super) fn create_account(cluster: &Formation, rights: &str) -> [String; 4] {
    let accounts = cluster.ips().into_iter();
    let accounts: Vec<String> = accounts.map(|ip| format!("{ACCOUNT}@'{ip}'")).collect();
    let password = format!(" IDENTIFIED BY '{}'", cluster.password);
    let with_password = accounts
        .iter()
        .map(|account| format!("{account}{password}"));
    let with_password: Vec<String> = with_password.collect();
    [
        "SET sql_log_bin = 0".to_owned(),
        format!("CREATE USER {}", with_password.join(", ")),
        format!("GRANT {rights} ON *.* TO {}", accounts.join(", ")),
        "SET sql_log_bin = 1".to_owned(),
    ]
}

/// Runs statements as `root`, through the socket.
pub(super) fn run(
    cluster: &Formation,
    login: &Login<'_>,
    statements: &[String],
) -> Result<(), EngineError> {
    let ran = as_root(login, async |connection| {
        for statement in statements {
            connection.run(statement).await?;
        }
        Ok(())
    })?;
    ran.map_err(|error| refused(cluster, login, &error))
}

/// The rows of a statement, as `root`, through the socket.
pub(super) fn rows(login: &Login<'_>, sql: &str) -> Result<Rows, EngineError> {
    let rows = as_root(login, async |connection| connection.rows(sql).await)?;
    rows.map_err(|error| login.refused(&error))
}

/// Does something as `root`, through the socket.
pub(super) fn as_root<T>(
    login: &Login<'_>,
    work: impl AsyncFnOnce(&mut Connection) -> Result<T, Error>,
) -> Result<Result<T, Error>, EngineError> {
    let target = socket_target(login)?;
    on_reactor(on_connection(&target, LOGIN_LIMIT, work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primary_without_replicas_waits_for_none() {
        let waits = |members: u16, number| {
            let cluster = Formation {
                id: String::new(),
                members: (0..members)
                    .map(|port| MemberAddress {
                        ip: std::net::Ipv4Addr::LOCALHOST.into(),
                        port,
                        group_ports: Vec::new(),
                    })
                    .collect(),
                services: Vec::new(),
                password: String::new(),
                manager_password: String::new(),
                ttl: std::time::Duration::ZERO,
            };
            let settings = MYSQL_SEMI_SYNCHRONOUS.settings(&cluster, number);
            let mut names = settings.iter().map(|(name, _)| name.as_str());
            names.any(|name| name == "rpl_semi_sync_source_enabled")
        };
        assert!(waits(2, 1), "for the replica");
        assert!(!waits(2, 2), "a replica has no replicas of its own");
        assert!(!waits(1, 1));
    }
}
