//! Checks on a server's settings, whether it runs or is only planned.

mod connections;
pub(super) mod defaults;
mod durability;
mod memory;
mod overhead;
mod vacuum;
mod write;

use measure::finding::Level;
use measure::finding::check::{Check, Observed};

use super::settings;
use crate::checks::{ELSEWHERE, Facts};

/// Every check of a server, in the order of the reference page.
pub(super) fn checks() -> Vec<&'static Check<Facts>> {
    let families = [
        ELSEWHERE,
        durability::CHECKS,
        memory::CHECKS,
        write::CHECKS,
        vacuum::CHECKS,
        connections::CHECKS,
        overhead::CHECKS,
    ];
    families.into_iter().flatten().collect()
}

/// What a server is asked besides its settings: how many vacuums run.
pub(super) const VACUUMS: &str = "pg_stat_progress_vacuum";

/// Every setting that a judge looks at.
pub(super) const WANTED: [&str; 44] = [
    "archive_command",
    "archive_library",
    "archive_mode",
    "auto_explain.log_analyze",
    "auto_explain.log_min_duration",
    "autovacuum",
    "bgwriter_lru_maxpages",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "commit_delay",
    "data_checksums",
    "deadlock_timeout",
    "debug_assertions",
    "default_transaction_isolation",
    "fsync",
    "full_page_writes",
    "huge_pages",
    "huge_pages_status",
    "idle_in_transaction_session_timeout",
    "lock_timeout",
    "log_duration",
    "log_min_duration_sample",
    "log_min_duration_statement",
    "log_statement",
    "log_statement_sample_rate",
    "log_transaction_sample_rate",
    "max_connections",
    "max_wal_size",
    "random_page_cost",
    "reserved_connections",
    "session_preload_libraries",
    "shared_buffers",
    "shared_preload_libraries",
    "statement_timeout",
    "superuser_reserved_connections",
    "synchronous_commit",
    "synchronous_standby_names",
    "track_counts",
    "track_io_timing",
    "track_wal_io_timing",
    "transaction_timeout",
    "wal_compression",
    "wal_level",
    "wal_sync_method",
];

/// Judges a setting by its value.
fn valued(server: &Facts, name: &str, level: impl Fn(&str) -> Level) -> Observed {
    let Some(value) = server.text(name) else {
        return server.unknown(name);
    };
    let observed = format!("{name}: {value}");
    match level(value) {
        Level::Passed => Observed::passed(observed),
        level => Observed::found(level, observed),
    }
}

/// Judges a switch: `level` if it is not in the position `good`.
fn switched(server: &Facts, name: &str, good: bool, level: Level) -> Observed {
    match server.is_on(name) {
        None => server.unknown(name),
        Some(on) => {
            let observed = format!("{name}: {}", if on { "on" } else { "off" });
            match on == good {
                true => Observed::passed(observed),
                false => Observed::found(level, observed),
            }
        }
    }
}

/// A size in bytes; numbers without a unit count in `unit` bytes.
fn bytes(server: &Facts, name: &str, unit: u64) -> Option<u64> {
    settings::bytes(server.text(name)?, unit)
}

/// A time in milliseconds; numbers without a unit count in `unit` milliseconds.
fn ms(server: &Facts, name: &str, unit: f64) -> Option<f64> {
    settings::ms(server.text(name)?, unit)
}

/// A size as a remedy has it.
fn size(server: &Facts, bytes: u64) -> String {
    let size = format!("{}MB", bytes >> 20);
    match server.planned {
        true => format!("\"{size}\""),
        false => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::POSTGRES;
    use crate::checks::judge;

    pub(super) fn with(settings: &[(&str, &str)]) -> Facts {
        crate::checks::tests::with(POSTGRES, settings)
    }

    /// What the check of this name says.
    pub(super) fn check(id: &str, settings: &[(&str, &str)]) -> Level {
        let found = checks().into_iter().find(|check| check.about.id == id);
        (found.unwrap().judge)(&with(settings)).level()
    }

    #[test]
    fn the_remedy_depends_on_where_settings_are() {
        let mut server = with(&[("synchronous_commit", "off"), ("max_wal_size", "1GB")]);
        let remedy = |server: &Facts, id: &str| {
            let mut findings = judge(server).into_iter();
            findings.find(|finding| finding.id == id).unwrap().remedy
        };
        assert_eq!(
            remedy(&server, "synchronous-commit").unwrap(),
            "ALTER SYSTEM SET synchronous_commit = 'on'; SELECT pg_reload_conf();"
        );
        assert_eq!(
            remedy(&server, "max-wal-size").unwrap(),
            "ALTER SYSTEM SET max_wal_size = '4096MB'; SELECT pg_reload_conf();"
        );
        server.planned = true;
        assert_eq!(
            remedy(&server, "max-wal-size").unwrap(),
            "server.config.max_wal_size = \"4096MB\" in the study"
        );
    }
}
