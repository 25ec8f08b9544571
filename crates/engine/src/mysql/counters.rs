//! The server's counters: InnoDB's part of `SHOW GLOBAL STATUS`.
//!
//! MariaDB and MySQL have different counters, which also differ among versions; a counter that a
//! server does not have is absent.

use crate::counters::{Metrics, Reading, Step, Table, counters, percent, quotient};
use crate::remote::Rows;

const MB: f64 = 1024.0 * 1024.0;
const NS_PER_S: f64 = 1e9;

pub(super) static TABLE: Table = Table {
    counters: COUNTERS,
    uptime: Key::UptimeS as usize,
    derived,
};

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
pub(super) const REPLICA_RUNNING: &str = "Slave_running";

pub(super) fn status_query() -> String {
    let names = COUNTERS.iter().map(|counter| counter.source);
    let names = names.filter(|name| !name.is_empty());
    let names: Vec<_> = names.chain([GALERA_READY, REPLICA_RUNNING]).collect();
    format!(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('{}')",
        names.join("', '")
    )
}

/// Whether a status variable is `ON`.
pub(super) fn is_on(rows: &Rows, name: &str) -> bool {
    let mut rows = rows.iter();
    rows.any(|row| matches!(row.as_slice(), [Some(n), Some(v), ..] if n.eq_ignore_ascii_case(name) && v == "ON"))
}

/// Takes the rows of [`status_query`]; other rows are ignored.
pub(super) fn take_status(reading: &mut Reading, rows: &Rows) {
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::counters::derive;

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

    fn put(step: &Step) -> std::collections::BTreeMap<&'static str, f64> {
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
            assert_eq!(
                is_level,
                counter.kind == crate::counters::Kind::Level,
                "{name}"
            );
        }
    }
}
