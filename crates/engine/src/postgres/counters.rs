//! The server's counters: the statistics views, in the columns that its version has.
//!
//! Backends publish their counters at the end of a transaction, at most once a second (twice before
//! PostgreSQL 15), so the value of a second may include part of the previous one; over a phase of
//! the load, the error is less than one second's worth. Positions in the log and the waits of
//! sessions are current.

use crate::counters::{Metrics, Step, Table, percent, quotient};

const MB: f64 = 1024.0 * 1024.0;

/// For code that all engines share.
pub(super) static TABLE: Table = Table {
    count: KEYS,
    uptime: Key::UptimeS as usize,
    is_level: |counter| LEVELS.iter().any(|level| *level as usize == counter),
    metrics,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    UptimeS,
    CacheHits,
    CacheMisses,
    CheckpointerPages,
    WriterPages,
    SessionPages,
    Reads,
    Writes,
    Fsyncs,
    TempBytes,
    LogWrites,
    LogFsyncs,
    LogBytes,
    CheckpointAgeBytes,
    CheckpointsTimed,
    CheckpointsRequested,
    DeadRows,
    Vacuums,
    Replicas,
    ReplicationLagBytes,
    ApplyQueueBytes,
    LagMs,
    IsPrimary,
    Deadlocks,
    Commits,
    Rollbacks,
    RowsRead,
    RowsInserted,
    RowsUpdated,
    RowsDeleted,
    /// Sessions that are waiting at the time of the query.
    WaitForLocks,
    WaitForReads,
    WaitForLog,
    WaitForLatches,
    /// The waits of sessions summed over time, in milliseconds.
    LockMs,
    ReadMs,
    LogMs,
    LatchMs,
    /// Sizes of the database's tables and of the shared buffers.
    DataSetBytes,
    BufferBytes,
}

const KEYS: usize = Key::BufferBytes as usize + 1;

/// Number of waiting sessions, and their waits summed over time.
pub(super) const WAITS: [(Key, Key); 4] = [
    (Key::WaitForLocks, Key::LockMs),
    (Key::WaitForReads, Key::ReadMs),
    (Key::WaitForLog, Key::LogMs),
    (Key::WaitForLatches, Key::LatchMs),
];

/// Metrics that need no calculation: the rate of a counter, or a level.
const PLAIN: [(&str, Key); 26] = [
    ("cache.misses_per_s", Key::CacheMisses),
    ("io.pages_read_per_s", Key::CacheMisses),
    ("io.session_pages_written_per_s", Key::SessionPages),
    ("io.reads_per_s", Key::Reads),
    ("io.writes_per_s", Key::Writes),
    ("io.fsyncs_per_s", Key::Fsyncs),
    ("io.read_wait_ms_per_s", Key::ReadMs),
    ("log.writes_per_s", Key::LogWrites),
    ("log.fsyncs_per_s", Key::LogFsyncs),
    ("log.wait_ms_per_s", Key::LogMs),
    ("log.checkpoint_age_bytes", Key::CheckpointAgeBytes),
    ("vacuum.dead_rows", Key::DeadRows),
    ("vacuum.running", Key::Vacuums),
    ("replication.replicas", Key::Replicas),
    ("replication.lag_bytes", Key::ReplicationLagBytes),
    ("replication.apply_queue_bytes", Key::ApplyQueueBytes),
    ("replication.is_primary", Key::IsPrimary),
    ("locks.wait_ms_per_s", Key::LockMs),
    ("locks.deadlocks_per_s", Key::Deadlocks),
    ("locks.latch_wait_ms_per_s", Key::LatchMs),
    ("transactions.commits_per_s", Key::Commits),
    ("transactions.rollbacks_per_s", Key::Rollbacks),
    ("rows.read_per_s", Key::RowsRead),
    ("rows.inserted_per_s", Key::RowsInserted),
    ("rows.updated_per_s", Key::RowsUpdated),
    ("rows.deleted_per_s", Key::RowsDeleted),
];

/// Keys that are not counts since the server's start.
const LEVELS: [Key; 14] = [
    Key::CheckpointAgeBytes,
    Key::DeadRows,
    Key::Vacuums,
    Key::Replicas,
    Key::ReplicationLagBytes,
    Key::ApplyQueueBytes,
    Key::LagMs,
    Key::IsPrimary,
    Key::WaitForLocks,
    Key::WaitForReads,
    Key::WaitForLog,
    Key::WaitForLatches,
    Key::DataSetBytes,
    Key::BufferBytes,
];

/// The major versions that have a column: the first one, and the first one that lacks it again.
type Versions = (u64, u64);

const ALL: Versions = (0, u64::MAX);
const SINCE_16: Versions = (16, u64::MAX);
const SINCE_17: Versions = (17, u64::MAX);
const SINCE_18: Versions = (18, u64::MAX);

