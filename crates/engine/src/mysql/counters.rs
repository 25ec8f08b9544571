//! The server's counters: InnoDB's part of `SHOW GLOBAL STATUS`.
//!
//! MariaDB and MySQL have different counters, which also differ among versions; a counter that a
//! server does not have is absent.

use std::sync::LazyLock;
use std::time::Instant;

use client::mysql::{Connection, Error, Mysql};

use super::flavor::Flavor;
use super::gtid;
use super::log_dialect::GTID_IO_POS;
use crate::counters::{Feed, Metrics, Reading, Step, counters, percent, quotient};
use crate::remote::{Rows, first_number};
use crate::replication::cell;

const MB: f64 = 1024.0 * 1024.0;
const NS_PER_S: f64 = 1e9;
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
/// The column of `Seconds_Behind_Master`; see [`GTID_IO_POS`].
const SECONDS_BEHIND: usize = 32;

counters! {
    UptimeS             Count "Uptime" ""
    PoolRequests        Count "Innodb_buffer_pool_read_requests" "cache.requests_per_s"
    PoolReads           Count "Innodb_buffer_pool_reads" "cache.misses_per_s"
    PoolDataBytes       Level "Innodb_buffer_pool_bytes_data" "cache.data_bytes"
    PoolDirtyPages      Level "Innodb_buffer_pool_pages_dirty" ""
    PoolPages           Level "Innodb_buffer_pool_pages_total" ""
    PagesRead           Count "Innodb_pages_read" "io.pages_read_per_s"
    PagesWritten        Count "Innodb_pages_written" "io.pages_written_per_s"
    DoublewriteWrites   Count "Innodb_dblwr_writes" "io.doublewrite_writes_per_s"
    DoublewritePages    Count "Innodb_dblwr_pages_written" "io.doublewrite_pages_per_s"
    DataReads           Count "Innodb_data_reads" "io.reads_per_s"
    DataWrites          Count "Innodb_data_writes" "io.writes_per_s"
    DataFsyncs          Count "Innodb_data_fsyncs" "io.fsyncs_per_s"
    LogWrites           Count "Innodb_log_writes" "log.writes_per_s"
    // MariaDB lacks it since 10.8.
    LogFsyncs           Count "Innodb_os_log_fsyncs" "log.fsyncs_per_s"
    LogBytes            Count "Innodb_os_log_written" ""
    // MySQL.
    CurrentLsn          Count "Innodb_redo_log_current_lsn" ""
    CheckpointLsn       Count "Innodb_redo_log_checkpoint_lsn" ""
    // MariaDB; MySQL has the length in INNODB_METRICS.
    CheckpointAgeBytes  Level "Innodb_checkpoint_age" "log.checkpoint_age_bytes"
    HistoryLength       Level "Innodb_history_list_length" "log.history_length"
    RowLockWaits        Count "Innodb_row_lock_waits" "locks.waits_per_s"
    RowLockMs           Count "Innodb_row_lock_time" "locks.wait_ms_per_s"
    // Sizes of the database's tables and of the buffer pool, from separate queries.
    DataSetBytes        Level "" ""
    PoolBytes           Level "" ""
    // From the status for Galera; from separate queries for other kinds of clusters.
    AcceptsWrites       Level "" "replication.is_primary"
    LagMs               Level "" ""
    ApplyQueue          Level "wsrep_local_recv_queue" "replication.apply_queue_transactions"
    PausedNs            Count "wsrep_flow_control_paused_ns" ""
}

/// Whether a member of a Galera cluster accepts statements: `ON` or `OFF`; `OFF` on other servers.
const GALERA_READY: &str = "wsrep_ready";
/// Whether a replica of MariaDB receives and applies transactions: `ON` or `OFF`.
const REPLICA_RUNNING: &str = "Slave_running";

static STATUS_QUERY: LazyLock<String> = LazyLock::new(|| {
    let names = COUNTERS.iter().map(|counter| counter.source);
    let names = names.filter(|name| !name.is_empty());
    let names: Vec<_> = names.chain([GALERA_READY, REPLICA_RUNNING]).collect();
    format!(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('{}')",
        names.join("', '")
    )
});

