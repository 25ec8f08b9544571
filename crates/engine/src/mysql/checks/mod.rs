//! Checks on the settings of running and planned servers.

mod connections;
pub(super) mod defaults;
mod durability;
mod overhead;
mod pool;
mod write;

use measure::finding::check::Check;

use crate::checks::{ELSEWHERE, Facts};

/// Every check of a server, in the order of the reference page.
pub(super) fn checks() -> Vec<&'static Check<Facts>> {
    let families = [
        ELSEWHERE,
        durability::CHECKS,
        pool::CHECKS,
        write::CHECKS,
        connections::CHECKS,
        overhead::CHECKS,
    ];
    families.into_iter().flatten().collect()
}

/// Every setting that a check looks at.
pub(super) const WANTED: [&str; 29] = [
    "general_log",
    "innodb_adaptive_flushing",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_size",
    "innodb_data_file_buffering",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_read_io_threads",
    "innodb_redo_log_capacity",
    "innodb_write_io_threads",
    "log_bin",
    "long_query_time",
    "max_connections",
    "max_prepared_stmt_count",
    "max_user_connections",
    "open_files_limit",
    "performance_schema",
    "query_cache_size",
    "query_cache_type",
    "slow_query_log",
    "sync_binlog",
    "table_open_cache",
    "version",
];

#[cfg(test)]
mod tests {
    use measure::finding::Level;
    use measure::finding::check::Observed;

    use super::*;
    use crate::MARIADB;
    use crate::checks::judge;

    pub(super) use crate::checks::tests::with;

    pub(super) fn level(judge: fn(&Facts) -> Observed, settings: &[(&str, &str)]) -> Level {
        judge(&with(MARIADB, settings)).level()
    }

    /// The result of this check.
    pub(super) fn check(id: &str, settings: &[(&str, &str)]) -> Level {
        let found = checks().into_iter().find(|check| check.about.id == id);
        level(found.unwrap().judge, settings)
    }

    #[test]
    fn the_remedy_depends_on_where_settings_are() {
        let mut server = with(MARIADB, &[("innodb_flush_log_at_trx_commit", "0")]);
        let find = |server: &Facts| {
            let mut findings = judge(server).into_iter();
            findings
                .find(|finding| finding.id == "commit-flush")
                .unwrap()
        };
        let finding = find(&server);
        assert_eq!(finding.level, Level::Severe);
        let remedy = finding.remedy.as_deref();
        assert_eq!(
            remedy,
            Some("SET GLOBAL innodb_flush_log_at_trx_commit = 1;")
        );
        server.planned = true;
        let remedy = find(&server).remedy;
        let words = "server.config.innodb_flush_log_at_trx_commit = 1 in the study";
        assert_eq!(remedy.as_deref(), Some(words));
        server
            .varied
            .insert("innodb_flush_log_at_trx_commit".into());
        let meant = find(&server);
        assert_eq!((meant.level, meant.remedy), (Level::Note, None));
    }
}
