//! Where commits are stored when MySQL and MariaDB acknowledge them.

use std::time::Duration;

use plan::{Configured, StaticSettings, format_duration};

/// A log that a commit is written to: the setting for syncing it, its default, and the values with
/// which the log is synced before the commit is acknowledged.
type Log = (&'static str, &'static str, &'static [&'static str]);

pub(super) const MYSQL_LOGS: [Log; 2] = [
    ("sync_binlog", "1", &["1"]),
    ("innodb_flush_log_at_trx_commit", "1", &["1"]),
];
pub(super) const MARIADB_LOGS: [Log; 2] = [("sync_binlog", "0", &["1"]), MARIADB_ENGINE_LOG];
pub(super) const MARIADB_ENGINE_LOG: Log = ("innodb_flush_log_at_trx_commit", "1", &["1", "3"]);
/// By default, replicas sync it every 10,000 events.
const RELAY_LOG: Log = ("sync_relay_log", "10000", &["1"]);

/// Settings that store commits on disk before they are acknowledged.
pub(super) const DURABLE: StaticSettings = &[
    ("sync_binlog", "1"),
    ("innodb_flush_log_at_trx_commit", "1"),
];

pub(super) const PRIMARY: &str = "the primary";

/// Where a commit is stored at members that have written it to these logs.
pub(super) fn written(config: &Configured<'_>, logs: &[Log], by: &str) -> String {
    let unsynced = logs.iter().find_map(|(name, default, synced)| {
        let value = config.value(name, default);
        (!synced.contains(&value.as_str())).then(|| format!("memory of {by} ({name} = {value})"))
    });
    unsynced.unwrap_or_else(|| format!("disk of {by}"))
}

/// Where a commit is stored when it is acknowledged, under these settings of semi-synchronous
/// replication.
pub(super) fn semi_synchronous(
    config: &Configured<'_>,
    logs: &[Log],
    prefix: &str,
    wait_point: &str,
) -> String {
    let primary = written(config, logs, PRIMARY);
    if config.members < 2 {
        return primary;
    }
    let value = |name: &str, default: &str| config.value(&format!("{prefix}_{name}"), default);
    let replicas = match value("wait_for_replica_count", "1").as_str() {
        "1" => "one replica".to_owned(),
        count => format!("{count} replicas"),
    };
    let replicas = written(config, &[RELAY_LOG], &replicas);
    let timeout = value("timeout", "10000");
    let timeout = match timeout.parse().map(Duration::from_millis) {
        Ok(timeout) => format_duration(timeout),
        Err(_) => timeout,
    };
    let shown = match value("wait_point", wait_point).as_str() {
        "after_commit" => ", which others see earlier (AFTER_COMMIT)",
        _ => "",
    };
    format!("{primary}, {replicas}, if received within {timeout}{shown}")
}
