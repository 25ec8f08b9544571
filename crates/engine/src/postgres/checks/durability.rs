//! Durability of commits.

use measure::checks;
use measure::finding::Level::{Note, Passed, Severe, Warning};
use measure::finding::check::{Check, Judged, Observed};

use crate::checks::Facts;

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "fsync", Severe => server.switch("fsync", true, Severe),
        why: "With fsync off, nothing waits for the disk, and a crash of the host can corrupt the database beyond repair.",
        source: "PostgreSQL manual, Write Ahead Log (fsync)",
        remedy: Live("fsync", "on");
    "synchronous-commit", Severe => commit(server),
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
    "synchronous-standbys", Note => standbys(server),
        why: "Each commit waits until standby servers have received its WAL, so the result includes their disks and the network.",
        source: "PostgreSQL manual, Replication (synchronous_standby_names)",
        remedy: Nothing;
    "data-checksums", Note => server.switch("data_checksums", false, Note),
        why: "Page checksums take CPU time and increase the WAL; servers are comparable only with the same setting, whose default PostgreSQL 18 changed.",
        source: "PostgreSQL manual, Data Checksums",
        remedy: Nothing;
};

fn commit(server: &Facts) -> Judged {
    server.graded("synchronous_commit", |value| match value {
        "on" | "remote_apply" | "true" | "yes" | "1" => Passed,
        // With standbys, it waits for less than the default does.
        "local" | "remote_write" => Note.when(server.text("synchronous_standby_names") != Ok("")),
        _ => Severe,
    })
}

fn standbys(server: &Facts) -> Judged {
    const NAME: &str = "synchronous_standby_names";
    match server.text(NAME)? {
        "" => Ok(Observed::passed(format!("{NAME} is empty"))),
        _ => server.graded(NAME, |_| Note),
    }
}
