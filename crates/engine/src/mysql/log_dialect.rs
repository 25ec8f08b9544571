//! MariaDB's and MySQL's statements for replication by the binary log.

use client::mysql::Mysql;
use plan::{Conduct, Failure};

use super::account::{ACCOUNT, strangers};
use super::acknowledged::{DURABLE, MARIADB_LOGS, MYSQL_LOGS, PRIMARY, semi_synchronous, written};
use super::gtid;
use crate::certificate::AUTHORITY_FILE;
use crate::remote::{Rows, first_cell};
use crate::replication::{ClusterLayout, Member, MemberAddress, Questions, Role, View, cell};

/// How long a replica may take to apply what it has received, in seconds.
const APPLY_LIMIT_S: u32 = 60;
/// Seconds between a replica's attempts to connect to its primary. With the default, it would be
/// away for up to 60 s after each restart of the primary.
const RETRY_S: u32 = 1;
/// Number of such attempts in MySQL, enough for a day, which is also MariaDB's default.
const RETRIES: u32 = 86_400;
/// The column of `Gtid_IO_Pos` in MariaDB's `SHOW REPLICA STATUS`. Rows are read without column
/// names; from 10.6 to 12, new columns were added at the end.
pub(super) const GTID_IO_POS: usize = 43;

const MARIADB_VIEW: &str = "SELECT @@global.read_only, variable_value \
     FROM information_schema.GLOBAL_STATUS WHERE variable_name = 'SLAVE_RUNNING'";
const MYSQL_VIEW: &str = "SELECT @@global.read_only, \
     (SELECT service_state FROM performance_schema.replication_connection_status \
      WHERE channel_name = ''), \
     (SELECT service_state FROM performance_schema.replication_applier_status \
      WHERE channel_name = '')";

