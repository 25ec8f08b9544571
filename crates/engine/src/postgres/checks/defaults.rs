//! Defaults of the settings that checks examine.

use crate::version;

/// The oldest version whose defaults are known.
const OLDEST: u64 = 13;

/// PostgreSQL 13's, without `huge_pages_status` and settings that a study cannot set.
const SETTINGS: [(&str, &str); 38] = [
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

/// Later changes, with the first version that has them.
const CHANGES: [(u64, &str, &str); 5] = [
    (14, "checkpoint_completion_target", "0.9"),
    (14, "track_wal_io_timing", "off"),
    (16, "reserved_connections", "0"),
    (17, "transaction_timeout", "0"),
    (18, "data_checksums", "on"),
];

/// The defaults of a version; empty if they are not known.
pub(in crate::postgres) fn of(version: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let major = version::major(version);
    let settings = SETTINGS.into_iter().filter(move |_| major >= OLDEST);
    let changes = CHANGES
        .into_iter()
        .filter(move |(since, ..)| major >= *since);
    settings.chain(changes.map(|(_, name, value)| (name, value)))
}

/// The settings whose defaults are known.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let changed = CHANGES.into_iter().map(|(_, name, _)| name);
    SETTINGS.into_iter().map(|(name, _)| name).chain(changed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn changes_replace_older_defaults() {
        assert_eq!(of("12.22").count() + of("").count(), 0);
        let newest: BTreeMap<_, _> = of("18.1").collect();
        assert_eq!(newest["data_checksums"], "on");
        assert_eq!(newest["checkpoint_completion_target"], "0.9");
    }

    #[test]
    fn they_are_those_of_an_unconfigured_server() {
        // Overrides the test kit's own settings.
        let server = testkit::Postgres::start(&["shared_buffers=128MB", "fsync=on"]);
        let version = server.sql("SHOW server_version").remove(0).remove(0);
        let defaults: BTreeMap<_, _> = of(&version).collect();
        assert!(defaults.len() >= SETTINGS.len(), "{version}");
        for (name, default) in defaults {
            let shown = server.sql(&format!("SHOW {name}"));
            let shown = shown.first().map_or("", |row| row[0].as_str());
            // The server reports this for an unused command.
            let shown = if shown == "(disabled)" { "" } else { shown };
            assert_eq!(shown, default, "{version}: {name}");
        }
    }
}
