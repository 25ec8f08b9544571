//! Judges that need more than an expression in a row of the table.

use measure::finding::Level::{self, Note, Passed, Severe, Warning};
use measure::finding::check::{Judged, graded, passed, severe, unknown, warning};
use plan::shown_bytes;

use crate::checks::{DEFAULT_BYTES, Demand, Facts, OWN_CONNECTIONS};
use crate::mysql::{MARIADB, MYSQL};
use crate::settings::switch;

/// Values that repair torn pages; `DETECT_ONLY` does not.
pub(super) const DOUBLEWRITE: [&str; 5] = ["ON", "1", "TRUE", "DETECT_AND_RECOVER", "FAST"];

pub(super) fn commit_flush(server: &Facts) -> Judged {
    const NAME: &str = "innodb_flush_log_at_trx_commit";
    let value = server.number(NAME)?;
    let (level, words) = match value {
        0 => (Severe, "; commits do not wait for the log"),
        2 => (Warning, "; commits wait for the kernel, not for the disk"),
        _ => (Passed, ""),
    };
    Ok(graded(level, format!("{NAME}: {value}{words}")))
}

pub(super) fn binlog(server: &Facts) -> Judged {
    // A file name also turns the log on.
    if switch(server.text("log_bin")?) == Some(false) {
        return Ok(passed("log_bin: OFF"));
    }
    let commits = server.number("sync_binlog")?;
    let observed = format!("log_bin: ON, sync_binlog: {commits}");
    Ok(graded(Warning.when(commits != 1), observed))
}

pub(super) fn flush_method(server: &Facts) -> Judged {
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

/// Smallest instance of a buffer pool that is worth its own mutex.
const INSTANCE_BYTES: u64 = 1 << 30;
/// From this size on, a single mutex for the whole pool is a bottleneck.
const LARGE_BYTES: u64 = 8 << 30;
/// The range of good shares of a host's memory, and the maximum, in %.
const SHARES: [u64; 3] = [50, 80, 90];

const POOL: &str = "innodb_buffer_pool_size";

/// A size as written in this server's settings.
fn size(server: &Facts, bytes: u64) -> String {
    match server.planned {
        true => format!("\"{}M\"", bytes >> 20),
        false => bytes.to_string(),
    }
}

pub(super) fn pool_memory(server: &Facts) -> Judged {
    let pool = server.number(POOL)?;
    let good = server
        .memory_bytes
        .map(|memory| memory / 4 * 3 / server.servers.max(1));
    let needed = good.unwrap_or(8 * DEFAULT_BYTES) / DEFAULT_BYTES * DEFAULT_BYTES;
    let observed = server.share_of_memory(POOL, pool, SHARES);
    Ok(observed.with("NEEDED", size(server, needed)))
}

pub(super) fn pool_data(server: &Facts) -> Judged {
    Ok(server.room_for_data(POOL, server.number(POOL)?, size))
}

pub(super) fn pool_instances(server: &Facts) -> Judged {
    const NAME: &str = "innodb_buffer_pool_instances";
    let pool = server.number(POOL)?;
    if server.engine == MARIADB && server.is_since(10, 5) {
        let observed = format!("{NAME}: MariaDB's buffer pool has a single instance");
        return Ok(passed(observed));
    }
    let parts = server.number(NAME)?;
    let is_small = parts > 1 && pool / parts < INSTANCE_BYTES;
    let is_contended = parts <= 1 && pool >= LARGE_BYTES;
    let observed = format!("{NAME}: {parts}, of {}", shown_bytes(pool));
    let best = (pool / INSTANCE_BYTES).clamp(1, 8);
    Ok(graded(Note.when(is_small || is_contended), observed).with("NEEDED", best))
}

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

pub(super) fn log_size(server: &Facts) -> Judged {
    let (newer, older) = ("innodb_redo_log_capacity", "innodb_log_file_size");
    // MySQL ignores the older setting if the newer one is set. MariaDB has only the older one, but
    // a study of both engines may set the newer one.
    let (name, bytes) = match server.number(newer) {
        Ok(bytes) if server.engine == MYSQL => (newer, bytes),
        _ => {
            let has_one = server.engine == MARIADB && server.is_since(10, 5);
            let files = server.number("innodb_log_files_in_group");
            let files = files.ok().filter(|_| !has_one).unwrap_or(1);
            (older, server.number(older)?.saturating_mul(files.max(1)))
        }
    };
    let level = match bytes {
        ..SMALL_LOG_BYTES => Warning,
        GOOD_LOG_BYTES.. => Passed,
        _ => Note,
    };
    let observed = format!("{name}: {}", shown_bytes(bytes));
    Ok(graded(level, observed).with("LOG_SIZE", name))
}

fn disk(server: &Facts) -> &'static str {
    match server.turning_disk {
        Some(true) => "on a spinning disk",
        Some(false) => "on a non-rotational disk",
        None => "on a disk of unknown kind",
    }
}