fn is_on(rows: &Rows, name: &str) -> bool {
    let mut rows = rows.iter();
    rows.any(|row| matches!(row.as_slice(), [Some(n), Some(v), ..] if n.eq_ignore_ascii_case(name) && v == "ON"))
}

/// Takes the rows of [`STATUS_QUERY`]; other rows are ignored.
fn take_status(reading: &mut Reading, rows: &Rows) {
    for row in rows {
        if let [Some(name), Some(value), ..] = row.as_slice()
            && let Some(counter) = COUNTERS
                .iter()
                .position(|one| one.source.eq_ignore_ascii_case(name))
        {
            reading.set(counter, value.parse().ok());
        }
    }
    if reading.get(Key::ApplyQueue).is_some() {
        let is_ready = u64::from(is_on(rows, GALERA_READY));
        reading.set(Key::AcceptsWrites, Some(is_ready));
    }
    let lsns = reading
        .get(Key::CurrentLsn)
        .zip(reading.get(Key::CheckpointLsn));
    if let Some((now, checkpoint)) = lsns {
        reading.set(Key::CheckpointAgeBytes, now.checked_sub(checkpoint));
    }
}

fn derived(step: &Step) -> Metrics {
    let get = |key: Key| step.get(key);
    let share = |(part, all)| percent(part, all);
    let pages = get(Key::PoolDirtyPages).zip(get(Key::PoolPages));
    let sizes = get(Key::DataSetBytes).zip(get(Key::PoolBytes));
    let ratio = |(data, pool)| quotient(data, pool);
    let paused = get(Key::PausedNs).map(|paused| (paused, NS_PER_S));
    vec![
        ("log.mb_per_s", get(Key::LogBytes).map(|bytes| bytes / MB)),
        ("cache.hit_pct", hit_rate(get)),
        ("io.read_pct", io_read_share(get)),
        ("cache.dirty_pct", pages.and_then(share)),
        ("cache.working_set_ratio", sizes.and_then(ratio)),
        ("replication.lag_s", get(Key::LagMs).map(|ms| ms / 1000.0)),
        ("replication.flow_control_pct", paused.and_then(share)),
    ]
}

fn hit_rate(get: impl Fn(Key) -> Option<f64>) -> Option<f64> {
    let (reads, requests) = (get(Key::PoolReads)?, get(Key::PoolRequests)?);
    percent(requests - reads, requests).map(|rate| rate.max(0.0))
}

/// MariaDB since 10.8 does not count fsyncs of the log separately, and does not count writes of the
/// log among those of its files either.
fn io_read_share(get: impl Fn(Key) -> Option<f64>) -> Option<f64> {
    let (reads, mut writes) = (get(Key::DataReads)?, get(Key::DataWrites)?);
    if get(Key::LogFsyncs).is_none() {
        writes += get(Key::LogWrites)?;
    }
    percent(reads, reads + writes)
}

#[derive(Default)]
pub(crate) struct StatusFeed {
    /// Whether the server has denied the account access to InnoDB's metrics.
    refuses_metrics: bool,
    /// Whether the server has a binary log and the account may read how it replicates.
    may_replicate: bool,
    /// Sizes of the database's tables and of the buffer pool when the connection was opened.
    sizes: [Option<u64>; 2],
}

impl Feed<Mysql> for StatusFeed {
    async fn begin(&mut self, connection: &mut Connection) -> Result<(), Error> {
        let table = Flavor::behind(connection).tablespaces;
        // From the files: information_schema.TABLES may be outdated.
        let data = format!(
            "SELECT CAST(SUM(file_size) AS UNSIGNED) FROM information_schema.{table} \
             WHERE SUBSTRING_INDEX(name, '/', 1) = DATABASE()"
        );
        let mut ask = async |sql: &str| {
            let rows = allowed(connection.rows(sql).await)?;
            Ok::<_, Error>(rows.and_then(first_number))
        };
        self.sizes = [
            ask(&data).await?,
            ask("SELECT @@innodb_buffer_pool_size").await?,
        ];
        self.may_replicate = ask("SELECT @@global.log_bin").await? == Some(1);
        Ok(())
    }

