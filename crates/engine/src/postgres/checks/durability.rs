//! Durability of commits.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};

use crate::checks::{Facts, switched, valued};

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "fsync",
            worst: Level::Severe,
            why: "With fsync off, nothing waits for the disk, and a crash of the host can corrupt the database beyond repair.",
            source: "PostgreSQL manual, Write Ahead Log (fsync)",
            remedy: Remedy::Setting {
                name: "fsync",
                value: "on",
                live: true,
            },
        },
        judge: |server| switched(server, "fsync", true, Level::Severe),
    },
    Check {
        about: About {
            id: "synchronous-commit",
            worst: Level::Severe,
            why: "With synchronous_commit off, transactions are reported as committed before their WAL is on disk: a crash loses the most recent ones.",
            source: "PostgreSQL manual, Write Ahead Log (synchronous_commit)",
            remedy: Remedy::Setting {
                name: "synchronous_commit",
                value: "on",
                live: true,
            },
        },
        judge: commit,
    },
    Check {
        about: About {
            id: "full-page-writes",
            worst: Level::Warning,
            why: "Without full-page images, the WAL is much smaller, but a page that was torn in a crash cannot be repaired unless the file system prevents torn pages.",
            source: "PostgreSQL manual, Write Ahead Log (full_page_writes)",
            remedy: Remedy::Setting {
                name: "full_page_writes",
                value: "on",
                live: true,
            },
        },
        judge: |server| switched(server, "full_page_writes", true, Level::Warning),
    },
    Check {
        about: About {
            id: "wal-sync-method",
            worst: Level::Note,
            why: "The method of flushing WAL to disk determines how long commits take; the default on Linux is fdatasync.",
            source: "PostgreSQL manual, Write Ahead Log (wal_sync_method), pg_test_fsync",
            remedy: Remedy::Setting {
                name: "wal_sync_method",
                value: "fdatasync",
                live: true,
            },
        },
        judge: |server| {
            valued(server, "wal_sync_method", |method| match method {
                "fdatasync" => Level::Passed,
                _ => Level::Note,
            })
        },
    },
    Check {
        about: About {
            id: "synchronous-standbys",
            worst: Level::Note,
            why: "Each commit waits until standby servers have received its WAL, so the result includes their disks and the network.",
            source: "PostgreSQL manual, Replication (synchronous_standby_names)",
            remedy: Remedy::Nothing,
        },
        judge: standbys,
    },
    Check {
        about: About {
            id: "data-checksums",
            worst: Level::Note,
            why: "Page checksums take CPU time and increase the WAL; servers are comparable only with the same setting, whose default PostgreSQL 18 changed.",
            source: "PostgreSQL manual, Data Checksums",
            remedy: Remedy::Nothing,
        },
        judge: |server| switched(server, "data_checksums", false, Level::Note),
    },
];

fn commit(server: &Facts) -> Observed {
    valued(server, "synchronous_commit", |value| match value {
        "on" | "remote_apply" | "true" | "yes" | "1" => Level::Passed,
        // With standbys, it waits for less than the default does.
        "local" | "remote_write" => match server.text("synchronous_standby_names") {
            Some("") => Level::Passed,
            _ => Level::Note,
        },
        _ => Level::Severe,
    })
}

fn standbys(server: &Facts) -> Observed {
    const NAME: &str = "synchronous_standby_names";
    match server.text(NAME) {
        None => server.unknown(NAME),
        Some("") => Observed::passed(format!("{NAME} is empty")),
        Some(names) => Observed::note(format!("{NAME}: {names}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, with};
    use super::*;
    use Level::{Note, Passed, Severe, Warning};

    #[test]
    fn commits() {
        let judge = |value, standbys| {
            let settings = [
                ("synchronous_commit", value),
                ("synchronous_standby_names", standbys),
            ];
            commit(&with(&settings)).level()
        };
        assert_eq!(
            ["on", "local", "remote_write", "off"].map(|value| judge(value, "")),
            [Passed, Passed, Passed, Severe]
        );
        assert_eq!(judge("local", "*"), Note);
        assert_eq!(judge("remote_apply", "*"), Passed);
    }

    #[test]
    fn switches() {
        let judge = |id, value| check(id, &[(&id.replace('-', "_"), value)]);
        assert_eq!(
            [judge("fsync", "on"), judge("fsync", "off")],
            [Passed, Severe]
        );
        assert_eq!(judge("full-page-writes", "off"), Warning);
        assert_eq!(judge("data-checksums", "on"), Note);
        assert_eq!(judge("wal-sync-method", "open_datasync"), Note);
    }

    #[test]
    fn a_synchronous_standby_is_noted() {
        let judge = |names| {
            check(
                "synchronous-standbys",
                &[("synchronous_standby_names", names)],
            )
        };
        assert_eq!([judge(""), judge("FIRST 1 (a, b)")], [Passed, Note]);
    }
}
