//! Background writes: the log, flushing, and I/O threads.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};

use crate::checks::{Facts, switched};
use crate::mysql::MYSQL;
use plan::shown_bytes;

/// Two log files of 512 MiB, as in the paper; smaller logs fill up under a write load.
const GOOD_LOG_BYTES: u64 = 1 << 30;
/// Slightly above the engines' defaults.
const SMALL_LOG_BYTES: u64 = 256 << 20;
/// The default for spinning disks.
const SLOW_IO_CAPACITY: u64 = 200;
/// More than a spinning disk provides.
const FAST_IO_CAPACITY: u64 = 2000;
/// Background threads of each kind by default.
const DEFAULT_IO_THREADS: u64 = 4;

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "log-size",
            worst: Level::Warning,
            why: "A small log fills up before dirty pages are written; transactions then wait for a checkpoint, and throughput dips.",
            source: "VMware vSAN paper, best practices (2 x 512 MB); MySQL manual, innodb_redo_log_capacity",
            remedy: Remedy::Setting {
                name: "LOG_SIZE",
                value: "1G",
                live: false,
            },
        },
        judge: log,
    },
    Check {
        about: About {
            id: "io-capacity",
            worst: Level::Warning,
            why: "InnoDB assumes that the disk does this many I/O operations per second: if it is too low, dirty pages accumulate until writers wait; if it is too high, flushing competes with reads.",
            source: "MySQL manual, innodb_io_capacity",
            remedy: Remedy::Setting {
                name: "innodb_io_capacity",
                value: "NEEDED",
                live: true,
            },
        },
        judge: capacity,
    },
    Check {
        about: About {
            id: "flush-neighbors",
            worst: Level::Warning,
            why: "Writing a page's neighbors with it saves seeks on a spinning disk, and causes needless writes on any other.",
            source: "VMware vSAN paper (0 on flash); MySQL manual, innodb_flush_neighbors",
            remedy: Remedy::Setting {
                name: "innodb_flush_neighbors",
                value: "0",
                live: true,
            },
        },
        judge: neighbors,
    },
    Check {
        about: About {
            id: "io-threads",
            worst: Level::Note,
            why: "A disk that serves many requests in parallel needs as many threads to issue them.",
            source: "VMware vSAN paper (16 for reads, 16 for writes); MySQL manual, innodb_read_io_threads",
            remedy: Remedy::Setting {
                name: "innodb_read_io_threads",
                value: "16",
                live: false,
            },
        },
        judge: threads,
    },
    Check {
        about: About {
            id: "adaptive-flushing",
            worst: Level::Warning,
            why: "Without adaptive flushing, dirty pages are written in bursts, and throughput dips with each.",
            source: "VMware vSAN paper, best practices; MySQL manual, innodb_adaptive_flushing",
            remedy: Remedy::Setting {
                name: "innodb_adaptive_flushing",
                value: "ON",
                live: true,
            },
        },
        judge: |server| switched(server, "innodb_adaptive_flushing", true, Level::Warning),
    },
    Check {
        about: About {
            id: "file-per-table",
            worst: Level::Note,
            why: "Tables in the shared tablespace contend for its file, and the space of a dropped table is not returned to the file system.",
            source: "VMware vSAN paper, best practices; MySQL manual, innodb_file_per_table",
            remedy: Remedy::Setting {
                name: "innodb_file_per_table",
                value: "ON",
                live: true,
            },
        },
        judge: |server| switched(server, "innodb_file_per_table", true, Level::Note),
    },
];

fn log(server: &Facts) -> Observed {
    let newer = "innodb_redo_log_capacity";
    let older = "innodb_log_file_size";
    let files = server.number("innodb_log_files_in_group").unwrap_or(1);
    // MySQL ignores the older setting where the newer one is set; MariaDB has only the older
    // one, but a study of both engines may set the newer.
    let capacity = server.number(newer).filter(|_| server.engine == MYSQL);
    let (name, bytes) = match (capacity, server.number(older)) {
        (Some(bytes), _) => (newer, bytes),
        (None, Some(bytes)) => (older, bytes.saturating_mul(files.max(1))),
        (None, None) => return server.unknown(older),
    };
    let observed = format!("{name}: {}", shown_bytes(bytes));
    match bytes {
        _ if bytes < SMALL_LOG_BYTES => Observed::warning(observed).with("LOG_SIZE", name),
        _ if bytes < GOOD_LOG_BYTES => Observed::note(observed).with("LOG_SIZE", name),
        _ => Observed::passed(observed),
    }
}

