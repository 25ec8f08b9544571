//! Checks on a server's settings, whether it runs or is only planned.

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

/// Every setting that a judge looks at.
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
    use std::collections::BTreeSet;

    use measure::finding::Level;
    use measure::finding::check::Observed;

    use super::*;
    use crate::checks::judge;
    use crate::{MARIADB, MYSQL, Server};

    /// A server with these settings on this host, whose memory is 16 GiB.
    pub(super) fn with(engine: &'static dyn Server, settings: &[(&str, &str)]) -> Facts {
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Facts {
            name: "mysql://root@127.0.0.1:3306/sbtest".into(),
            engine,
            version: match engine == MARIADB {
                true => "10.11.14".into(),
                false => "9.7.0".into(),
            },
            settings: Ok(settings.collect()),
            chosen: BTreeSet::new(),
            varied: BTreeSet::new(),
            planned: false,
            data_dir: None,
            elsewhere: None,
            memory_bytes: Some(16 << 30),
            servers: 1,
            data_bytes: None,
            turning_disk: None,
            demand: None,
        }
    }

    pub(super) fn level(judge: fn(&Facts) -> Observed, settings: &[(&str, &str)]) -> Level {
        judge(&with(MARIADB, settings)).level()
    }

    #[test]
    fn a_server_that_says_nothing_passes_nothing() {
        let silent = with(MYSQL, &[]);
        let refused = Facts {
            settings: Err("Access denied".into()),
            ..silent.clone()
        };
        for check in checks() {
            let level = (check.judge)(&silent).level();
            let is_fixed = ["server-elsewhere", "query-cache"].contains(&check.about.id);
            assert!(level == Level::Unknown || is_fixed, "{}", check.about.id);
            let level = (check.judge)(&refused).level();
            assert_eq!(level, Level::Unknown, "{}", check.about.id);
        }
    }

    #[test]
    fn what_mends_a_server_depends_on_where_its_settings_are() {
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

    #[test]
    fn another_host_needs_a_look_of_its_own() {
        let mut server = with(MYSQL, &[]);
        assert_eq!((ELSEWHERE[0].judge)(&server).level(), Level::Passed);
        server.elsewhere = Some("it runs on db1".into());
        assert_eq!(
            (ELSEWHERE[0].judge)(&server),
            Observed::note("it runs on db1")
        );
    }

    #[test]
    fn values_are_read_as_servers_write_them() {
        let server = with(
            MARIADB,
            &[("a", "128M"), ("b", "10.000000"), ("c", "Off"), ("d", "x")],
        );
        assert_eq!(server.number("a"), Some(128 << 20));
        assert_eq!(server.number("b"), Some(10));
        assert_eq!(server.is_on("c"), Some(false));
        assert_eq!((server.number("d"), server.is_on("d")), (None, None));
        assert!(server.is_since(10, 6) && !server.is_since(11, 0));
    }
}
