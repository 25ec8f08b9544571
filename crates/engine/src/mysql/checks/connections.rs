//! Limits of the server against the load that is asked for.

use measure::finding::Level;

use measure::finding::check::{About, Check, Observed, Remedy};

use crate::checks::Demand;
use crate::checks::Facts;

/// Connections of dyno besides those of the load: the monitors, and a look at the settings.
const OWN_CONNECTIONS: u64 = 2;
/// Files of a server besides those of connections and tables.
const OTHER_FILES: u64 = 100;

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "max-connections",
            worst: Level::Severe,
            why: "Each virtual user has a connection, and those beyond the limit are refused.",
            source: "MySQL manual, max_connections",
            remedy: Remedy::Setting {
                name: "max_connections",
                value: "NEEDED",
                live: true,
            },
        },
        judge: connections,
    },
    Check {
        about: About {
            id: "max-prepared-statements",
            worst: Level::Severe,
            why: "Each virtual user prepares each statement for each table, and all of them together are limited to 16,382 by default.",
            source: "MySQL manual, max_prepared_stmt_count",
            remedy: Remedy::Setting {
                name: "max_prepared_stmt_count",
                value: "NEEDED",
                live: true,
            },
        },
        judge: prepared,
    },
    Check {
        about: About {
            id: "table-cache",
            worst: Level::Warning,
            why: "Each connection opens each of its tables for itself, and beyond the cache they are closed and opened again in the middle of a transaction.",
            source: "MySQL manual, How MySQL Opens and Closes Tables (table_open_cache)",
            remedy: Remedy::Setting {
                name: "table_open_cache",
                value: "NEEDED",
                live: true,
            },
        },
        judge: tables,
    },
    Check {
        about: About {
            id: "server-open-files",
            worst: Level::Severe,
            why: "A connection is a file and a table is a file, and a server that may have no more of them fails or closes others.",
            source: "MySQL manual, open_files_limit",
            remedy: Remedy::Setting {
                name: "open_files_limit",
                value: "NEEDED",
                live: false,
            },
        },
        judge: files,
    },
];

/// Judges a limit against what the load asks for.
fn compared(server: &Facts, name: &str, level: Level, needed: impl Fn(&Demand) -> u64) -> Observed {
    let Some(limit) = server.number(name) else {
        return server.unknown(name);
    };
    let Some(demand) = &server.demand else {
        return Observed::unknown(format!(
            "{name}: {limit}, and no load to compare it with: give --study FILE"
        ));
    };
    let needed = needed(demand);
    let observed = format!("{name}: {limit}, the load needs {needed}");
    match needed > limit {
        true => Observed::found(level, observed).with("NEEDED", needed),
        false => Observed::passed(observed),
    }
}

fn connections(server: &Facts) -> Observed {
    let needed = |demand: &Demand| demand.users + OWN_CONNECTIONS;
    let most = compared(server, "max_connections", Level::Severe, needed);
    // 0 stands for no limit of its own.
    match (server.number("max_user_connections"), &server.demand) {
        (Some(limit @ 1..), Some(demand)) if needed(demand) > limit => Observed::severe(format!(
            "max_user_connections: {limit}, the load needs {}",
            needed(demand)
        ))
        .with("max_connections", "max_user_connections")
        .with("NEEDED", needed(demand)),
        _ => most,
    }
}

fn prepared(server: &Facts) -> Observed {
    let name = "max_prepared_stmt_count";
    compared(server, name, Level::Severe, |demand| demand.prepared)
}

fn tables(server: &Facts) -> Observed {
    let name = "table_open_cache";
    compared(server, name, Level::Warning, |demand| demand.open_tables)
}

fn files(server: &Facts) -> Observed {
    if server.planned && server.settings.is_ok() && server.text("open_files_limit").is_none() {
        return Observed::passed(
            "open_files_limit: the server takes what it needs of dyno's own limit",
        );
    }
    compared(server, "open_files_limit", Level::Severe, |demand| {
        demand.users + demand.tables + OTHER_FILES
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::with;
    use super::*;
    use crate::MYSQL;
    use Level::{Passed, Severe, Unknown, Warning};

    const LIMITS: [(&str, &str); 4] = [
        ("max_connections", "151"),
        ("max_prepared_stmt_count", "16382"),
        ("table_open_cache", "2000"),
        ("open_files_limit", "1024"),
    ];

    fn judged(demand: Option<Demand>, also: &[(&str, &str)]) -> Vec<Level> {
        let mut server = with(MYSQL, &[&LIMITS, also].concat());
        server.demand = demand;
        let levels = CHECKS.iter().map(|check| (check.judge)(&server).level());
        levels.collect()
    }

    fn load(users: u64, tables: u64) -> Option<Demand> {
        Some(Demand {
            users,
            tables,
            open_tables: users * tables,
            prepared: users * (tables * 9 + 2),
            ..Demand::default()
        })
    }

    #[test]
    fn limits_against_a_load() {
        assert_eq!(judged(None, &[]), [Unknown; 4]);
        assert_eq!(judged(load(16, 25), &[]), [Passed; 4]);
        assert_eq!(judged(load(150, 4), &[]), [Severe, Passed, Passed, Passed]);
        // 64 users on 32 tables: 18,560 statements.
        assert_eq!(judged(load(64, 32), &[]), [Passed, Severe, Warning, Passed]);
        assert_eq!(
            judged(load(10, 1000), &[]),
            [Passed, Severe, Warning, Severe]
        );
    }

    #[test]
    fn an_account_may_have_a_limit_of_its_own() {
        assert_eq!(
            judged(load(16, 1), &[("max_user_connections", "0")]),
            [Passed; 4]
        );
        assert_eq!(
            judged(load(16, 1), &[("max_user_connections", "10")])[0],
            Severe
        );
    }
}