/// The expression for each counter. A log that is opened with `O_SYNC` has no fsyncs to count.
#[rustfmt::skip] // A line for each.
const COLUMNS: [(Key, Versions, &str); 45] = [
    (Key::UptimeS, ALL, "floor(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()))::bigint"),
    (Key::CacheHits, ALL, "d.hits"),
    (Key::CacheMisses, ALL, "d.misses"),
    (Key::CheckpointerPages, (0, 17), "b.buffers_checkpoint"),
    (Key::CheckpointerPages, SINCE_17, "c.buffers_written"),
    (Key::WriterPages, ALL, "b.buffers_clean"),
    (Key::SessionPages, (0, 17), "b.buffers_backend"),
    (Key::SessionPages, SINCE_17, "i.session_pages"),
    // Each page is read or written by a call of its own.
    (Key::Reads, (0, 16), "d.misses"),
    (Key::Reads, SINCE_16, "i.reads"),
    (Key::Writes, (14, 16), "b.buffers_checkpoint + b.buffers_clean + b.buffers_backend + w.wal_write"),
    (Key::Writes, (16, 18), "i.writes + w.wal_write"),
    (Key::Writes, SINCE_18, "i.writes"),
    (Key::Fsyncs, (16, 18), "i.fsyncs + w.wal_sync"),
    (Key::Fsyncs, SINCE_18, "i.fsyncs"),
    (Key::TempBytes, ALL, "d.temp_bytes"),
    (Key::LogWrites, (14, 18), "w.wal_write"),
    (Key::LogWrites, SINCE_18, "i.log_writes"),
    (Key::LogFsyncs, (14, 18), "CASE WHEN current_setting('wal_sync_method') NOT LIKE 'open%' THEN w.wal_sync END"),
    (Key::LogFsyncs, SINCE_18, "CASE WHEN current_setting('wal_sync_method') NOT LIKE 'open%' THEN i.log_fsyncs END"),
    (Key::LogBytes, ALL, "l.now - '0/0'::pg_lsn"),
    (Key::CheckpointAgeBytes, ALL, "l.now - l.redo_lsn"),
    (Key::CheckpointsTimed, (0, 17), "b.checkpoints_timed"),
    (Key::CheckpointsTimed, SINCE_17, "c.num_timed"),
    (Key::CheckpointsRequested, (0, 17), "b.checkpoints_req"),
    (Key::CheckpointsRequested, SINCE_17, "c.num_requested"),
    (Key::DeadRows, ALL, "(SELECT sum(pg_stat_get_dead_tuples(oid)) FROM pg_class WHERE relkind IN ('r', 'm') AND oid >= 16384)"),
    (Key::Vacuums, ALL, "(SELECT count(*) FROM pg_stat_progress_vacuum)"),
    (Key::Replicas, ALL, "(SELECT nullif(count(*), 0) FROM pg_stat_replication WHERE state = 'streaming')"),
    (Key::ReplicationLagBytes, ALL, "(SELECT greatest(max(l.now - replay_lsn), 0) FROM pg_stat_replication HAVING count(replay_lsn) > 0)"),
    (Key::ApplyQueueBytes, ALL, "CASE WHEN pg_is_in_recovery() THEN greatest(pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn(), 0) END"),
    // With nothing to replay, the age of the last transaction means nothing.
    (Key::LagMs, ALL, "CASE WHEN pg_is_in_recovery() THEN CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0 ELSE floor(1000 * extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()))::bigint END END"),
    (Key::IsPrimary, ALL, "CASE WHEN pg_is_in_recovery() THEN 0 WHEN EXISTS (SELECT FROM pg_stat_replication) THEN 1 END"),
    (Key::Deadlocks, ALL, "d.deadlocks"),
    (Key::Commits, ALL, "d.commits"),
    (Key::Rollbacks, ALL, "d.rollbacks"),
    (Key::RowsRead, ALL, "d.rows_read"),
    (Key::RowsInserted, ALL, "d.rows_inserted"),
    (Key::RowsUpdated, ALL, "d.rows_updated"),
    (Key::RowsDeleted, ALL, "d.rows_deleted"),
    (Key::WaitForLocks, ALL, "a.for_locks"),
    (Key::WaitForReads, ALL, "a.for_reads"),
    (Key::WaitForLog, ALL, "a.for_log"),
    (Key::WaitForLatches, ALL, "a.for_latches"),
    (Key::BufferBytes, ALL, "pg_size_bytes(current_setting('shared_buffers'))"),
];

