//! The connection on which a server's counters are read.

use std::sync::Arc;
use std::time::Instant;

use client::mysql::{Connection, Error, Target};

use super::counters::{Key, REPLICA_RUNNING, TABLE, is_on, status_query, take_status};
use super::flavor::Flavor;
use super::gtid;
use super::log_dialect::GTID_IO_POS;
use crate::counters::{Asking, LIMIT, Reading, Source};
use crate::remote::Rows;
use crate::replication::cell;

/// Whether the server refuses writes, which transactions it has received but not applied, how many
/// wait in its group's queue, and the age of what it applies, in milliseconds; NULL where not
/// applicable.
const MYSQL_REPLICATION: &str = "SELECT @@global.read_only, \
     (SELECT GTID_SUBTRACT(received_transaction_set, @@global.gtid_executed) \
      FROM performance_schema.replication_connection_status WHERE channel_name = ''), \
     (SELECT count_transactions_remote_in_applier_queue \
      FROM performance_schema.replication_group_member_stats WHERE member_id = @@server_uuid), \
     (SELECT IF(COUNT(*) = 0, NULL, COALESCE(MAX(IF(applying_transaction = '', 0, \
      TIMESTAMPDIFF(MICROSECOND, applying_transaction_original_commit_timestamp, NOW(6)) DIV 1000 \
      )), 0)) FROM performance_schema.replication_applier_status_by_worker)";
/// Whether the server refuses writes, and which transactions it has applied.
const MARIADB_REPLICATION: &str = "SELECT @@global.read_only, @@global.gtid_slave_pos";
const MARIADB_STATUS: &str = "SHOW REPLICA STATUS";
/// The column of `Seconds_Behind_Master`.
const SECONDS_BEHIND: usize = 32;

/// A server and the connection to it.
pub(super) struct Feed {
    target: Arc<Target>,
    query: String,
    connection: Option<Connection>,
    /// Whether the account may read InnoDB's metrics.
    may_read_metrics: bool,
    /// Whether the server has a binary log and the account may read how it replicates.
    may_replicate: bool,
    /// Sizes of the database's tables and of the buffer pool when the connection was opened.
    sizes: [Option<u64>; 2],
}

impl Source for Feed {
    fn read(&mut self) -> Asking<'_, Option<Reading>> {
        Box::pin(async { self.try_to_ask().await.ok() })
    }

    fn leave(&mut self) -> Asking<'_, ()> {
        Box::pin(async {
            if let Some(connection) = self.connection.take() {
                connection.close().await;
            }
        })
    }
}

impl Feed {
    pub(super) fn new(target: Arc<Target>) -> Self {
        Self {
            target,
            query: status_query(),
            connection: None,
            may_read_metrics: true,
            may_replicate: false,
            sizes: [None; 2],
        }
    }

    /// A connection that fails during a reply is useless, so it is put back only after a complete
    /// one.
    async fn try_to_ask(&mut self) -> Result<Reading, Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let rows = connection.rows(&self.query).await?;
        let mut reading = Reading::new(&TABLE, Instant::now());
        take_status(&mut reading, &rows);
        if let (Some(query), true) = (
            Flavor::behind(&connection).history_query,
            self.may_read_metrics,
        ) {
            let rows = allowed(connection.rows(query).await)?;
            self.may_read_metrics = rows.is_some();
            let length = rows.as_ref().and_then(number);
            reading.set(Key::HistoryLength, length);
        }
        if self.may_replicate {
            let is_running = is_on(&rows, REPLICA_RUNNING);
            let read = read_replication(&mut connection, is_running, &mut reading).await;
            self.may_replicate = allowed(read)?.is_some();
        }
        let [data, pool] = self.sizes;
        reading.set(Key::DataSetBytes, data);
        reading.set(Key::PoolBytes, pool);
        self.connection = Some(connection);
        Ok(reading)
    }

    async fn connect(&mut self) -> Result<Connection, Error> {
        let mut connection = Connection::open_within(LIMIT, &self.target).await?;
        let table = Flavor::behind(&connection).tablespaces;
        // From the files: information_schema.TABLES may be outdated.
        let data = format!(
            "SELECT CAST(SUM(file_size) AS UNSIGNED) FROM information_schema.{table} \
             WHERE SUBSTRING_INDEX(name, '/', 1) = DATABASE()"
        );
        for (size, sql) in self
            .sizes
            .iter_mut()
            .zip([data.as_str(), "SELECT @@innodb_buffer_pool_size"])
        {
            let rows = allowed(connection.rows(sql).await)?;
            *size = rows.as_ref().and_then(number);
        }
        let has_log = allowed(connection.rows("SELECT @@global.log_bin").await)?;
        self.may_replicate = has_log.as_ref().and_then(number) == Some(1);
        Ok(connection)
    }
}

