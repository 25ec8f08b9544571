//! The server's counters: the statistics views, in the columns that its version has.
//!
//! Backends publish their counters at the end of a transaction, at most once a second (twice before
//! PostgreSQL 15), so the value of a second may include part of the previous one; over a phase of
//! the load, the error is less than one second's worth. Positions in the log and the waits of
//! sessions are current.

use std::time::Instant;

use client::postgres::{Connection, Error, Postgres};

use crate::counters::{Feed, Metrics, Reading, Step, counters, percent, quotient};
use crate::network::NetworkEngine;
use crate::remote::first_number;
use crate::version;

const MB: f64 = 1024.0 * 1024.0;

// The source is the expression for all versions.
counters! {
    UptimeS Count "floor(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()))::bigint" ""
    CacheHits Count "d.hits" ""
    CacheMisses Count "d.misses" "cache.misses_per_s"
    CheckpointerPages Count "" ""
    WriterPages Count "b.buffers_clean" ""
    SessionPages Count "" "io.session_pages_written_per_s"
    Reads Count "" "io.reads_per_s"
    Writes Count "" "io.writes_per_s"
    Fsyncs Count "" "io.fsyncs_per_s"
    TempBytes Count "d.temp_bytes" ""
    LogWrites Count "" "log.writes_per_s"
    LogFsyncs Count "" "log.fsyncs_per_s"
    LogBytes Count "l.now - '0/0'::pg_lsn" ""
    CheckpointAgeBytes Level "l.now - l.redo_lsn" "log.checkpoint_age_bytes"
    CheckpointsTimed Count "" ""
    CheckpointsRequested Count "" ""
    DeadRows Level "(SELECT sum(pg_stat_get_dead_tuples(oid)) FROM pg_class WHERE relkind IN ('r', 'm') AND oid >= 16384)" "vacuum.dead_rows"
    Vacuums Level "(SELECT count(*) FROM pg_stat_progress_vacuum)" "vacuum.running"
    Replicas Level "(SELECT nullif(count(*), 0) FROM pg_stat_replication WHERE state = 'streaming')" "replication.replicas"
    ReplicationLagBytes Level "(SELECT greatest(max(l.now - replay_lsn), 0) FROM pg_stat_replication HAVING count(replay_lsn) > 0)" "replication.lag_bytes"
    ApplyQueueBytes Level "CASE WHEN pg_is_in_recovery() AND pg_last_wal_receive_lsn() IS NOT NULL THEN greatest(pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn(), 0) END" "replication.apply_queue_bytes"
    // With nothing to replay, the age of the last transaction means nothing.
    LagMs Level "CASE WHEN pg_is_in_recovery() THEN CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0 ELSE floor(1000 * extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()))::bigint END END" ""
    IsPrimary Level "CASE WHEN pg_is_in_recovery() THEN 0 WHEN EXISTS (SELECT FROM pg_stat_replication) THEN 1 END" "replication.is_primary"
    Deadlocks Count "d.deadlocks" "locks.deadlocks_per_s"
    Commits Count "d.commits" "transactions.commits_per_s"
    Rollbacks Count "d.rollbacks" "transactions.rollbacks_per_s"
    RowsRead Count "d.rows_read" "rows.read_per_s"
    RowsInserted Count "d.rows_inserted" "rows.inserted_per_s"
    RowsUpdated Count "d.rows_updated" "rows.updated_per_s"
    RowsDeleted Count "d.rows_deleted" "rows.deleted_per_s"
    // Sessions that are waiting at the time of the query.
    WaitForLocks Level "a.for_locks" ""
    WaitForReads Level "a.for_reads" ""
    WaitForLog Level "a.for_log" ""
    WaitForLatches Level "a.for_latches" ""
    // The waits of sessions summed over time, in milliseconds.
    LockMs Count "" "locks.wait_ms_per_s"
    ReadMs Count "" "io.read_wait_ms_per_s"
    LogMs Count "" "log.wait_ms_per_s"
    LatchMs Count "" "locks.latch_wait_ms_per_s"
    // Sizes of the database's tables and of the shared buffers.
    DataSetBytes Level "" ""
    BufferBytes Level "pg_size_bytes(current_setting('shared_buffers'))" ""
}