/// The kind of disk, for messages.
fn disk(server: &Facts) -> &'static str {
    match server.turning_disk {
        Some(true) => "on a spinning disk",
        Some(false) => "on a non-rotational disk",
        None => "on a disk of unknown kind",
    }
}

fn capacity(server: &Facts) -> Observed {
    const NAME: &str = "innodb_io_capacity";
    let Some(value) = server.number(NAME) else {
        return server.unknown(NAME);
    };
    let observed = format!("{NAME}: {value}, {}", disk(server));
    match (value, server.turning_disk) {
        (..=SLOW_IO_CAPACITY, Some(false)) => Observed::warning(observed).with("NEEDED", 10_000),
        (..=SLOW_IO_CAPACITY, None) => Observed::note(observed).with("NEEDED", FAST_IO_CAPACITY),
        (FAST_IO_CAPACITY.., Some(true)) => {
            Observed::warning(observed).with("NEEDED", SLOW_IO_CAPACITY)
        }
        _ => Observed::passed(observed),
    }
}

fn neighbors(server: &Facts) -> Observed {
    const NAME: &str = "innodb_flush_neighbors";
    let Some(value) = server.number(NAME) else {
        return server.unknown(NAME);
    };
    let observed = format!("{NAME}: {value}, {}", disk(server));
    match (value, server.turning_disk) {
        (0, _) | (_, Some(true)) => Observed::passed(observed),
        (_, Some(false)) => Observed::warning(observed),
        (_, None) => Observed::note(observed),
    }
}

fn threads(server: &Facts) -> Observed {
    let (reads, writes) = ("innodb_read_io_threads", "innodb_write_io_threads");
    let (Some(read), Some(write)) = (server.number(reads), server.number(writes)) else {
        return server.unknown(reads);
    };
    let observed = format!("{reads}: {read}, {writes}: {write}, {}", disk(server));
    match server.turning_disk {
        Some(true) => Observed::passed(observed),
        _ if read.min(write) <= DEFAULT_IO_THREADS => Observed::note(observed),
        _ => Observed::passed(observed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, level, with};
    use super::*;
    use crate::MARIADB;
    use Level::{Note, Passed, Warning};

    #[test]
    fn logs_of_either_name() {
        let mariadb = |size| level(log, &[("innodb_log_file_size", size)]);
        assert_eq!(
            [mariadb("96M"), mariadb("512M"), mariadb("1G")],
            [Warning, Note, Passed]
        );
        let both = [
            ("innodb_log_file_size", "48M"),
            ("innodb_redo_log_capacity", "2G"),
        ];
        assert_eq!(log(&with(MYSQL, &both)).level(), Passed);
        assert_eq!(log(&with(MARIADB, &both)).level(), Warning);
        let two = [
            ("innodb_log_file_size", "512M"),
            ("innodb_log_files_in_group", "2"),
        ];
        assert_eq!(level(log, &two), Passed);
        let small = with(MYSQL, &[("innodb_redo_log_capacity", "104857600")]);
        assert_eq!(
            log(&small),
            Observed::warning("innodb_redo_log_capacity: 100.0 MiB")
                .with("LOG_SIZE", "innodb_redo_log_capacity")
        );
    }

    #[test]
    fn spinning_disks_need_other_settings() {
        let judged = |turning_disk, capacity_is, neighbors_is, threads_are| {
            let mut server = with(
                MARIADB,
                &[
                    ("innodb_io_capacity", capacity_is),
                    ("innodb_flush_neighbors", neighbors_is),
                    ("innodb_read_io_threads", threads_are),
                    ("innodb_write_io_threads", "16"),
                ],
            );
            server.turning_disk = turning_disk;
            [capacity, neighbors, threads].map(|judge| judge(&server).level())
        };
        assert_eq!(
            judged(Some(false), "200", "1", "4"),
            [Warning, Warning, Note]
        );
        assert_eq!(judged(Some(false), "10000", "0", "16"), [Passed; 3]);
        assert_eq!(judged(Some(true), "200", "1", "4"), [Passed; 3]);
        assert_eq!(
            judged(Some(true), "10000", "0", "4"),
            [Warning, Passed, Passed]
        );
        assert_eq!(judged(None, "200", "1", "4"), [Note; 3]);
    }

    #[test]
    fn switches() {
        let flushing = |value| check("adaptive-flushing", &[("innodb_adaptive_flushing", value)]);
        assert_eq!([flushing("ON"), flushing("OFF")], [Passed, Warning]);
        let files = |value| check("file-per-table", &[("innodb_file_per_table", value)]);
        assert_eq!([files("ON"), files("OFF")], [Passed, Note]);
    }
}
