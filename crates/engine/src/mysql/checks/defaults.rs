//! Defaults of the settings that checks examine.

use plan::StaticSettings;

use crate::checks::Defaults;

const OF_BOTH: StaticSettings = &[
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

pub(in crate::mysql) const OF_MARIADB: Defaults = &[((10, 6), OF_BOTH), ((10, 6), OF_MARIADB_ONLY)];

const OF_MARIADB_ONLY: StaticSettings = &[
    ("innodb_flush_neighbors", "1"),
    ("innodb_io_capacity", "200"),
    ("innodb_log_file_size", "100663296"),
    ("innodb_read_io_threads", "4"),
    ("performance_schema", "OFF"),
    ("query_cache_size", "1048576"),
    ("query_cache_type", "OFF"),
    ("sync_binlog", "0"),
    ("table_open_cache", "2000"),
];

/// Except for the binary log, which dyno switches off.
pub(in crate::mysql) const OF_MYSQL: Defaults = &[((8, 4), OF_BOTH), ((8, 4), OF_MYSQL_ONLY)];

const OF_MYSQL_ONLY: StaticSettings = &[
    ("innodb_flush_neighbors", "0"),
    ("innodb_io_capacity", "10000"),
    ("innodb_redo_log_capacity", "104857600"),
    ("performance_schema", "ON"),
    ("sync_binlog", "1"),
    ("table_open_cache", "4000"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::defaults_of;

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
            let defaults: Vec<_> = defaults_of(defaults, number).collect();
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