/// Number of waiting sessions, and their waits summed over time.
const WAITS: [(Key, Key); 4] = [
    (Key::WaitForLocks, Key::LockMs),
    (Key::WaitForReads, Key::ReadMs),
    (Key::WaitForLog, Key::LogMs),
    (Key::WaitForLatches, Key::LatchMs),
];

/// The major versions that have a column: the first one, and the first one that lacks it again.
type Versions = (u64, u64);

const ALL: Versions = (0, u64::MAX);
const SINCE_16: Versions = (16, u64::MAX);
const SINCE_17: Versions = (17, u64::MAX);
const SINCE_18: Versions = (18, u64::MAX);

/// The expressions that only some versions have. A log that is opened with `O_SYNC` has no fsyncs
/// to count.
#[rustfmt::skip] // A line for each.
const COLUMNS: [(Key, Versions, &str); 19] = [
    (Key::CheckpointerPages, (0, 17), "b.buffers_checkpoint"),
    (Key::CheckpointerPages, SINCE_17, "c.buffers_written"),
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
    (Key::LogWrites, (14, 18), "w.wal_write"),
    (Key::LogWrites, SINCE_18, "i.log_writes"),
    (Key::LogFsyncs, (14, 18), "CASE WHEN current_setting('wal_sync_method') NOT LIKE 'open%' THEN w.wal_sync END"),
    (Key::LogFsyncs, SINCE_18, "CASE WHEN current_setting('wal_sync_method') NOT LIKE 'open%' THEN i.log_fsyncs END"),
    (Key::CheckpointsTimed, (0, 17), "b.checkpoints_timed"),
    (Key::CheckpointsTimed, SINCE_17, "c.num_timed"),
    (Key::CheckpointsRequested, (0, 17), "b.checkpoints_req"),
    (Key::CheckpointsRequested, SINCE_17, "c.num_requested"),
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
fn query(major: u64) -> (String, Vec<usize>) {
    let has = |(from, until): Versions| from <= major && major < until;
    let of_all = COUNTERS.iter().map(|counter| counter.source).enumerate();
    let of_all = of_all.filter(|(_, sql)| !sql.is_empty());
    let of_some = COLUMNS.iter().filter(|(_, versions, _)| has(*versions));
    let of_some = of_some.map(|(key, _, sql)| (usize::from(*key), *sql));
    let (counters, columns): (Vec<usize>, Vec<&str>) = of_all.chain(of_some).unzip();
    let relations = RELATIONS.iter().filter(|(versions, _)| has(*versions));
    let relations: Vec<&str> = relations.map(|(_, sql)| *sql).collect();
    let (columns, relations) = (columns.join(", "), relations.join(", "));
    (format!("SELECT {columns} FROM {relations}"), counters)
}

fn derived(step: &Step) -> Metrics {
    let get = |key: Key| step.get(key);
    let mb_per_s = |key| get(key).map(|bytes| bytes / MB);
    let per_minute = |key| get(key).map(|per_s| per_s * 60.0);
    let share = |(part, other)| percent(part, part + other);
    let requests = get(Key::CacheHits).zip(get(Key::CacheMisses));
    let io = get(Key::Reads).zip(get(Key::Writes));
    let sizes = get(Key::DataSetBytes).zip(get(Key::BufferBytes));
    let ratio = |(data, buffers)| quotient(data, buffers);
    let written = [Key::CheckpointerPages, Key::WriterPages, Key::SessionPages];
    let (timed, requested) = (Key::CheckpointsTimed, Key::CheckpointsRequested);
    vec![
        (
            "cache.requests_per_s",
            requests.map(|(hits, misses)| hits + misses),
        ),
        ("cache.hit_pct", requests.and_then(share)),
        ("cache.working_set_ratio", sizes.and_then(ratio)),
        ("io.pages_read_per_s", get(Key::CacheMisses)),
        ("io.pages_written_per_s", written.into_iter().map(get).sum()),
        ("io.read_pct", io.and_then(share)),
        ("io.temp_mb_per_s", mb_per_s(Key::TempBytes)),
        ("log.mb_per_s", mb_per_s(Key::LogBytes)),
        ("log.checkpoints_timed_per_min", per_minute(timed)),
        ("log.checkpoints_requested_per_min", per_minute(requested)),
        ("replication.lag_s", get(Key::LagMs).map(|ms| ms / 1000.0)),
    ]
}

#[derive(Default)]
pub(crate) struct ViewsFeed {
    /// The counters in the columns of the reply.
    counters: Vec<usize>,
    /// Size of the database's tables when the connection was opened.
    data_bytes: Option<u64>,
    asked: Option<Instant>,
    /// Milliseconds that sessions have waited, for each of [`WAITS`].
    waited_ms: [u64; WAITS.len()],
}

impl Feed<Postgres> for ViewsFeed {
    async fn begin(&mut self, connection: &mut Connection) -> Result<(), Error> {
        self.data_bytes = first_number(connection.rows(Postgres::SIZE_QUERY).await?);
        let (sql, counters) = query(version::major(connection.server_version()));
        self.counters = counters;
        // Planning takes longer than the answer.
        let prepare = format!("PREPARE dyno_counters AS {sql}");
        connection.rows(&prepare).await?;
        self.asked = Some(Instant::now());
        Ok(())
    }

    async fn read(&mut self, connection: &mut Connection) -> Result<Reading, Error> {
        let rows = connection.rows("EXECUTE dyno_counters").await?;
        let now = Instant::now();
        let mut reading = Reading::new(&TABLE, now);
        let row = rows.first().into_iter().flatten();
        for (counter, cell) in self.counters.iter().zip(row) {
            let value = cell.as_deref().and_then(|text| text.parse().ok());
            reading.set(*counter, value);
        }
        reading.set(Key::DataSetBytes, self.data_bytes);
        self.add_waits(&mut reading, now);
        Ok(reading)
    }
}

impl ViewsFeed {
    /// The server does not count how long sessions wait: those that are waiting now are assumed to
    /// have waited since the last query.
    fn add_waits(&mut self, reading: &mut Reading, now: Instant) {
        let since = now - self.asked.replace(now).unwrap_or(now);
        let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        for ((sessions, sum), waited_ms) in WAITS.iter().zip(&mut self.waited_ms) {
            let waiting = reading.get(*sessions);
            *waited_ms = waited_ms.saturating_add(waiting.unwrap_or(0).saturating_mul(ms));
            reading.set(*sum, waiting.map(|_| *waited_ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;
    use std::time::Duration;

    use client::TlsOptions;
    use client::postgres::Target;
    use client::reactor::Reactor;
    use measure::metric::{Metric, Reading as How};
    use testkit::PostgresServer;

    use super::*;
    use crate::counters::{Kind, Source, derive};

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
            reading.set(key, Some(values[place]));
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
                let keys_once: BTreeSet<usize> = keys.iter().copied().collect();
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
        assert_eq!(everywhere.len() + of_feed.len(), COUNTERS.len());
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
            if let Some(counter) = COUNTERS.iter().find(|counter| counter.metric == name) {
                let is_level = metric.reading == How::Level;
                assert_eq!(is_level, counter.kind == Kind::Level, "{name}");
            }
        }
    }

    /// Longer than backends take to publish their counters on a busy machine.
    const PUBLISHED: Duration = Duration::from_secs(60);

    fn source(server: &PostgresServer, user: &str) -> Source<Postgres> {
        let url = server.url("sbtest");
        let url = url.replace("root@", &format!("{user}@"));
        let target = Target::parse(&url, None, user, &TlsOptions::default(), &|_| None);
        Source::new(Arc::new(target.unwrap()))
    }

    fn ask(reactor: &Reactor, source: &mut Source<Postgres>) -> Reading {
        reactor.block_on(source.read()).unwrap().unwrap()
    }

    /// Asks until `is_so` accepts the reading.
    fn ask_until(
        reactor: &Reactor,
        source: &mut Source<Postgres>,
        is_so: impl Fn(&Reading) -> bool,
    ) -> Reading {
        let start = Instant::now();
        loop {
            let reading = ask(reactor, source);
            if is_so(&reading) {
                return reading;
            }
            assert!(start.elapsed() < PUBLISHED, "{reading:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[test]
    fn what_is_done_is_counted() {
        let server = testkit::Postgres::start(&[]);
        server.sql("CREATE TABLE t (id serial PRIMARY KEY, c text)");
        let reactor = Reactor::new().unwrap();
        let mut source = source(&server, "root");
        let before = ask(&reactor, &mut source);
        server.sql(
            "INSERT INTO t (c) SELECT repeat('x', 1000) FROM generate_series(1, 1000);\n\
             UPDATE t SET c = 'y' WHERE id <= 100; DELETE FROM t WHERE id > 990; CHECKPOINT",
        );
        let grown = |reading: &Reading, key: Key| Some(reading.get(key)? - before.get(key)?);
        let is_published = |reading: &Reading| grown(reading, Key::RowsInserted) >= Some(1000);
        let after = ask_until(&reactor, &mut source, is_published);
        let grown = |key| grown(&after, key).unwrap();
        // Catalogs count, too: those of the session that created the table may come late.
        assert!((100..200).contains(&grown(Key::RowsUpdated)));
        assert!((10..110).contains(&grown(Key::RowsDeleted)));
        // The checkpointer publishes the checkpoint and its effects.
        ask_until(&reactor, &mut source, |reading| {
            reading.get(Key::CheckpointsRequested) > before.get(Key::CheckpointsRequested)
        });
        assert!(grown(Key::Commits) >= 4);
        assert!(grown(Key::LogBytes) > 1000 * 1000);
        let position = &server.sql("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")[0][0];
        let position: u64 = position.parse().unwrap();
        assert!(after.get(Key::LogBytes).unwrap() <= position);
        assert_eq!(after.get(Key::BufferBytes), Some(16 << 20));
        let size = after.get(Key::DataSetBytes).unwrap();
        assert!(size < 1 << 20, "{size}: as it was when the feed connected");
    }

    #[test]
    fn sessions_that_wait_add_up_to_time() {
        let server = testkit::Postgres::start(&[]);
        server.sql("CREATE TABLE t (id int)");
        let reactor = Reactor::new().unwrap();
        let mut source = source(&server, "root");
        ask(&reactor, &mut source);
        std::thread::scope(|scope| {
            let hold = "BEGIN; LOCK t; SELECT pg_sleep(3); COMMIT";
            scope.spawn(|| server.sql(hold));
            let is_held =
                "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND granted";
            while server.sql(is_held)[0][0] == "0" {
                std::thread::sleep(Duration::from_millis(10));
            }
            scope.spawn(|| server.sql("INSERT INTO t VALUES (1)"));
            let waits = |reading: &Reading| reading.get(Key::WaitForLocks) == Some(1);
            let first = ask_until(&reactor, &mut source, waits);
            std::thread::sleep(Duration::from_millis(300));
            let second = ask_until(&reactor, &mut source, waits);
            let ms = |reading: &Reading| reading.get(Key::LockMs).unwrap();
            assert!(ms(&second) >= ms(&first) + 300, "{first:?} {second:?}");
        });
    }

    #[test]
    fn an_account_without_rights_reads_all_of_it() {
        let server = testkit::Postgres::start(&[]);
        server.sql("CREATE ROLE guest LOGIN");
        let reactor = Reactor::new().unwrap();
        let reading = ask(&reactor, &mut source(&server, "guest"));
        let keys = query(version::major(&server.sql("SHOW server_version")[0][0])).1;
        // Without a table there are no dead rows, and without a cluster no replication.
        let absent = [
            Key::DeadRows,
            Key::Replicas,
            Key::ReplicationLagBytes,
            Key::ApplyQueueBytes,
            Key::LagMs,
            Key::IsPrimary,
        ];
        let absent = absent.map(usize::from);
        let known = keys.iter().filter(|key| !absent.contains(key));
        for key in known {
            assert!(reading.get(*key).is_some(), "{key:?}");
        }
    }
}
