//! Judges that need more than an expression in a row of the table.

use measure::finding::Level::{self, Note, Passed, Severe, Unknown, Warning};
use measure::finding::check::{Judged, Observed, graded, note, passed, severe, unknown, warning};
use plan::shown_bytes;

use crate::checks::{Facts, OWN_CONNECTIONS};
use crate::postgres::settings::{self, MEGABYTE, PAGE_BYTES};

/// The unit of `checkpoint_timeout`, in milliseconds.
pub(super) const SECOND_MS: f64 = 1000.0;

/// A size in bytes; numbers without a unit count in `unit` bytes.
fn bytes(server: &Facts, name: &str, unit: u64) -> Result<u64, Observed> {
    server.parsed(name, |text| settings::bytes(text, unit))
}

/// A time in milliseconds; numbers without a unit count in `unit` milliseconds.
fn ms(server: &Facts, name: &str, unit: f64) -> Result<f64, Observed> {
    server.parsed(name, |text| settings::ms(text, unit))
}

pub(super) fn timed(server: &Facts, name: &str, unit: f64, level: impl Fn(f64) -> Level) -> Judged {
    let time = ms(server, name, unit)?;
    server.graded(name, |_| level(time))
}

/// A size as written in a remedy.
fn size(server: &Facts, bytes: u64) -> String {
    let size = format!("{}MB", bytes >> 20);
    match server.planned {
        true => format!("\"{size}\""),
        false => size,
    }
}

pub(super) fn commit(server: &Facts) -> Judged {
    server.graded("synchronous_commit", |value| match value {
        "on" | "remote_apply" | "true" | "yes" | "1" => Passed,
        // With standbys, it waits for less than the default does.
        "local" | "remote_write" => Note.when(server.text("synchronous_standby_names") != Ok("")),
        _ => Severe,
    })
}

pub(super) fn standbys(server: &Facts) -> Judged {
    const NAME: &str = "synchronous_standby_names";
    match server.text(NAME)? {
        "" => Ok(passed(format!("{NAME} is empty"))),
        _ => server.graded(NAME, |_| Note),
    }
}

/// From this size on, each session's page tables matter without huge pages.
const LARGE_BYTES: u64 = 8 << 30;
/// Shares of a host's memory, in %: below the first, most of the work is left to the kernel's page
/// cache; above the second, too little memory is left to it; above the third, the host swaps.
const SHARES: [u64; 3] = [15, 40, 80];

const BUFFERS: &str = "shared_buffers";

pub(super) fn buffers_memory(server: &Facts) -> Judged {
    let buffers = bytes(server, BUFFERS, PAGE_BYTES)?;
    let observed = server.share_of_memory(BUFFERS, buffers, SHARES);
    Ok(match server.memory_bytes {
        Some(memory) => observed.with("NEEDED", size(server, memory / 4 / server.servers.max(1))),
        None => observed
            .with_remedy("set shared_buffers to 25 % of the host's memory and restart the server"),
    })
}

pub(super) fn buffers_data(server: &Facts) -> Judged {
    let buffers = bytes(server, BUFFERS, PAGE_BYTES)?;
    Ok(server.room_for_data(BUFFERS, buffers, size))
}

pub(super) fn huge_pages(server: &Facts) -> Judged {
    const NAME: &str = "huge_pages";
    let (wanted, buffers) = (server.text(NAME)?, bytes(server, BUFFERS, PAGE_BYTES)?);
    let observed = format!("{NAME}: {wanted}, {BUFFERS}: {}", shown_bytes(buffers));
    match (wanted, server.text("huge_pages_status")) {
        _ if buffers < LARGE_BYTES => Ok(passed(observed)),
        ("on", _) | ("try", Ok("on")) => Ok(passed(observed)),
        ("try", Err(_)) => Err(unknown(format!(
            "{observed}; only PostgreSQL 17 and later report whether they are used"
        ))),
        _ => Ok(warning(observed).with("PAGES", buffers / (2 << 20) * 11 / 10)),
    }
}

