//! Durability of commits.

use measure::checks;
use measure::finding::Level::{Passed, Severe, Warning};
use measure::finding::check::{Check, Judged, Observed};

use crate::checks::Facts;

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "commit-flush", Severe => commit(server),
        why: "Commits are durable only with 1: with 2 a crash of the host loses about a second of commits, with 0 a crash of the server does, so results are not comparable with those of a durable server.",
        source: "VMware vSAN paper, best practices; MySQL manual, innodb_flush_log_at_trx_commit",
        remedy: Live("innodb_flush_log_at_trx_commit", "1");
    "binlog-sync", Warning => binlog(server),
        why: "A binary log that is not synchronized at each commit lacks the last transactions after a crash, and so do replicas.",
        source: "MySQL manual, sync_binlog",
        remedy: Live("sync_binlog", "1");
    "flush-method", Severe => method(server),
        why: "Unless I/O bypasses the page cache, pages are in memory twice, and reads that seem to come from disk come from the cache.",
        source: "VMware vSAN paper, best practices (O_DIRECT); MySQL manual, innodb_flush_method",
        remedy: Restart("innodb_flush_method", "O_DIRECT");
    "doublewrite", Warning => server.should_be("innodb_doublewrite", &DOUBLEWRITE, Warning),
        why: "Without the doublewrite buffer, the server writes about half as much, but cannot repair a page that was torn in a crash.",
        source: "StorageReview article (what the engine does to the disk); MySQL manual, innodb_doublewrite",
        remedy: Restart("innodb_doublewrite", "ON");
};

/// What repairs torn pages; `DETECT_ONLY` does not.
const DOUBLEWRITE: [&str; 5] = ["ON", "1", "TRUE", "DETECT_AND_RECOVER", "FAST"];

fn commit(server: &Facts) -> Judged {
    const NAME: &str = "innodb_flush_log_at_trx_commit";
    let value = server.number(NAME)?;
    let (level, words) = match value {
        0 => (Severe, "; commits do not wait for the log"),
        2 => (Warning, "; commits wait for the kernel, not for the disk"),
        _ => (Passed, ""),
    };
    Ok(Observed::graded(level, format!("{NAME}: {value}{words}")))
}

fn binlog(server: &Facts) -> Judged {
    if !server.is_on("log_bin")? {
        return Ok(Observed::passed("log_bin: OFF"));
    }
    let commits = server.number("sync_binlog")?;
    let observed = format!("log_bin: ON, sync_binlog: {commits}");
    Ok(Observed::graded(Warning.when(commits != 1), observed))
}

fn method(server: &Facts) -> Judged {
    let method = server.graded("innodb_flush_method", |method| {
        match method.to_ascii_uppercase().as_str() {
            "O_DIRECT" | "O_DIRECT_NO_FSYNC" => Passed,
            "NOSYNC" | "LITTLESYNC" => Severe,
            _ => Warning,
        }
    });
    // MariaDB 11 has a switch instead.
    method.or_else(|unknown| {
        let buffering = server.switch("innodb_data_file_buffering", false, Warning);
        buffering.map_err(|_| unknown)
    })
}
