//! Defaults of the settings that checks examine.

use crate::version;

type Values = &'static [(&'static str, &'static str)];

const OF_BOTH: Values = &[
    ("general_log", "OFF"),
    ("innodb_adaptive_flushing", "ON"),
    ("innodb_buffer_pool_size", "134217728"),
    ("innodb_doublewrite", "ON"),
    ("innodb_file_per_table", "ON"),
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_flush_method", "O_DIRECT"),
    ("innodb_write_io_threads", "4"),
    ("log_bin", "OFF"),
    ("long_query_time", "10.000000"),
    ("max_prepared_stmt_count", "16382"),
    ("max_user_connections", "0"),
    ("slow_query_log", "OFF"),
];

/// The defaults of an engine's servers since a version.
#[derive(Debug)]
pub(in crate::mysql) struct Defaults {
    since: (u64, u64),
    own: Values,
}

pub(in crate::mysql) const OF_MARIADB: Defaults = Defaults {
    since: (10, 6),
    own: &[
        ("innodb_flush_neighbors", "1"),
        ("innodb_io_capacity", "200"),
        ("innodb_log_file_size", "100663296"),
        ("innodb_read_io_threads", "4"),
        ("performance_schema", "OFF"),
        ("query_cache_size", "1048576"),
        ("query_cache_type", "OFF"),
        ("sync_binlog", "0"),
        ("table_open_cache", "2000"),
    ],
};
/// Except for the binary log, which dyno switches off.
pub(in crate::mysql) const OF_MYSQL: Defaults = Defaults {
    since: (8, 4),
    own: &[
        ("innodb_flush_neighbors", "0"),
        ("innodb_io_capacity", "10000"),
        ("innodb_redo_log_capacity", "104857600"),
        ("performance_schema", "ON"),
        ("sync_binlog", "1"),
        ("table_open_cache", "4000"),
    ],
};

impl Defaults {
    /// Empty for a version whose defaults are not known.
    pub(in crate::mysql) fn of(&self, version: &str) -> Vec<(&'static str, &'static str)> {
        match version::is_since(version, self.since.0, self.since.1) {
            true => [OF_BOTH, self.own].concat(),
            false => Vec::new(),
        }
    }
}

/// The settings whose defaults are known.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let all = [OF_BOTH, OF_MARIADB.own, OF_MYSQL.own];
    all.into_iter().flatten().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_old_versions_are_unknown() {
        assert!(OF_MARIADB.of("10.5.9").is_empty());
        assert!(OF_MYSQL.of("").is_empty());
        assert!(!OF_MYSQL.of("9.7.0").is_empty());
    }

    #[test]
    fn they_are_what_a_server_has_that_nobody_told_anything() {
        // Undoes the test kit's own settings.
        let pool = "--innodb-buffer-pool-size=128M";
        for (defaults, server) in [
            (OF_MARIADB, testkit::MariaDb::start(&[pool])),
            (OF_MYSQL, testkit::MySql::start(&[pool])),
        ] {
            let version = &server.sql("SELECT VERSION()")[0][0];
            let number = version.split('-').next().unwrap_or(version);
            let told = server.sql("SHOW GLOBAL VARIABLES");
            let defaults = defaults.of(number);
            assert!(defaults.len() > 15, "{version}");
            for (name, value) in defaults {
                let row = told.iter().find(|row| row[0].eq_ignore_ascii_case(name));
                assert_eq!(
                    row.map(|row| row[1].as_str()),
                    Some(value),
                    "{version}: {name}"
                );
            }
        }
    }
}
