//! Defaults of the settings that checks examine.

use plan::StaticSettings;

use crate::checks::Defaults;

/// PostgreSQL 13's, without `huge_pages_status` and settings that a study cannot set.
const OF_13: StaticSettings = &[
    ("archive_command", ""),
    ("archive_library", ""),
    ("archive_mode", "off"),
    ("autovacuum", "on"),
    ("bgwriter_lru_maxpages", "100"),
    ("checkpoint_completion_target", "0.5"),
    ("checkpoint_timeout", "5min"),
    ("commit_delay", "0"),
    ("data_checksums", "off"),
    ("deadlock_timeout", "1s"),
    ("debug_assertions", "off"),
    ("default_transaction_isolation", "read committed"),
    ("fsync", "on"),
    ("full_page_writes", "on"),
    ("huge_pages", "try"),
    ("idle_in_transaction_session_timeout", "0"),
    ("lock_timeout", "0"),
    ("log_duration", "off"),
    ("log_min_duration_sample", "-1"),
    ("log_min_duration_statement", "-1"),
    ("log_statement", "none"),
    ("log_statement_sample_rate", "1"),
    ("log_transaction_sample_rate", "0"),
    ("max_connections", "100"),
    ("max_wal_size", "1GB"),
    ("random_page_cost", "4"),
    ("session_preload_libraries", ""),
    ("shared_buffers", "128MB"),
    ("shared_preload_libraries", ""),
    ("statement_timeout", "0"),
    ("superuser_reserved_connections", "3"),
    ("synchronous_commit", "on"),
    ("synchronous_standby_names", ""),
    ("track_counts", "on"),
    ("track_io_timing", "off"),
    ("wal_compression", "off"),
    ("wal_level", "replica"),
    ("wal_sync_method", "fdatasync"),
];

pub(in crate::postgres) const DEFAULTS: Defaults = &[
    ((13, 0), OF_13),
    (
        (14, 0),
        &[
            ("checkpoint_completion_target", "0.9"),
            ("track_wal_io_timing", "off"),
        ],
    ),
    ((16, 0), &[("reserved_connections", "0")]),
    ((17, 0), &[("transaction_timeout", "0")]),
    ((18, 0), &[("data_checksums", "on")]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::checks::defaults_of;

    #[test]
    fn they_are_those_of_an_unconfigured_server() {
        // Overrides the test kit's own settings.
        let server = testkit::Postgres::start(&["shared_buffers=128MB", "fsync=on"]);
        let version = server.sql("SHOW server_version").remove(0).remove(0);
        let defaults: BTreeMap<_, _> = defaults_of(DEFAULTS, &version).collect();
        assert!(defaults.len() >= OF_13.len(), "{version}");
        for (name, default) in defaults {
            let shown = server.sql(&format!("SHOW {name}"));
            let shown = shown.first().map_or("", |row| row[0].as_str());
            // The server reports this for an unused command.
            let shown = if shown == "(disabled)" { "" } else { shown };
            assert_eq!(shown, default, "{version}: {name}");
        }
    }
}