    async fn read(&mut self, connection: &mut Connection) -> Result<Reading, Error> {
        let rows = connection.rows(&STATUS_QUERY).await?;
        let mut reading = Reading::new(&TABLE, Instant::now());
        take_status(&mut reading, &rows);
        let history_query = Flavor::behind(connection).history_query;
        if let Some(query) = history_query.filter(|_| !self.refuses_metrics) {
            let rows = allowed(connection.rows(query).await)?;
            self.refuses_metrics = rows.is_none();
            reading.set(Key::HistoryLength, rows.and_then(first_number));
        }
        if self.may_replicate {
            let is_running = is_on(&rows, REPLICA_RUNNING);
            let read = read_replication(connection, is_running, &mut reading).await;
            self.may_replicate = allowed(read)?.is_some();
        }
        let [data, pool] = self.sizes;
        reading.set(Key::DataSetBytes, data);
        reading.set(Key::PoolBytes, pool);
        Ok(reading)
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
    use std::sync::Arc;
    use std::time::Duration;

    use client::mysql::{Target, TlsOptions};
    use client::reactor::Reactor;
    use testkit::{MariaDb, MySql, Server};

    use super::*;
    use crate::counters::{Kind, Source, derive};

    fn rows(pairs: &[(&str, &str)]) -> Rows {
        let cell = |text: &str| Some(text.to_owned());
        let row = |(name, value): &(&str, &str)| vec![cell(name), cell(value)];
        pairs.iter().map(row).collect()
    }

    fn raw(at: Instant, pairs: &[(&str, &str)]) -> Reading {
        let mut raw = Reading::new(&TABLE, at);
        take_status(&mut raw, &rows(pairs));
        raw
    }

    fn put(step: &Step) -> BTreeMap<&'static str, f64> {
        let known = step.metrics().into_iter();
        known
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// What MariaDB 10.11 said before and after a hundred commits and a flush of all
    /// pages.
    const MARIADB: [(&str, &str, &str); 11] = [
        ("Innodb_buffer_pool_read_requests", "1227", "2227"),
        ("Innodb_buffer_pool_reads", "170", "175"),
        ("Innodb_checkpoint_age", "356", "7467"),
        ("Innodb_data_fsyncs", "3", "118"),
        ("Innodb_data_reads", "179", "287"),
        ("Innodb_data_writes", "0", "329"),
        ("Innodb_history_list_length", "0", "101"),
        ("Innodb_log_writes", "1", "104"),
        ("Innodb_os_log_written", "356", "1048932"),
        ("Innodb_row_lock_time", "0", "500"),
        ("Uptime", "9", "11"),
    ];

    #[test]
    fn mariadbs_counters_become_rates_and_quotients() {
        let start = Instant::now();
        let before = raw(start, &MARIADB.map(|(name, before, _)| (name, before)));
        let after = MARIADB.map(|(name, _, after)| (name, after));
        let after = raw(start + Duration::from_secs(2), &after);
        let values = put(&derive(&before, &after).unwrap());
        assert_eq!(values["io.fsyncs_per_s"], 57.5);
        assert_eq!(values["cache.hit_pct"], 99.5);
        assert_eq!(values["log.checkpoint_age_bytes"], 7467.0);
        assert_eq!(values["locks.wait_ms_per_s"], 250.0);
        assert_eq!(values["log.mb_per_s"], 0.5);
        // 108 reads, 329 writes of data and 103 of the log.
        assert_eq!(values["io.read_pct"], 20.0);
        assert!(!values.contains_key("log.fsyncs_per_s"));
        assert!(!values.contains_key("cache.dirty_pct"));
    }

    #[test]
    fn mysqls_checkpoint_age_is_a_difference_and_its_writes_hold_the_logs() {
        let start = Instant::now();
        let before = raw(
            start,
            &[
                ("Innodb_data_reads", "100"),
                ("Innodb_data_writes", "100"),
                ("Innodb_log_writes", "60"),
                ("Innodb_os_log_fsyncs", "16"),
            ],
        );
        let after = raw(
            start + Duration::from_secs(1),
            &[
                ("innodb_data_reads", "175"),
                ("innodb_data_writes", "125"),
                ("innodb_log_writes", "75"),
                ("innodb_os_log_fsyncs", "26"),
                ("innodb_redo_log_current_lsn", "19466619"),
                ("innodb_redo_log_checkpoint_lsn", "19466000"),
            ],
        );
        let values = put(&derive(&before, &after).unwrap());
        assert_eq!(values["log.checkpoint_age_bytes"], 619.0);
        assert_eq!(values["log.fsyncs_per_s"], 10.0);
        assert_eq!(values["io.read_pct"], 75.0);
    }

    #[test]
    fn shares_of_several_servers_are_quotients_of_sums() {
        let start = Instant::now();
        let step = |requests: &str, reads: &str| {
            let names = [
                "Innodb_buffer_pool_read_requests",
                "Innodb_buffer_pool_reads",
            ];
            let before = raw(start, &[(names[0], "0"), (names[1], "0")]);
            let after = [(names[0], requests), (names[1], reads)];
            derive(&before, &raw(start + Duration::from_secs(1), &after)).unwrap()
        };
        let mut both = step("900", "0");
        both.add(&step("100", "100"));
        assert_eq!(put(&both)["cache.hit_pct"], 90.0);
    }

    #[test]
    fn a_server_that_was_started_anew_is_absent() {
        let start = Instant::now();
        let aged = |at_s, uptime: &str, reads: &str| {
            let pairs = [("Uptime", uptime), ("Innodb_data_reads", reads)];
            raw(start + Duration::from_secs(at_s), &pairs)
        };
        assert!(derive(&aged(0, "100", "5"), &aged(60, "160", "6")).is_some());
        assert!(derive(&aged(0, "100", "5"), &aged(60, "30", "6")).is_none());
        assert!(derive(&aged(0, "2", "5"), &aged(60, "40", "6000")).is_none());
        // A single counter that was reset removes only its own metric.
        let step = derive(&aged(0, "100", "5"), &aged(1, "101", "4")).unwrap();
        assert_eq!(step.get(Key::DataReads), None);
    }

    #[test]
    fn what_a_server_should_not_send_is_passed_over() {
        let mut raw = Reading::new(&TABLE, Instant::now());
        let mut bad = rows(&[
            ("Uptime", "-1"),
            ("Innodb_data_reads", "99999999999999999999999"),
            ("Innodb_log_writes", ""),
            ("Other", "3"),
        ]);
        bad.extend([vec![], vec![None, None], vec![Some("Uptime".into())]]);
        take_status(&mut raw, &bad);
        assert!((0..COUNTERS.len()).all(|key| raw.get(key).is_none()));
    }

    #[test]
    fn every_plain_metric_is_in_the_table() {
        for counter in COUNTERS.iter().filter(|one| !one.metric.is_empty()) {
            let name = format!("server.{}", counter.metric);
            let metric = measure::metric::Metric::find(&name).unwrap();
            let is_level = metric.reading == measure::metric::Reading::Level;
            assert_eq!(is_level, counter.kind == Kind::Level, "{name}");
        }
    }

    /// Status variables as the server's own client shows them.
    fn status(server: &Server) -> BTreeMap<String, u64> {
        let rows = server.sql("SHOW GLOBAL STATUS").into_iter();
        rows.filter_map(|row| Some((row[0].to_lowercase(), row.get(1)?.parse().ok()?)))
            .collect()
    }

    /// Every counter lies between what the server reported before and after.
    fn check(server: &Server) {
        let target = Target::parse(&server.url("sbtest"), None, "root", &TlsOptions::default());
        let mut source = Source::<Mysql>::new(Arc::new(target.unwrap()));
        let reactor = Reactor::new().unwrap();
        reactor.block_on(source.read()).unwrap().unwrap();
        assert_eq!(source.feed.sizes[0], None, "there is no table yet");
        server.sql("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(200))");
        for _ in 0..2 {
            server.sql(&"INSERT INTO t (c) VALUES (REPEAT('x', 200));".repeat(50));
            let before = status(server);
            let raw = reactor.block_on(source.read()).unwrap().unwrap();
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
        source.connection = None;
        let raw = reactor.block_on(source.read()).unwrap().unwrap();
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
        let mut source = Source::<Mysql>::new(Arc::new(target.unwrap()));
        let reactor = Reactor::new().unwrap();
        for _ in 0..2 {
            let raw = reactor.block_on(source.read()).unwrap().unwrap();
            assert!(raw.get(Key::DataReads).is_some());
            assert_eq!(raw.get(Key::HistoryLength), None);
        }
    }
}
