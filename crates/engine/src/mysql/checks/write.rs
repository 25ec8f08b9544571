//! Background writes: the log, flushing, and I/O threads.

use measure::checks;
use measure::finding::Level::{Note, Passed, Warning};
use measure::finding::check::{Check, Judged, Observed};
use plan::shown_bytes;

use crate::checks::Facts;
use crate::mysql::MYSQL;

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

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "log-size", Warning => log(server),
        why: "A small log fills up before dirty pages are written; transactions then wait for a checkpoint, and throughput dips.",
        source: "VMware vSAN paper, best practices (2 x 512 MB); MySQL manual, innodb_redo_log_capacity",
        remedy: Restart("LOG_SIZE", "1G");
    "io-capacity", Warning => capacity(server),
        why: "InnoDB assumes that the disk does this many I/O operations per second: if it is too low, dirty pages accumulate until writers wait; if it is too high, flushing competes with reads.",
        source: "MySQL manual, innodb_io_capacity",
        remedy: Live("innodb_io_capacity", "NEEDED");
    "flush-neighbors", Warning => neighbors(server),
        why: "Writing a page's neighbors with it saves seeks on a spinning disk, and causes needless writes on any other.",
        source: "VMware vSAN paper (0 on flash); MySQL manual, innodb_flush_neighbors",
        remedy: Live("innodb_flush_neighbors", "0");
    "io-threads", Note => threads(server),
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
};

fn log(server: &Facts) -> Judged {
    let (newer, older) = ("innodb_redo_log_capacity", "innodb_log_file_size");
    // MySQL ignores the older setting where the newer one is set; MariaDB has only the older
    // one, but a study of both engines may set the newer.
    let (name, bytes) = match server.number(newer) {
        Ok(bytes) if server.engine == MYSQL => (newer, bytes),
        _ => {
            let files = server.number("innodb_log_files_in_group").unwrap_or(1);
            (older, server.number(older)?.saturating_mul(files.max(1)))
        }
    };
    let level = match bytes {
        ..SMALL_LOG_BYTES => Warning,
        ..GOOD_LOG_BYTES => Note,
        _ => Passed,
    };
    let observed = format!("{name}: {}", shown_bytes(bytes));
    Ok(Observed::graded(level, observed).with("LOG_SIZE", name))
}

/// The kind of disk, for messages.
fn disk(server: &Facts) -> &'static str {
    match server.turning_disk {
        Some(true) => "on a spinning disk",
        Some(false) => "on a non-rotational disk",
        None => "on a disk of unknown kind",
    }
}

fn capacity(server: &Facts) -> Judged {
    const NAME: &str = "innodb_io_capacity";
    let value = server.number(NAME)?;
    let (level, needed) = match (value, server.turning_disk) {
        (..=SLOW_IO_CAPACITY, Some(false)) => (Warning, 10_000),
        (..=SLOW_IO_CAPACITY, None) => (Note, FAST_IO_CAPACITY),
        (FAST_IO_CAPACITY.., Some(true)) => (Warning, SLOW_IO_CAPACITY),
        _ => (Passed, value),
    };
    let observed = format!("{NAME}: {value}, {}", disk(server));
    Ok(Observed::graded(level, observed).with("NEEDED", needed))
}

fn neighbors(server: &Facts) -> Judged {
    const NAME: &str = "innodb_flush_neighbors";
    let value = server.number(NAME)?;
    let level = match (value, server.turning_disk) {
        (0, _) | (_, Some(true)) => Passed,
        (_, Some(false)) => Warning,
        (_, None) => Note,
    };
    Ok(Observed::graded(
        level,
        format!("{NAME}: {value}, {}", disk(server)),
    ))
}

fn threads(server: &Facts) -> Judged {
    let (reads, writes) = ("innodb_read_io_threads", "innodb_write_io_threads");
    let (read, write) = (server.number(reads)?, server.number(writes)?);
    let are_few = read.min(write) <= DEFAULT_IO_THREADS && server.turning_disk != Some(true);
    let observed = format!("{reads}: {read}, {writes}: {write}, {}", disk(server));
    Ok(Observed::graded(Note.when(are_few), observed))
}
