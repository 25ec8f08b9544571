//! Writes besides commits: checkpoints, WAL, and vacuum, and what the planner assumes about the disk.

use measure::checks;
use measure::finding::Level::{Note, Passed, Unknown, Warning};
use measure::finding::check::{Check, Judged, Observed};
use plan::shown_bytes;

use super::{SECOND_MS, VACUUMS, bytes, size, timed};
use crate::checks::Facts;
use crate::postgres::settings::MEGABYTE;

/// From this size on, a write load forces few checkpoints.
const GOOD_WAL_BYTES: u64 = 4 << 30;
/// The default.
const SMALL_WAL_BYTES: u64 = 1 << 30;
/// The default, in milliseconds.
const CHECKPOINT_MS: f64 = 300_000.0;
/// The default since PostgreSQL 14.
const COMPLETION_TARGET: f64 = 0.9;

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "max-wal-size", Warning => wal_size(server),
        why: "A load that writes this much WAL within checkpoint_timeout forces a checkpoint, after which the first change of each page logs the full page: throughput dips, and the WAL grows.",
        source: "PostgreSQL manual, WAL Configuration (max_wal_size)",
        remedy: Live("max_wal_size", "NEEDED");
    "checkpoint-timeout", Warning => timed(server, "checkpoint_timeout", SECOND_MS, |time| Warning.when(time < CHECKPOINT_MS)),
        why: "Frequent checkpoints write the same pages repeatedly, and each is logged in full once after each checkpoint.",
        source: "PostgreSQL manual, WAL Configuration (checkpoint_timeout)",
        remedy: Live("checkpoint_timeout", "5min");
    "checkpoint-completion-target", Note => completion_target(server),
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
    "archiving", Warning => archiving(server),
        why: "Each WAL file is copied while the load runs; without a command that does so, the files fill the disk.",
        source: "PostgreSQL manual, Continuous Archiving (archive_mode, archive_command)",
        remedy: Restart("archive_mode", "off");
    "commit-delay", Note => server.should_be("commit_delay", &["0"], Note),
        why: "Commits wait to share a flush with others, which affects response times and how throughput scales with users.",
        source: "PostgreSQL manual, Write Ahead Log (commit_delay)",
        remedy: Live("commit_delay", "0");
    "random-page-cost", Note => page_cost(server),
        why: "The default is for spinning disks: on others, the planner may choose a sequential scan where an index scan is faster.",
        source: "PostgreSQL manual, Query Planning (random_page_cost)",
        remedy: Live("random_page_cost", "1.1");
    "autovacuum", Warning => autovacuum(server),
        why: "Without autovacuum, dead rows accumulate: a write load becomes slower the longer it runs, so its result is not sustainable.",
        source: "PostgreSQL manual, Automatic Vacuuming (autovacuum, track_counts)",
        remedy: Live("autovacuum", "on");
    "vacuum-running", Warning => vacuums(server),
        why: "A vacuum competes with the load for I/O, and the next trial may have none.",
        source: "PostgreSQL manual, Progress Reporting (pg_stat_progress_vacuum)",
        remedy: Words("wait until pg_stat_progress_vacuum is empty, or run VACUUM ANALYZE before the load");
};

fn wal_size(server: &Facts) -> Judged {
    const NAME: &str = "max_wal_size";
    let most = bytes(server, NAME, MEGABYTE)?;
    let level = match most {
        GOOD_WAL_BYTES.. => Passed,
        ..=SMALL_WAL_BYTES => Warning,
        _ => Note,
    };
    let observed = Observed::graded(level, format!("{NAME}: {}", shown_bytes(most)));
    Ok(observed.with("NEEDED", size(server, GOOD_WAL_BYTES)))
}

fn completion_target(server: &Facts) -> Judged {
    server.graded("checkpoint_completion_target", |part| {
        Note.when(part.parse().is_ok_and(|part: f64| part < COMPLETION_TARGET))
    })
}

fn archiving(server: &Facts) -> Judged {
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
        return Ok(Observed::warning(observed));
    }
    server.should_be("archive_mode", &["off"], Note)
}

fn page_cost(server: &Facts) -> Judged {
    const NAME: &str = "random_page_cost";
    let cost = server.text(NAME)?;
    let (level, disk) = match (server.turning_disk, cost.parse::<f64>()) {
        (Some(false), Ok(4.0..)) => (Note, ", and its disk does not turn"),
        (None, Ok(4.0..)) => (Unknown, "; whether its disk turns is not known"),
        _ => (Passed, ""),
    };
    Ok(Observed::graded(level, format!("{NAME}: {cost}{disk}")))
}

fn autovacuum(server: &Facts) -> Judged {
    let (autovacuum, counts) = ("autovacuum", "track_counts");
    if server.is_on(autovacuum)? && server.is_on(counts) == Ok(false) {
        let observed = format!("{autovacuum}: on, {counts}: off");
        return Ok(Observed::warning(observed).with(autovacuum, counts));
    }
    server.switch(autovacuum, true, Warning)
}

fn vacuums(server: &Facts) -> Judged {
    match server.number(VACUUMS) {
        Ok(0) => Ok(Observed::passed(format!("{VACUUMS}: none"))),
        Ok(count) => Ok(Observed::warning(format!("{VACUUMS}: {count}"))),
        Err(_) if server.planned && server.settings.is_ok() => {
            Ok(Observed::passed("a new server runs no vacuum"))
        }
        Err(unknown) => Err(unknown),
    }
}