/// From this size on, a write load forces few checkpoints.
const GOOD_WAL_BYTES: u64 = 4 << 30;
/// The default.
const SMALL_WAL_BYTES: u64 = 1 << 30;

pub(super) fn wal_size(server: &Facts) -> Judged {
    const NAME: &str = "max_wal_size";
    let most = bytes(server, NAME, MEGABYTE)?;
    let level = match most {
        GOOD_WAL_BYTES.. => Passed,
        ..=SMALL_WAL_BYTES => Warning,
        _ => Note,
    };
    let observed = graded(level, format!("{NAME}: {}", shown_bytes(most)));
    Ok(observed.with("NEEDED", size(server, GOOD_WAL_BYTES)))
}

pub(super) fn archiving(server: &Facts) -> Judged {
    let mode = server.text("archive_mode")?;
    let ways = ["archive_command", "archive_library"];
    // An unprivileged account does not see the command.
    let ways: Vec<&str> = ways
        .iter()
        .filter_map(|name| server.text(name).ok())
        .collect();
    let is_empty = |way: &&str| ["", "(disabled)"].contains(way);
    if mode != "off" && !ways.is_empty() && ways.iter().all(is_empty) {
        let observed = format!("archive_mode: {mode}, without an archive_command");
        return Ok(warning(observed));
    }
    server.should_be("archive_mode", &["off"], Note)
}

pub(super) fn page_cost(server: &Facts) -> Judged {
    const NAME: &str = "random_page_cost";
    let cost = server.text(NAME)?;
    let (level, disk) = match (server.turning_disk, cost.parse::<f64>()) {
        (Some(false), Ok(4.0..)) => (Note, ", and its disk does not turn"),
        (None, Ok(4.0..)) => (Unknown, "; whether its disk turns is not known"),
        _ => (Passed, ""),
    };
    Ok(graded(level, format!("{NAME}: {cost}{disk}")))
}

pub(super) fn autovacuum(server: &Facts) -> Judged {
    let (autovacuum, counts) = ("autovacuum", "track_counts");
    if server.is_on(autovacuum)? && server.is_on(counts) == Ok(false) {
        let observed = format!("{autovacuum}: on, {counts}: off");
        return Ok(warning(observed).with(autovacuum, counts));
    }
    server.switch(autovacuum, true, Warning)
}

/// The number of running vacuums, which the query for settings also returns.
const VACUUMS: &str = "pg_stat_progress_vacuum";

pub(super) fn vacuums(server: &Facts) -> Judged {
    match server.number(VACUUMS) {
        Ok(0) => Ok(passed(format!("{VACUUMS}: none"))),
        Ok(count) => Ok(warning(format!("{VACUUMS}: {count}"))),
        Err(_) if server.planned && server.settings.is_ok() => {
            Ok(passed("a new server runs no vacuum"))
        }
        Err(unknown) => Err(unknown),
    }
}

/// Time limits of sessions, in milliseconds.
const TIMEOUTS: [&str; 4] = [
    "statement_timeout",
    "transaction_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
];

pub(super) fn max_connections(server: &Facts) -> Judged {
    const NAME: &str = "max_connections";
    let all = server.number(NAME)?;
    let reserved = ["superuser_reserved_connections", "reserved_connections"];
    let reserved = reserved.map(|name| server.number(name).unwrap_or(0));
    let reserved: u64 = reserved.iter().sum();
    let observed = format!("{NAME}: {all}, of which {reserved} are reserved");
    let Some(demand) = &server.demand else {
        return Err(unknown(format!(
            "{observed}; use --study FILE to compare it with a load"
        )));
    };
    let needed = demand.users + OWN_CONNECTIONS;
    let level = Severe.when(needed > all.saturating_sub(reserved));
    let observed = graded(level, format!("{observed}; the load needs {needed}"));
    Ok(observed.with("NEEDED", needed + reserved))
}

