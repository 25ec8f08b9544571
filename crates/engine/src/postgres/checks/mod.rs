//! Checks on the settings of running and planned servers.

mod connections;
pub(super) mod defaults;
mod durability;
mod memory;
mod overhead;
mod vacuum;
mod write;

use measure::finding::check::Check;

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

/// Besides settings, a server is asked how many vacuums are running.
pub(super) const VACUUMS: &str = "pg_stat_progress_vacuum";

/// Every setting that a check looks at.
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

/// A size in bytes; numbers without a unit count in `unit` bytes.
fn bytes(server: &Facts, name: &str, unit: u64) -> Option<u64> {
    settings::bytes(server.text(name)?, unit)
}

/// A time in milliseconds; numbers without a unit count in `unit` milliseconds.
fn ms(server: &Facts, name: &str, unit: f64) -> Option<f64> {
    settings::ms(server.text(name)?, unit)
}

/// A size as written in a remedy.
fn size(server: &Facts, bytes: u64) -> String {
    let size = format!("{}MB", bytes >> 20);
    match server.planned {
        true => format!("\"{size}\""),
        false => size,
    }
}

#[cfg(test)]
mod tests {
    use measure::finding::Level;

    use super::*;
    use crate::POSTGRES;
    use crate::checks::judge;

    pub(super) fn with(settings: &[(&str, &str)]) -> Facts {
        crate::checks::tests::with(POSTGRES, settings)
    }

    /// The result of this check.
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
