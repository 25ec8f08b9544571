//! Overhead: logs, instrumentation, and the query cache.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};

use crate::checks::{Facts, switched};
use crate::mysql::MYSQL;

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "performance-schema",
            worst: Level::Note,
            why: "Its instrumentation takes CPU time: servers are comparable only with the same instrumentation.",
            source: "MySQL manual, performance_schema",
            remedy: Remedy::Setting {
                name: "performance_schema",
                value: "OFF",
                live: false,
            },
        },
        judge: |server| switched(server, "performance_schema", false, Level::Note),
    },
    Check {
        about: About {
            id: "query-cache",
            worst: Level::Severe,
            why: "It answers repeated queries without the storage engine, and all other statements contend for its single lock.",
            source: "MariaDB manual, Query Cache",
            remedy: Remedy::Setting {
                name: "query_cache_type",
                value: "OFF",
                live: true,
            },
        },
        judge: query_cache,
    },
    Check {
        about: About {
            id: "slow-log",
            worst: Level::Severe,
            why: "Slow statements are written to a file; with a low threshold, every statement is.",
            source: "MySQL manual, slow_query_log",
            remedy: Remedy::Setting {
                name: "slow_query_log",
                value: "OFF",
                live: true,
            },
        },
        judge: slow_log,
    },
    Check {
        about: About {
            id: "general-log",
            worst: Level::Severe,
            why: "Every statement is written to a file, for which all connections contend.",
            source: "MySQL manual, general_log",
            remedy: Remedy::Setting {
                name: "general_log",
                value: "OFF",
                live: true,
            },
        },
        judge: |server| switched(server, "general_log", false, Level::Severe),
    },
];

fn query_cache(server: &Facts) -> Observed {
    const NAME: &str = "query_cache_type";
    if server.engine == MYSQL && server.is_since(8, 0) && server.settings.is_ok() {
        return Observed::passed(format!("{NAME}: MySQL has no query cache since 8.0"));
    }
    let Some(kind) = server.text(NAME) else {
        return server.unknown(NAME);
    };
    let is_off = kind.eq_ignore_ascii_case("OFF") || kind == "0";
    match (is_off, server.number("query_cache_size")) {
        (true, _) => Observed::passed(format!("{NAME}: {kind}")),
        (false, Some(0)) => Observed::passed(format!("{NAME}: {kind}, query_cache_size: 0")),
        (false, _) => Observed::severe(format!("{NAME}: {kind}")),
    }
}

fn slow_log(server: &Facts) -> Observed {
    const NAME: &str = "slow_query_log";
    match (server.is_on(NAME), server.number("long_query_time")) {
        (None, _) => server.unknown(NAME),
        (Some(false), _) => Observed::passed(format!("{NAME}: OFF")),
        (Some(true), Some(0)) => {
            Observed::severe(format!("{NAME}: ON, long_query_time: below 1 s"))
        }
        (Some(true), _) => Observed::warning(format!("{NAME}: ON")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, level, with};
    use super::*;
    use Level::{Note, Passed, Severe, Unknown, Warning};

    #[test]
    fn instruments_are_noted() {
        let with = |value| check("performance-schema", &[("performance_schema", value)]);
        assert_eq!([with("ON"), with("OFF")], [Note, Passed]);
    }

    #[test]
    fn a_query_cache_needs_a_type_and_a_size() {
        let judged = |kind, size| {
            let settings = [("query_cache_type", kind), ("query_cache_size", size)];
            level(query_cache, &settings)
        };
        assert_eq!(judged("OFF", "1048576"), Passed);
        assert_eq!(
            [judged("ON", "1048576"), judged("DEMAND", "1")],
            [Severe; 2]
        );
        assert_eq!(judged("ON", "0"), Passed);
        assert_eq!(level(query_cache, &[]), Unknown);
        assert_eq!(query_cache(&with(MYSQL, &[])).level(), Passed);
    }

    #[test]
    fn logs_of_statements() {
        let slow = |on, time| {
            let settings = [("slow_query_log", on), ("long_query_time", time)];
            level(slow_log, &settings)
        };
        assert_eq!(slow("OFF", "0.000000"), Passed);
        assert_eq!(
            [slow("ON", "10.000000"), slow("ON", "0.100000")],
            [Warning, Severe]
        );
        let general = |value| check("general-log", &[("general_log", value)]);
        assert_eq!([general("ON"), general("OFF")], [Severe, Passed]);
    }
}