#[derive(Debug)]
pub(super) struct Dialect {
    /// How asynchronous and semi-synchronous clusters acknowledge commits.
    pub(super) conduct: [Conduct; 2],
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// For each plugin of semi-synchronous replication, the setting that loads it.
    pub(super) semi_sync_plugins: &'static [(&'static str, &'static str)],
    /// The setting that makes a primary wait for a replica, and the one that makes a replica
    /// acknowledge.
    pub(super) semi_sync_switches: [&'static str; 2],
    /// Whether a server refuses writes, and whether it receives and applies transactions.
    pub(super) questions: Questions,
    /// The setting that prevents writes by all but replication and, in MariaDB, `root` through the
    /// socket. Setting it waits for commits in progress and refuses later ones.
    pub(super) read_only: &'static str,
    /// The statements that point a replica to its primary.
    pub(super) source: fn(&ClusterLayout, &MemberAddress) -> Vec<String>,
    /// The query that waits until everything received is applied, then answers 0.
    pub(super) wait_until_applied: fn(&Member<'_>) -> Result<String, Failure>,
    /// Number of transactions that a server has received or applied.
    pub(super) received: fn(&Member<'_>) -> Result<u64, Failure>,
    /// The query for the transactions that a server has applied.
    pub(super) executed: &'static str,
    /// The query for another server whose answer tells [`Dialect::lacking`] which of these
    /// transactions it lacks.
    pub(super) ask_for_lacking: fn(&str) -> String,
    /// Which of these transactions another server lacks, given its answer.
    pub(super) lacking: fn(&str, &str) -> String,
}

const MARIADB_ASYNCHRONOUS: Conduct = Conduct {
    detector: |_| None,
    acknowledged: |config| written(config, &MARIADB_LOGS, PRIMARY),
    durable: DURABLE,
    tuned: &[
        ("slave_parallel_threads", "4"),
        ("slave_net_timeout", "10"),
        ("innodb_buffer_pool_size", "256M"),
    ],
};

const MYSQL_ASYNCHRONOUS: Conduct = Conduct {
    detector: |_| None,
    acknowledged: |config| written(config, &MYSQL_LOGS, PRIMARY),
    durable: DURABLE,
    tuned: &[
        ("replica_parallel_workers", "4"),
        ("replica_net_timeout", "10"),
        ("innodb_buffer_pool_size", "256M"),
    ],
};

pub(super) static MARIADB: Dialect = Dialect {
    conduct: [
        MARIADB_ASYNCHRONOUS,
        Conduct {
            acknowledged: |config| {
                semi_synchronous(
                    config,
                    &MARIADB_LOGS,
                    "rpl_semi_sync_master",
                    "after_commit",
                )
            },
            // A replica acknowledges once its relay log is synced, and the primary waits before it
            // shows the commit to others.
            durable: &[
                ("sync_binlog", "1"),
                ("innodb_flush_log_at_trx_commit", "1"),
                ("sync_relay_log", "1"),
                ("rpl_semi_sync_master_wait_point", "AFTER_SYNC"),
            ],
            ..MARIADB_ASYNCHRONOUS
        },
    ],
    settings: &[("log_slave_updates", "ON")],
    semi_sync_plugins: &[],
    semi_sync_switches: [
        "rpl_semi_sync_master_enabled",
        "rpl_semi_sync_slave_enabled",
    ],
    questions: Questions {
        view_query: MARIADB_VIEW,
        view,
        state: |member| Ok(state_of(&member.rows::<Mysql>(MARIADB_VIEW)?)),
        strangers,
    },
    read_only: "read_only",
    source: |cluster, primary| {
        vec![
            // A former primary has received nothing.
            "SET GLOBAL gtid_slave_pos = @@global.gtid_binlog_pos".to_owned(),
            format!(
                "CHANGE MASTER TO MASTER_HOST = '{}', MASTER_PORT = {}, \
                 MASTER_USER = '{ACCOUNT}', MASTER_PASSWORD = '{}', MASTER_SSL = 1, \
                 MASTER_SSL_CA = '{AUTHORITY_FILE}', MASTER_SSL_VERIFY_SERVER_CERT = 1, \
                 MASTER_CONNECT_RETRY = {RETRY_S}, MASTER_USE_GTID = slave_pos",
                primary.ip, primary.port, cluster.password
            ),
        ]
    },
    wait_until_applied: |member| {
        let received = mariadb_received(member)?;
        Ok(format!(
            "SELECT MASTER_GTID_WAIT('{received}', {APPLY_LIMIT_S})"
        ))
    },
    received: |member| {
        let executed = first_cell(member.rows::<Mysql>("SELECT @@global.gtid_binlog_pos")?);
        let executed = gtid::last(&executed.unwrap_or_default());
        Ok(executed.max(gtid::last(&mariadb_received(member)?)))
    },
    executed: "SELECT @@global.gtid_binlog_state",
    ask_for_lacking: |_| "SELECT @@global.gtid_binlog_state".to_owned(),
    lacking: gtid::beyond,
};

pub(super) static MYSQL: Dialect = Dialect {
    conduct: [
        MYSQL_ASYNCHRONOUS,
        Conduct {
            acknowledged: |config| {
                semi_synchronous(config, &MYSQL_LOGS, "rpl_semi_sync_source", "after_sync")
            },
            durable: &[
                ("sync_binlog", "1"),
                ("innodb_flush_log_at_trx_commit", "1"),
                ("sync_relay_log", "1"),
            ],
            ..MYSQL_ASYNCHRONOUS
        },
    ],
    settings: &[
        ("gtid_mode", "ON"),
        ("enforce_gtid_consistency", "ON"),
        LOG_REFUSALS,
    ],
    semi_sync_plugins: &[
        ("plugin_load_add", "semisync_source.so"),
        ("plugin_load_add", "semisync_replica.so"),
    ],
    semi_sync_switches: [
        "rpl_semi_sync_source_enabled",
        "rpl_semi_sync_replica_enabled",
    ],
    questions: Questions {
        view_query: MYSQL_VIEW,
        view,
        state: |member| Ok(state_of(&member.rows::<Mysql>(MYSQL_VIEW)?)),
        strangers,
    },
    read_only: "super_read_only",
    source: |cluster, primary| {
        vec![format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{}', SOURCE_PORT = {}, \
             SOURCE_USER = '{ACCOUNT}', SOURCE_PASSWORD = '{}', SOURCE_AUTO_POSITION = 1, \
             SOURCE_CONNECT_RETRY = {RETRY_S}, SOURCE_RETRY_COUNT = {RETRIES}, \
             SOURCE_SSL = 1, SOURCE_SSL_CA = '{AUTHORITY_FILE}', \
             SOURCE_SSL_VERIFY_SERVER_CERT = 1",
            primary.ip, primary.port, cluster.password
        )]
    },
    wait_until_applied: |_| {
        Ok(format!(
            "SELECT WAIT_FOR_EXECUTED_GTID_SET(({MYSQL_RECEIVED}), {APPLY_LIMIT_S})"
        ))
    },
    received: |member| {
        let sets = format!(
            "SELECT @@global.gtid_executed, \
             GTID_SUBTRACT(({MYSQL_RECEIVED}), @@global.gtid_executed)"
        );
        Ok(gtid::count_of_all(&member.rows::<Mysql>(&sets)?))
    },
    executed: "SELECT @@global.gtid_executed",
    ask_for_lacking: |set| format!("SELECT GTID_SUBTRACT('{set}', @@global.gtid_executed)"),
    lacking: |_, answer| answer.replace('\n', ""),
};

/// By default, MySQL does not log refused logins.
pub(super) const LOG_REFUSALS: (&str, &str) = ("log_error_verbosity", "3");
/// Also works on a server without a source.
const MYSQL_RECEIVED: &str = "SELECT COALESCE(MAX(received_transaction_set), '') \
     FROM performance_schema.replication_connection_status WHERE channel_name = ''";

/// The last transactions that a replica has received; empty on a primary.
fn mariadb_received(member: &Member<'_>) -> Result<String, Failure> {
    let status = member.rows::<Mysql>("SHOW REPLICA STATUS")?;
    let received = status.first().map_or("", |row| cell(row, GTID_IO_POS));
    Ok(received.to_owned())
}

fn view(rows: &Rows) -> View {
    let state = state_of(rows);
    View {
        state,
        others: format!("{state:?}"),
    }
}

/// The role in an answer to [`Questions::view_query`].
pub(super) fn state_of(rows: &Rows) -> Role {
    let is_read_only = rows.first().map(|row| cell(row, 0));
    let is_running = |row: &Vec<_>| (1..row.len()).all(|place| cell(row, place) == "ON");
    match is_read_only {
        Some("0" | "OFF") => Role::Primary,
        Some(_) if rows.iter().all(is_running) => Role::Replica,
        _ => Role::Detached,
    }
}