pub(super) fn timeouts(server: &Facts) -> Judged {
    let known = TIMEOUTS
        .iter()
        .filter_map(|name| Some((*name, ms(server, name, 1.0).ok()?)));
    let known: Vec<(&str, f64)> = known.collect();
    match known.iter().find(|(_, limit)| *limit > 0.0) {
        _ if known.is_empty() => Err(server.unknown(TIMEOUTS[0])),
        Some((name, _)) => Ok(server.graded(name, |_| Warning)?.with("TIMEOUT", name)),
        None => Ok(passed("no timeouts are set")),
    }
}

/// Settings that load libraries.
const PRELOADED: [&str; 2] = ["shared_preload_libraries", "session_preload_libraries"];

/// The first setting that logs statements.
pub(super) fn statements(server: &Facts) -> Judged {
    let (statement, duration) = ("log_statement", "log_min_duration_statement");
    let (kind, least_ms) = (server.text(statement)?, ms(server, duration, 1.0)?);
    let samples = ms(server, "log_min_duration_sample", 1.0).is_ok_and(|ms| ms >= 0.0);
    let rate = |name: &str| {
        let rate = server.parsed(name, |rate| rate.parse::<f64>().ok());
        rate.unwrap_or(0.0)
    };
    let sampled = rate("log_statement_sample_rate");
    let transactions = rate("log_transaction_sample_rate");
    let (level, name, value, usual) = match kind {
        "all" | "mod" => (Severe, statement, kind.to_owned(), "none"),
        _ if least_ms == 0.0 => (Severe, duration, "0".to_owned(), "-1"),
        _ if server.is_on("log_duration") == Ok(true) => {
            (Severe, "log_duration", "on".to_owned(), "off")
        }
        _ if samples && sampled > 0.0 => (
            Warning,
            "log_statement_sample_rate",
            sampled.to_string(),
            "0",
        ),
        _ if transactions > 0.0 => (
            Warning,
            "log_transaction_sample_rate",
            transactions.to_string(),
            "0",
        ),
        _ if least_ms > 0.0 => (Note, duration, format!("{least_ms} ms"), "-1"),
        _ => (Passed, statement, format!("{kind}, {duration}: -1"), "none"),
    };
    let observed = graded(level, format!("{name}: {value}"));
    Ok(observed.with("SETTING", name).with("USUAL", usual))
}

/// Whether the server loads a library. The account may not see all lists.
fn loads(server: &Facts, library: &str) -> Result<bool, Observed> {
    let lists = PRELOADED.map(|name| server.text(name));
    let mut names = lists.iter().flatten().flat_map(|list| list.split(','));
    let is_loaded = names.any(|name| {
        let name = name.trim().trim_matches('"').trim_end_matches(".so");
        name.ends_with(library)
    });
    match lists.iter().all(Result::is_ok) || is_loaded {
        true => Ok(is_loaded),
        false => Err(server.unknown(PRELOADED[0])),
    }
}

pub(super) fn plans(server: &Facts) -> Judged {
    let (least, analyze) = ("auto_explain.log_min_duration", "auto_explain.log_analyze");
    Ok(
        match (loads(server, "auto_explain"), ms(server, least, 1.0)) {
            (Err(unknown), Err(_)) => unknown,
            (Ok(false), Err(_)) => passed("auto_explain is not loaded"),
            (_, Ok(..0.0)) => passed(format!("{least}: -1")),
            _ if server.is_on(analyze) == Ok(true) => severe(format!("{analyze}: on")),
            _ => note("auto_explain is loaded"),
        },
    )
}

pub(super) fn statistics(server: &Facts) -> Judged {
    let (level, is) = match loads(server, "pg_stat_statements")? {
        true => (Note, "is"),
        false => (Passed, "is not"),
    };
    Ok(graded(level, format!("pg_stat_statements {is} loaded")))
}

pub(super) fn timing(server: &Facts) -> Judged {
    let (all, wal) = ("track_io_timing", "track_wal_io_timing");
    match server.is_on(wal) {
        Ok(true) => Ok(server.switch(wal, false, Note)?.with(all, wal)),
        _ => server.switch(all, false, Note),
    }
}