pub(super) fn io_capacity(server: &Facts) -> Judged {
    const NAME: &str = "innodb_io_capacity";
    let value = server.number(NAME)?;
    let (level, needed) = match (value, server.turning_disk) {
        (..=SLOW_IO_CAPACITY, Some(false)) => (Warning, 10_000),
        (..=SLOW_IO_CAPACITY, None) => (Note, FAST_IO_CAPACITY),
        (FAST_IO_CAPACITY.., Some(true)) => (Warning, SLOW_IO_CAPACITY),
        _ => (Passed, value),
    };
    let observed = format!("{NAME}: {value}, {}", disk(server));
    Ok(graded(level, observed).with("NEEDED", needed))
}

pub(super) fn flush_neighbors(server: &Facts) -> Judged {
    const NAME: &str = "innodb_flush_neighbors";
    let value = server.number(NAME)?;
    let level = match (value, server.turning_disk) {
        (0, _) | (_, Some(true)) => Passed,
        (_, Some(false)) => Warning,
        (_, None) => Note,
    };
    Ok(graded(level, format!("{NAME}: {value}, {}", disk(server))))
}

pub(super) fn io_threads(server: &Facts) -> Judged {
    let (reads, writes) = ("innodb_read_io_threads", "innodb_write_io_threads");
    let (read, write) = (server.number(reads)?, server.number(writes)?);
    let are_few = read.min(write) <= DEFAULT_IO_THREADS && server.turning_disk != Some(true);
    let observed = format!("{reads}: {read}, {writes}: {write}, {}", disk(server));
    Ok(graded(Note.when(are_few), observed))
}

/// Files of a server besides those of connections and tables.
const OTHER_FILES: u64 = 100;

/// Compares a limit with what the load needs.
pub(super) fn compared(
    server: &Facts,
    name: &str,
    level: Level,
    needed: impl Fn(&Demand) -> u64,
) -> Judged {
    let limit = server.number(name)?;
    let Some(demand) = &server.demand else {
        return Err(unknown(format!(
            "{name}: {limit}; use --study FILE to compare it with a load"
        )));
    };
    let needed = needed(demand);
    let observed = format!("{name}: {limit}, the load needs {needed}");
    Ok(graded(level.when(needed > limit), observed).with("NEEDED", needed))
}

pub(super) fn max_connections(server: &Facts) -> Judged {
    let compared = |name| {
        compared(server, name, Severe, |demand| {
            demand.users + OWN_CONNECTIONS
        })
    };
    // 0 means no separate limit.
    let has_own = server.number("max_user_connections") != Ok(0);
    match compared("max_user_connections") {
        Ok(own) if has_own && own.level() == Severe => {
            Ok(own.with("max_connections", "max_user_connections"))
        }
        _ => compared("max_connections"),
    }
}

pub(super) fn open_files(server: &Facts) -> Judged {
    const NAME: &str = "open_files_limit";
    if server.planned && server.settings.is_ok() && server.text(NAME).is_err() {
        return Ok(passed(format!(
            "{NAME}: the server raises its limit as far as dyno's own allows"
        )));
    }
    compared(server, NAME, Severe, |demand| {
        demand.users + demand.tables + OTHER_FILES
    })
}

pub(super) fn query_cache(server: &Facts) -> Judged {
    const NAME: &str = "query_cache_type";
    if server.engine == MYSQL && server.is_since(8, 0) && server.settings.is_ok() {
        let observed = format!("{NAME}: MySQL has no query cache since 8.0");
        return Ok(passed(observed));
    }
    let kind = server.text(NAME)?;
    let is_off = kind.eq_ignore_ascii_case("OFF") || kind == "0";
    Ok(match server.number("query_cache_size") {
        Ok(0) if !is_off => passed(format!("{NAME}: {kind}, query_cache_size: 0")),
        _ => graded(Severe.when(!is_off), format!("{NAME}: {kind}")),
    })
}

pub(super) fn slow_log(server: &Facts) -> Judged {
    const NAME: &str = "slow_query_log";
    let is_on = server.is_on(NAME)?;
    Ok(match server.number("long_query_time") {
        _ if !is_on => passed(format!("{NAME}: OFF")),
        Ok(0) => severe(format!("{NAME}: ON, long_query_time: below 1 s")),
        _ => warning(format!("{NAME}: ON")),
    })
}
