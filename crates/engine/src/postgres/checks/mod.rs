//! Checks on the settings of running and planned servers.

pub(super) mod defaults;
mod judges;
#[cfg(test)]
mod tests;

use measure::checks;
use measure::finding::Level::{Note, Severe, Warning};
use measure::finding::check::Check;

use self::judges::SECOND_MS;
use crate::checks::Facts;

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    // Durability of commits.
    "fsync", Severe => server.switch("fsync", true, Severe),
        why: "With fsync off, nothing waits for the disk, and a crash of the host can corrupt the database beyond repair.",
        source: "PostgreSQL manual, Write Ahead Log (fsync)",
        remedy: Live("fsync", "on");
    "synchronous-commit", Severe => judges::commit(server),
        why: "With synchronous_commit off, transactions are reported as committed before their WAL is on disk: a crash loses the most recent ones.",
        source: "PostgreSQL manual, Write Ahead Log (synchronous_commit)",
        remedy: Live("synchronous_commit", "on");
    "full-page-writes", Warning => server.switch("full_page_writes", true, Warning),
        why: "Without full-page images, the WAL is much smaller, but a page that was torn in a crash cannot be repaired unless the file system prevents torn pages.",
        source: "PostgreSQL manual, Write Ahead Log (full_page_writes)",
        remedy: Live("full_page_writes", "on");
    "wal-sync-method", Note => server.should_be("wal_sync_method", &["fdatasync"], Note),
        why: "The method of flushing WAL to disk determines how long commits take; the default on Linux is fdatasync.",
        source: "PostgreSQL manual, Write Ahead Log (wal_sync_method), pg_test_fsync",
        remedy: Live("wal_sync_method", "fdatasync");
    "synchronous-standbys", Note => judges::standbys(server),
        why: "Each commit waits until standby servers have received its WAL, so the result includes their disks and the network.",
        source: "PostgreSQL manual, Replication (synchronous_standby_names)",
        remedy: Nothing;
    "data-checksums", Note => server.switch("data_checksums", false, Note),
        why: "Page checksums take CPU time and increase the WAL; servers are comparable only with the same setting, whose default PostgreSQL 18 changed.",
        source: "PostgreSQL manual, Data Checksums",
        remedy: Nothing;

    // The size of shared_buffers, relative to memory and data.
    "shared-buffers-memory", Severe => judges::buffers_memory(server),
        why: "The manual recommends 25 % of a dedicated host's memory to begin with, and rarely more than 40 %, because PostgreSQL also relies on the kernel's page cache; the default of 128 MiB suits any machine.",
        source: "PostgreSQL manual, Resource Consumption (shared_buffers)",
        remedy: Restart("shared_buffers", "NEEDED");
    "shared-buffers-data", Note => judges::buffers_data(server),
        why: "Data that does not fit in shared_buffers comes from the kernel's page cache or from disk, which determines what the load measures and how long the warm-up must be.",
        source: "PostgreSQL manual, Resource Consumption (shared_buffers)",
        remedy: Restart("shared_buffers", "NEEDED");
    "server-huge-pages", Warning => judges::huge_pages(server),
        why: "Each session is a process with its own page tables: without huge pages, large shared buffers cost memory and CPU time in each session.",
        source: "PostgreSQL manual, Managing Kernel Resources (Linux Huge Pages)",
        remedy: Words("run sysctl vm.nr_hugepages=PAGES, leave huge_pages at try (the default), and restart the server");

    // Writes other than commits, vacuum, and what the planner assumes about the disk.
    "max-wal-size", Warning => judges::wal_size(server),
        why: "A load that writes this much WAL within checkpoint_timeout forces a checkpoint, after which the first change of each page logs the full page: throughput dips, and the WAL grows.",
        source: "PostgreSQL manual, WAL Configuration (max_wal_size)",
        remedy: Live("max_wal_size", "NEEDED");
    "checkpoint-timeout", Warning => judges::timed(server, "checkpoint_timeout", SECOND_MS, |ms| Warning.when(ms < 300.0 * SECOND_MS)),
        why: "Frequent checkpoints write the same pages repeatedly, and each is logged in full once after each checkpoint.",
        source: "PostgreSQL manual, WAL Configuration (checkpoint_timeout)",
        remedy: Live("checkpoint_timeout", "5min");
    "checkpoint-completion-target", Note => server.graded("checkpoint_completion_target", |part| Note.when(part.parse().is_ok_and(|part: f64| part < 0.9))),
        why: "A checkpoint spreads its writes over this fraction of the interval; a small fraction causes bursts of writes that sessions wait for.",
        source: "PostgreSQL manual, WAL Configuration (checkpoint_completion_target)",
        remedy: Live("checkpoint_completion_target", "0.9");
    "background-writer", Note => server.graded("bgwriter_lru_maxpages", |pages| Note.when(pages == "0")),
        why: "Without the background writer, sessions that need a free page write dirty ones themselves.",
        source: "PostgreSQL manual, Background Writer (bgwriter_lru_maxpages)",
        remedy: Live("bgwriter_lru_maxpages", "100");
    "wal-compression", Note => server.should_be("wal_compression", &["off"], Note),
        why: "Compressing page images makes the WAL smaller and takes CPU time: servers are comparable only with the same setting.",
        source: "PostgreSQL manual, Write Ahead Log (wal_compression)",
        remedy: Nothing;
    "wal-level", Note => server.should_be("wal_level", &["replica"], Note),
        why: "The WAL contains more for logical replication, and less than by default without replication and archiving.",
        source: "PostgreSQL manual, Write Ahead Log (wal_level)",
        remedy: Nothing;
    "archiving", Warning => judges::archiving(server),
        why: "Each WAL file is copied while the load runs; without a command that does so, the files fill the disk.",
        source: "PostgreSQL manual, Continuous Archiving (archive_mode, archive_command)",
        remedy: Restart("archive_mode", "off");
    "commit-delay", Note => server.should_be("commit_delay", &["0"], Note),
        why: "Commits wait to share a flush with others, which affects response times and how throughput scales with users.",
        source: "PostgreSQL manual, Write Ahead Log (commit_delay)",
        remedy: Live("commit_delay", "0");
    "random-page-cost", Note => judges::page_cost(server),
        why: "The default is for spinning disks: on others, the planner may choose a sequential scan where an index scan is faster.",
        source: "PostgreSQL manual, Query Planning (random_page_cost)",
        remedy: Live("random_page_cost", "1.1");
    "autovacuum", Warning => judges::autovacuum(server),
        why: "Without autovacuum, dead rows accumulate: a write load becomes slower the longer it runs, so its result is not sustainable.",
        source: "PostgreSQL manual, Automatic Vacuuming (autovacuum, track_counts)",
        remedy: Live("autovacuum", "on");
    "vacuum-running", Warning => judges::vacuums(server),
        why: "A vacuum competes with the load for I/O, and the next trial may have none.",
        source: "PostgreSQL manual, Progress Reporting (pg_stat_progress_vacuum)",
        remedy: Words("wait until pg_stat_progress_vacuum is empty, or run VACUUM ANALYZE before the load");

    // The server's limits, compared with what the load needs, and the defaults of its sessions.
    "session-limit", Severe => judges::max_connections(server),
        why: "Each virtual user has a connection; those beyond the limit, part of which is reserved, are refused.",
        source: "PostgreSQL manual, Connections and Authentication (max_connections, superuser_reserved_connections, reserved_connections)",
        remedy: Restart("max_connections", "NEEDED");
    "transaction-isolation", Warning => server.should_be("default_transaction_isolation", &["read committed", "read uncommitted"], Warning),
        why: "Above read committed, conflicting transactions fail and are restarted; servers are comparable only at the same isolation level.",
        source: "PostgreSQL manual, Transaction Isolation (default_transaction_isolation)",
        remedy: Live("default_transaction_isolation", "read committed");
    "session-timeouts", Warning => judges::timeouts(server),
        why: "A statement or transaction that takes longer is canceled, so the slowest are missing from the response times and appear as errors.",
        source: "PostgreSQL manual, Client Connection Defaults (statement_timeout, lock_timeout)",
        remedy: Live("TIMEOUT", "0");
    // The manual calls the default about the smallest value for production.
    "deadlock-timeout", Warning => judges::timed(server, "deadlock_timeout", 1.0, |ms| if ms > SECOND_MS { Warning } else { Note.when(ms == SECOND_MS) }),
        why: "Sessions in a deadlock wait this long before one of them fails; a longer timeout dominates the slowest response times of contended writes.",
        source: "PostgreSQL manual, Lock Management (deadlock_timeout)",
        remedy: Live("deadlock_timeout", "1s");

    // Overhead: logs, statistics, and assertions.
    "statement-logging", Severe => judges::statements(server),
        why: "Each statement or its duration is written to the log, which can take longer than the statement.",
        source: "PostgreSQL manual, Error Reporting and Logging (log_statement, log_min_duration_statement)",
        remedy: Live("SETTING", "USUAL");
    "auto-explain", Severe => judges::plans(server),
        why: "Plans of slow statements are logged; with log_analyze, each plan node of every statement is timed.",
        source: "PostgreSQL manual, auto_explain",
        remedy: Live("auto_explain.log_min_duration", "-1");
    "statement-statistics", Note => judges::statistics(server),
        why: "Tracking statements takes CPU time and a lock: servers are comparable only with the same setting.",
        source: "PostgreSQL manual, pg_stat_statements",
        remedy: Nothing;
    "io-timing", Note => judges::timing(server),
        why: "The clock is read before and after each read and write, which costs little or much depending on the host's clock source.",
        source: "PostgreSQL manual, Run-time Statistics (track_io_timing, track_wal_io_timing), pg_test_timing",
        remedy: Live("track_io_timing", "off");
    "debug-assertions", Severe => server.switch("debug_assertions", false, Severe),
        why: "A build with assertions is several times slower than a production build.",
        source: "PostgreSQL manual, Preset Options (debug_assertions)",
        remedy: Words("install a build without --enable-cassert");
};
