//! The counters of a server with a binary log about its replication.

use client::mysql::{Connection, Error};

use super::counters::Key;
use super::gtid;
use super::log_dialect::GTID_IO_POS;
use crate::counters::Reading;
use crate::replication::cell;

/// Whether the server refuses writes, which transactions it has received but not applied, how many
/// wait in its group's queue, and the age of what it applies, in milliseconds; NULL where not
/// applicable.
const MYSQL: &str = "SELECT @@global.read_only, \
     (SELECT GTID_SUBTRACT(received_transaction_set, @@global.gtid_executed) \
      FROM performance_schema.replication_connection_status WHERE channel_name = ''), \
     (SELECT count_transactions_remote_in_applier_queue \
      FROM performance_schema.replication_group_member_stats WHERE member_id = @@server_uuid), \
     (SELECT IF(COUNT(*) = 0, NULL, COALESCE(MAX(IF(applying_transaction = '', 0, \
      TIMESTAMPDIFF(MICROSECOND, applying_transaction_original_commit_timestamp, NOW(6)) DIV 1000 \
      )), 0)) FROM performance_schema.replication_applier_status_by_worker)";
/// Whether the server refuses writes, and which transactions it has applied.
const MARIADB: &str = "SELECT @@global.read_only, @@global.gtid_slave_pos";
const MARIADB_STATUS: &str = "SHOW REPLICA STATUS";
/// The column of `Seconds_Behind_Master`.
const SECONDS_BEHIND: usize = 32;

/// Adds the server's answers to a reading. `is_running`: according to MariaDB's status, it is a
/// replica.
pub(super) async fn read(
    connection: &mut Connection,
    is_running: bool,
    reading: &mut Reading,
) -> Result<(), Error> {
    let is_mariadb = connection.is_mariadb();
    let query = if is_mariadb { MARIADB } else { MYSQL };
    let rows = connection.rows(query).await?;
    let Some(row) = rows.first() else {
        return Ok(());
    };
    if reading.get(Key::AcceptsWrites).is_none() {
        let accepts_writes = matches!(cell(row, 0), "0" | "OFF");
        reading.set(Key::AcceptsWrites, Some(u64::from(accepts_writes)));
    }
    if !is_mariadb {
        take_mysql(row, reading);
    } else if is_running {
        let status = connection.rows(MARIADB_STATUS).await?;
        if let Some(status) = status.first() {
            take_mariadb(row, status, reading);
        }
    }
    Ok(())
}

fn take_mysql(row: &[Option<String>], reading: &mut Reading) {
    let received = row.get(1).and_then(Option::as_deref).map(gtid::count);
    let in_group = cell(row, 2).parse().ok();
    reading.set(Key::ApplyQueue, received.or(in_group));
    // The clocks of two hosts may differ.
    let lag_ms = cell(row, 3).parse::<i64>().ok();
    let lag_ms = lag_ms.map(|lag_ms| u64::try_from(lag_ms).unwrap_or(0));
    reading.set(Key::LagMs, lag_ms);
}

fn take_mariadb(row: &[Option<String>], status: &[Option<String>], reading: &mut Reading) {
    let [received, applied] = [cell(status, GTID_IO_POS), cell(row, 1)].map(gtid::last);
    let waiting = received.saturating_sub(applied);
    reading.set(Key::ApplyQueue, Some(waiting));
    let lag_s = cell(status, SECONDS_BEHIND).parse::<u64>().ok();
    let lag_ms = lag_s.and_then(|seconds| seconds.checked_mul(1000));
    reading.set(Key::LagMs, lag_ms);
}