/// The case of wait events' names differs among versions.
const RELATIONS: [(Versions, &str); 8] = [
    (
        ALL,
        "(SELECT sum(blks_hit) AS hits, sum(blks_read) AS misses, sum(temp_bytes) AS temp_bytes, \
         sum(deadlocks) AS deadlocks, sum(xact_commit) AS commits, \
         sum(xact_rollback) AS rollbacks, sum(tup_returned) AS rows_read, \
         sum(tup_inserted) AS rows_inserted, sum(tup_updated) AS rows_updated, \
         sum(tup_deleted) AS rows_deleted FROM pg_stat_database) AS d",
    ),
    (
        ALL,
        "(SELECT count(*) FILTER (WHERE wait_event_type = 'Lock') AS for_locks, \
         count(*) FILTER (WHERE lower(wait_event) IN \
         ('datafileread', 'bufferio', 'aioiocompletion', 'aioiouringexecution')) AS for_reads, \
         count(*) FILTER (WHERE lower(wait_event) IN ('walwrite', 'walsync')) AS for_log, \
         count(*) FILTER (WHERE wait_event_type = 'LWLock' \
         AND lower(wait_event) NOT IN ('walwrite', 'bufferio')) AS for_latches \
         FROM pg_stat_activity WHERE backend_type = 'client backend') AS a",
    ),
    (
        ALL,
        "(SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() \
         ELSE pg_current_wal_lsn() END AS now, redo_lsn FROM pg_control_checkpoint()) AS l",
    ),
    (ALL, "pg_stat_bgwriter AS b"),
    (SINCE_17, "pg_stat_checkpointer AS c"),
    ((14, 18), "pg_stat_wal AS w"),
    (
        (16, 18),
        "(SELECT sum(reads) AS reads, sum(coalesce(writes, 0) + coalesce(extends, 0)) AS writes, \
         sum(fsyncs) AS fsyncs, sum(coalesce(writes, 0) + coalesce(extends, 0)) FILTER \
         (WHERE object = 'relation' AND backend_type NOT IN ('checkpointer', 'background writer')) \
         AS session_pages FROM pg_stat_io) AS i",
    ),
    (
        SINCE_18,
        "(SELECT sum(reads) AS reads, sum(coalesce(writes, 0) + coalesce(extends, 0)) AS writes, \
         sum(fsyncs) AS fsyncs, \
         sum(writes) FILTER (WHERE object = 'wal' AND context = 'normal') AS log_writes, \
         sum(fsyncs) FILTER (WHERE object = 'wal' AND context = 'normal') AS log_fsyncs, \
         div(sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) FILTER \
         (WHERE object = 'relation' AND backend_type NOT IN ('checkpointer', 'background writer')), \
         current_setting('block_size')::numeric) AS session_pages FROM pg_stat_io) AS i",
    ),
];

/// The query for a major version, and the counters in its single row.
pub(super) fn query(major: u64) -> (String, Vec<Key>) {
    let has = |(from, until): Versions| from <= major && major < until;
    let columns = COLUMNS.iter().filter(|(_, versions, _)| has(*versions));
    let (keys, columns): (Vec<Key>, Vec<&str>) = columns.map(|(key, _, sql)| (*key, *sql)).unzip();
    let relations = RELATIONS.iter().filter(|(versions, _)| has(*versions));
    let relations: Vec<&str> = relations.map(|(_, sql)| *sql).collect();
    let sql = format!(
        "SELECT {} FROM {}",
        columns.join(", "),
        relations.join(", ")
    );
    (sql, keys)
}

