//! Durability of commits.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};

use crate::checks::Facts;

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "commit-flush",
            worst: Level::Severe,
            why: "Commits are durable only with 1: with 2 a crash of the host loses about a second of commits, with 0 a crash of the server does, so results are not comparable with those of a durable server.",
            source: "VMware vSAN paper, best practices; MySQL manual, innodb_flush_log_at_trx_commit",
            remedy: Remedy::Setting {
                name: "innodb_flush_log_at_trx_commit",
                value: "1",
                live: true,
            },
        },
        judge: commit,
    },
    Check {
        about: About {
            id: "binlog-sync",
            worst: Level::Warning,
            why: "A binary log that is not synchronized at each commit lacks the last transactions after a crash, and so do replicas.",
            source: "MySQL manual, sync_binlog",
            remedy: Remedy::Setting {
                name: "sync_binlog",
                value: "1",
                live: true,
            },
        },
        judge: binlog,
    },
    Check {
        about: About {
            id: "flush-method",
            worst: Level::Severe,
            why: "Unless I/O bypasses the page cache, pages are in memory twice, and reads that seem to come from disk come from the cache.",
            source: "VMware vSAN paper, best practices (O_DIRECT); MySQL manual, innodb_flush_method",
            remedy: Remedy::Setting {
                name: "innodb_flush_method",
                value: "O_DIRECT",
                live: false,
            },
        },
        judge: method,
    },
    Check {
        about: About {
            id: "doublewrite",
            worst: Level::Warning,
            why: "Without the doublewrite buffer, the server writes about half as much, but cannot repair a page that was torn in a crash.",
            source: "StorageReview article (what the engine does to the disk); MySQL manual, innodb_doublewrite",
            remedy: Remedy::Setting {
                name: "innodb_doublewrite",
                value: "ON",
                live: false,
            },
        },
        judge: doublewrite,
    },
];

fn commit(server: &Facts) -> Observed {
    const NAME: &str = "innodb_flush_log_at_trx_commit";
    match server.number(NAME) {
        None => server.unknown(NAME),
        Some(0) => Observed::severe(format!("{NAME}: 0; commits do not wait for the log")),
        Some(2) => Observed::warning(format!(
            "{NAME}: 2; commits wait for the kernel, not for the disk"
        )),
        Some(value) => Observed::passed(format!("{NAME}: {value}")),
    }
}

fn binlog(server: &Facts) -> Observed {
    match (server.is_on("log_bin"), server.number("sync_binlog")) {
        (None, _) => server.unknown("log_bin"),
        (Some(false), _) => Observed::passed("log_bin: OFF"),
        (Some(true), None) => server.unknown("sync_binlog"),
        (Some(true), Some(1)) => Observed::passed("log_bin: ON, sync_binlog: 1"),
        (Some(true), Some(commits)) => {
            Observed::warning(format!("log_bin: ON, sync_binlog: {commits}"))
        }
    }
}

fn method(server: &Facts) -> Observed {
    const NAME: &str = "innodb_flush_method";
    let Some(method) = server.text(NAME) else {
        // MariaDB 11 has a switch instead.
        return match server.is_on("innodb_data_file_buffering") {
            Some(false) => Observed::passed("innodb_data_file_buffering: OFF"),
            Some(true) => Observed::warning("innodb_data_file_buffering: ON"),
            None => server.unknown(NAME),
        };
    };
    let observed = format!("{NAME}: {method}");
    match method.to_ascii_uppercase().as_str() {
        "O_DIRECT" | "O_DIRECT_NO_FSYNC" => Observed::passed(observed),
        "NOSYNC" | "LITTLESYNC" => Observed::severe(observed),
        _ => Observed::warning(observed),
    }
}

fn doublewrite(server: &Facts) -> Observed {
    const NAME: &str = "innodb_doublewrite";
    let Some(value) = server.text(NAME) else {
        return server.unknown(NAME);
    };
    let observed = format!("{NAME}: {value}");
    match value.to_ascii_uppercase().as_str() {
        "ON" | "1" | "TRUE" | "DETECT_AND_RECOVER" | "FAST" => Observed::passed(observed),
        _ => Observed::warning(observed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::level;
    use super::*;
    use Level::{Passed, Severe, Unknown, Warning};

    #[test]
    fn commits() {
        let with = |value| level(commit, &[("innodb_flush_log_at_trx_commit", value)]);
        assert_eq!(
            [with("0"), with("1"), with("2"), with("3")],
            [Severe, Passed, Warning, Passed]
        );
    }

    #[test]
    fn a_binary_log_counts_where_there_is_one() {
        let with = |log, sync| level(binlog, &[("log_bin", log), ("sync_binlog", sync)]);
        assert_eq!(with("OFF", "0"), Passed);
        assert_eq!(
            [with("ON", "0"), with("ON", "1"), with("1", "100")],
            [Warning, Passed, Warning]
        );
        assert_eq!(level(binlog, &[("log_bin", "ON")]), Unknown);
    }

    #[test]
    fn ways_to_the_disk() {
        let with = |value| level(method, &[("innodb_flush_method", value)]);
        assert_eq!(
            [with("O_DIRECT"), with("fsync"), with("nosync")],
            [Passed, Warning, Severe]
        );
        let newer = |value| level(method, &[("innodb_data_file_buffering", value)]);
        assert_eq!([newer("OFF"), newer("ON")], [Passed, Warning]);
    }

    #[test]
    fn pages_are_written_twice() {
        let with = |value| level(doublewrite, &[("innodb_doublewrite", value)]);
        assert_eq!(
            [with("ON"), with("DETECT_ONLY"), with("OFF")],
            [Passed, Warning, Warning]
        );
    }
}