/// `None` if the server refuses the query; other errors are returned.
fn allowed<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Statement { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The number in a reply with a single cell.
fn number(rows: &Rows) -> Option<u64> {
    rows.first()?.first()?.as_deref()?.parse().ok()
}

/// Adds the server's answers to a reading. `is_running`: according to MariaDB's status, it is a
/// replica.
async fn read_replication(
    connection: &mut Connection,
    is_running: bool,
    reading: &mut Reading,
) -> Result<(), Error> {
    let is_mariadb = connection.is_mariadb();
    let query = match is_mariadb {
        true => MARIADB_REPLICATION,
        false => MYSQL_REPLICATION,
    };
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use client::mysql::TlsOptions;
    use client::reactor::Reactor;
    use testkit::{MariaDb, MySql, Server};

    use super::super::counters::COUNTERS;
    use super::*;
    use crate::counters::Kind;

    /// Status variables as the server's own client shows them.
    fn status(server: &Server) -> BTreeMap<String, u64> {
        let rows = server.sql("SHOW GLOBAL STATUS").into_iter();
        rows.filter_map(|row| Some((row[0].to_lowercase(), row.get(1)?.parse().ok()?)))
            .collect()
    }

    /// Every counter lies between what the server reported before and after.
    fn check(server: &Server) {
        let target = Target::parse(&server.url("sbtest"), None, "root", &TlsOptions::default());
        let mut feed = Feed::new(Arc::new(target.unwrap()));
        let reactor = Reactor::new().unwrap();
        reactor.block_on(feed.try_to_ask()).unwrap().unwrap();
        assert_eq!(feed.sizes[0], None, "there is no table yet");
        server.sql("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(200))");
        for _ in 0..2 {
            server.sql(&"INSERT INTO t (c) VALUES (REPEAT('x', 200));".repeat(50));
            let before = status(server);
            let raw = reactor.block_on(feed.try_to_ask()).unwrap().unwrap();
            let after = status(server);
            for (place, counter) in COUNTERS.iter().enumerate() {
                let name = counter.source.to_lowercase();
                let value = raw.get(place);
                if name.is_empty() {
                    continue;
                } else if !before.contains_key(&name) {
                    let others = [Key::CheckpointAgeBytes, Key::HistoryLength];
                    let is_from_elsewhere = others.map(usize::from).contains(&place);
                    assert!(value.is_none() || is_from_elsewhere, "{name}");
                } else if counter.kind == Kind::Level {
                    assert!(value.is_some(), "{name}");
                } else {
                    let value = value.unwrap();
                    assert!(before[&name] <= value && value <= after[&name], "{name}");
                }
            }
            assert_eq!(raw.get(Key::PoolBytes), Some(64 << 20));
            assert!(raw.get(Key::HistoryLength).is_some());
            assert!(raw.get(Key::CheckpointAgeBytes).is_some());
        }
        // The size includes the table and nothing of the server's own.
        feed.connection = None;
        let raw = reactor.block_on(feed.try_to_ask()).unwrap().unwrap();
        let size = raw.get(Key::DataSetBytes).unwrap();
        assert!((16 << 10..=4 << 20).contains(&size), "{size}");
    }

    #[test]
    fn what_is_read_is_what_the_server_says() {
        check(&MariaDb::start(&["--innodb-buffer-pool-size=64M"]));
        check(&MySql::start(&["--innodb-buffer-pool-size=64M"]));
    }

    #[test]
    fn an_account_without_rights_reads_what_it_may() {
        let server = MySql::start(&[]);
        server.sql("CREATE USER u@'%'; GRANT SELECT ON sbtest.* TO u@'%'");
        let url = format!("mysql://u@127.0.0.1:{}/sbtest", server.port());
        let target = Target::parse(&url, None, "u", &TlsOptions::default());
        let mut feed = Feed::new(Arc::new(target.unwrap()));
        let reactor = Reactor::new().unwrap();
        for _ in 0..2 {
            let raw = reactor.block_on(feed.try_to_ask()).unwrap().unwrap();
            assert!(raw.get(Key::DataReads).is_some());
            assert_eq!(raw.get(Key::HistoryLength), None);
        }
    }
}
