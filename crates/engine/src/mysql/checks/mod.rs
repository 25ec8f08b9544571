//! Checks on the settings of running and planned servers.

pub(super) mod defaults;
mod judges;
#[cfg(test)]
mod tests;

use measure::checks;
use measure::finding::Level::{Note, Severe, Warning};
use measure::finding::check::Check;

use crate::checks::Facts;

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    // Durability of commits.
    "commit-flush", Severe => judges::commit_flush(server),
        why: "Commits are durable only with 1: with 2 a crash of the host loses about a second of commits, with 0 a crash of the server does, so results are not comparable with those of a durable server.",
        source: "VMware vSAN paper, best practices; MySQL manual, innodb_flush_log_at_trx_commit",
        remedy: Live("innodb_flush_log_at_trx_commit", "1");
    "binlog-sync", Warning => judges::binlog(server),
        why: "A binary log that is not synchronized at each commit lacks the last transactions after a crash, and so do replicas.",
        source: "MySQL manual, sync_binlog",
        remedy: Live("sync_binlog", "1");
    "flush-method", Severe => judges::flush_method(server),
        why: "Unless I/O bypasses the page cache, pages are in memory twice, and reads that seem to come from disk come from the cache.",
        source: "VMware vSAN paper, best practices (O_DIRECT); MySQL manual, innodb_flush_method",
        remedy: Restart("innodb_flush_method", "O_DIRECT");
    "doublewrite", Warning => server.should_be("innodb_doublewrite", &judges::DOUBLEWRITE, Warning),
        why: "Without the doublewrite buffer, the server writes about half as much, but cannot repair a page that was torn in a crash.",
        source: "StorageReview article (what the engine does to the disk); MySQL manual, innodb_doublewrite",
        remedy: Restart("innodb_doublewrite", "ON");

    // The size of the buffer pool, relative to memory and data.
    "buffer-pool-memory", Severe => judges::pool_memory(server),
        why: "On a dedicated host, the buffer pool should have 70-80 % of memory: with more the host swaps, and with the default of 128 MiB the load measures the disk.",
        source: "VMware vSAN paper, best practices; MySQL manual, innodb_buffer_pool_size",
        remedy: Live("innodb_buffer_pool_size", "NEEDED");
    "buffer-pool-data", Note => judges::pool_data(server),
        why: "Whether the data fits in the buffer pool determines whether the load measures memory or disk, and how long the warm-up must be.",
        source: "StorageReview article (data larger than memory), AnandTech article (data in memory)",
        remedy: Live("innodb_buffer_pool_size", "NEEDED");
    "buffer-pool-instances", Note => judges::pool_instances(server),
        why: "Each instance has its own locks: instances below 1 GiB are not worthwhile, and the single instance of a large pool is contended.",
        source: "VMware vSAN paper, best practices (an instance for each GB); MySQL manual, innodb_buffer_pool_instances",
        remedy: Restart("innodb_buffer_pool_instances", "NEEDED");

    // Background writes: the log, flushing, and I/O threads.
    "log-size", Warning => judges::log_size(server),
        why: "A small log fills up before dirty pages are written; transactions then wait for a checkpoint, and throughput dips.",
        source: "VMware vSAN paper, best practices (2 x 512 MB); MySQL manual, innodb_redo_log_capacity",
        remedy: Restart("LOG_SIZE", "1G");
    "io-capacity", Warning => judges::io_capacity(server),
        why: "InnoDB assumes that the disk does this many I/O operations per second: if it is too low, dirty pages accumulate until writers wait; if it is too high, flushing competes with reads.",
        source: "MySQL manual, innodb_io_capacity",
        remedy: Live("innodb_io_capacity", "NEEDED");
    "flush-neighbors", Warning => judges::flush_neighbors(server),
        why: "Writing a page's neighbors with it saves seeks on a spinning disk, and causes needless writes on any other.",
        source: "VMware vSAN paper (0 on flash); MySQL manual, innodb_flush_neighbors",
        remedy: Live("innodb_flush_neighbors", "0");
    "io-threads", Note => judges::io_threads(server),
        why: "A disk that serves many requests in parallel needs as many threads to issue them.",
        source: "VMware vSAN paper (16 for reads, 16 for writes); MySQL manual, innodb_read_io_threads",
        remedy: Restart("innodb_read_io_threads", "16");
    "adaptive-flushing", Warning => server.switch("innodb_adaptive_flushing", true, Warning),
        why: "Without adaptive flushing, dirty pages are written in bursts, and throughput dips with each.",
        source: "VMware vSAN paper, best practices; MySQL manual, innodb_adaptive_flushing",
        remedy: Live("innodb_adaptive_flushing", "ON");
    "file-per-table", Note => server.switch("innodb_file_per_table", true, Note),
        why: "Tables in the shared tablespace contend for its file, and the space of a dropped table is not returned to the file system.",
        source: "VMware vSAN paper, best practices; MySQL manual, innodb_file_per_table",
        remedy: Live("innodb_file_per_table", "ON");

    // The server's limits, compared with what the load needs.
    "max-connections", Severe => judges::max_connections(server),
        why: "Each virtual user has a connection, and those beyond the limit are refused.",
        source: "MySQL manual, max_connections",
        remedy: Live("max_connections", "NEEDED");
    "max-prepared-statements", Severe => judges::compared(server, "max_prepared_stmt_count", Severe, |demand| demand.prepared),
        why: "Each virtual user prepares each statement for each table; the default limit for all users together is 16,382.",
        source: "MySQL manual, max_prepared_stmt_count",
        remedy: Live("max_prepared_stmt_count", "NEEDED");
    "table-cache", Warning => judges::compared(server, "table_open_cache", Warning, |demand| demand.open_tables),
        why: "Each connection opens its own instance of each table; beyond the size of the cache, tables are closed and reopened during transactions.",
        source: "MySQL manual, How MySQL Opens and Closes Tables (table_open_cache)",
        remedy: Live("table_open_cache", "NEEDED");
    "server-open-files", Severe => judges::open_files(server),
        why: "Each connection and each table needs a file descriptor; a server that runs out of them fails or closes other tables.",
        source: "MySQL manual, open_files_limit",
        remedy: Restart("open_files_limit", "NEEDED");

    // Overhead: logs, instrumentation, and the query cache.
    "performance-schema", Note => server.switch("performance_schema", false, Note),
        why: "Its instrumentation takes CPU time: servers are comparable only with the same instrumentation.",
        source: "MySQL manual, performance_schema",
        remedy: Restart("performance_schema", "OFF");
    "query-cache", Severe => judges::query_cache(server),
        why: "It answers repeated queries without the storage engine, and all other statements contend for its single lock.",
        source: "MariaDB manual, Query Cache",
        remedy: Live("query_cache_type", "OFF");
    "slow-log", Severe => judges::slow_log(server),
        why: "Slow statements are written to a file; with a low threshold, every statement is.",
        source: "MySQL manual, slow_query_log",
        remedy: Live("slow_query_log", "OFF");
    "general-log", Severe => server.switch("general_log", false, Severe),
        why: "Every statement is written to a file, for which all connections contend.",
        source: "MySQL manual, general_log",
        remedy: Live("general_log", "OFF");
};