fn metrics(step: &Step) -> Metrics {
    let get = |key: Key| step.get(key as usize);
    let mb_per_s = |key| get(key).map(|bytes| bytes / MB);
    let per_minute = |key| get(key).map(|per_s| per_s * 60.0);
    let cache = get(Key::CacheHits).zip(get(Key::CacheMisses));
    let io = get(Key::Reads).zip(get(Key::Writes));
    let sizes = get(Key::DataSetBytes).zip(get(Key::BufferBytes));
    let written = get(Key::CheckpointerPages)
        .zip(get(Key::WriterPages))
        .zip(get(Key::SessionPages));
    let derived = [
        (
            "cache.requests_per_s",
            cache.map(|(hits, misses)| hits + misses),
        ),
        (
            "cache.hit_pct",
            cache.and_then(|(hits, misses)| percent(hits, hits + misses)),
        ),
        (
            "cache.working_set_ratio",
            sizes.and_then(|(data, buffers)| quotient(data, buffers)),
        ),
        (
            "io.pages_written_per_s",
            written.map(|((checkpointer, writer), sessions)| checkpointer + writer + sessions),
        ),
        (
            "io.read_pct",
            io.and_then(|(reads, writes)| percent(reads, reads + writes)),
        ),
        ("io.temp_mb_per_s", mb_per_s(Key::TempBytes)),
        ("log.mb_per_s", mb_per_s(Key::LogBytes)),
        (
            "log.checkpoints_timed_per_min",
            per_minute(Key::CheckpointsTimed),
        ),
        (
            "log.checkpoints_requested_per_min",
            per_minute(Key::CheckpointsRequested),
        ),
        (
            "replication.lag_s",
            get(Key::LagMs).map(|milliseconds| milliseconds / 1000.0),
        ),
    ];
    let plain = PLAIN.iter().map(|(name, key)| (*name, get(*key)));
    plain.chain(derived).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::{Duration, Instant};

    use measure::metric::{Metric, Reading as How};

    use super::*;
    use crate::counters::{Reading, derive};

    /// Values from PostgreSQL 15 before and after two seconds of `oltp_read_write`.
    const READ: [(Key, [u64; 2]); 13] = [
        (Key::UptimeS, [100, 102]),
        (Key::CacheHits, [1_000_000, 1_199_000]),
        (Key::CacheMisses, [5000, 6000]),
        (Key::CheckpointerPages, [100, 300]),
        (Key::WriterPages, [10, 20]),
        (Key::SessionPages, [0, 30]),
        (Key::Reads, [5000, 6000]),
        (Key::Writes, [1000, 4000]),
        (Key::LogBytes, [10 << 20, 14 << 20]),
        (Key::CheckpointAgeBytes, [7 << 20, 11 << 20]),
        (Key::CheckpointsRequested, [3, 4]),
        (Key::DataSetBytes, [256 << 20, 256 << 20]),
        (Key::BufferBytes, [128 << 20, 128 << 20]),
    ];

    fn reading(at: Instant, place: usize) -> Reading {
        let mut reading = Reading::new(&TABLE, at);
        for (key, values) in READ {
            reading.set(key as usize, Some(values[place]));
        }
        reading
    }

    #[test]
    fn metrics_follow_from_two_readings() {
        let start = Instant::now();
        let (before, after) = (
            reading(start, 0),
            reading(start + Duration::from_secs(2), 1),
        );
        let metrics = derive(&before, &after).unwrap().metrics();
        let known = metrics
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let known: BTreeMap<_, f64> = known.collect();
        assert_eq!(known["cache.requests_per_s"], 100_000.0);
        assert_eq!(known["cache.hit_pct"], 99.5);
        assert_eq!(known["cache.working_set_ratio"], 2.0);
        assert_eq!(known["io.pages_written_per_s"], 120.0);
        assert_eq!(known["io.read_pct"], 25.0);
        assert_eq!(known["log.mb_per_s"], 2.0);
        assert_eq!(known["log.checkpoints_requested_per_min"], 30.0);
        assert_eq!(known["log.checkpoint_age_bytes"], f64::from(11 << 20));
        assert!(
            !known.contains_key("log.fsyncs_per_s"),
            "not known is not 0"
        );
        assert!(!known.contains_key("locks.wait_ms_per_s"));
    }

    #[test]
    fn a_query_has_a_column_for_each_counter_of_its_version() {
        let everywhere: BTreeSet<usize> = [13, 14, 15, 16, 17, 18]
            .into_iter()
            .flat_map(|major| {
                let (sql, keys) = query(major);
                let keys_once: BTreeSet<usize> = keys.iter().map(|key| *key as usize).collect();
                assert_eq!(keys.len(), keys_once.len(), "{major}: twice in {sql}");
                let (columns, relations) = sql.split_once(" FROM (").unwrap();
                for alias in ["a", "b", "c", "d", "i", "l", "w"] {
                    let is_used = columns
                        .split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_')
                        .any(|word| word.starts_with(&format!("{alias}.")));
                    let is_there = format!("{relations},").contains(&format!(" AS {alias},"));
                    assert!(is_there || !is_used, "{major}: {alias} in {sql}");
                }
                keys_once
            })
            .collect();
        let of_feed = [
            Key::LockMs,
            Key::ReadMs,
            Key::LogMs,
            Key::LatchMs,
            Key::DataSetBytes,
        ];
        assert_eq!(everywhere.len() + of_feed.len(), KEYS);
        assert_eq!(
            query(15).1.len(),
            everywhere.len() - 1,
            "it does not count all fsyncs"
        );
    }

    #[test]
    fn every_metric_is_in_the_table() {
        let start = Instant::now();
        let step = derive(
            &reading(start, 0),
            &reading(start + Duration::from_secs(2), 1),
        );
        for (name, _) in step.unwrap().metrics() {
            let metric = Metric::find(&format!("server.{name}"));
            let metric = metric.unwrap_or_else(|| panic!("{name}"));
            if let Some((_, key)) = PLAIN.iter().find(|(plain, _)| *plain == name) {
                let is_level = metric.reading == How::Level;
                assert_eq!(is_level, (TABLE.is_level)(*key as usize), "{name}");
            }
        }
    }
}
