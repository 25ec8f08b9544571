//! The server's limits, compared with what the load needs.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};

use crate::checks::{Demand, Facts};

/// Connections of dyno besides the load's: for monitors, and for reading the settings.
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
            why: "Each virtual user prepares each statement for each table; the default limit for all users together is 16,382.",
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
            why: "Each connection opens its own instance of each table; beyond the size of the cache, tables are closed and reopened during transactions.",
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
            why: "Each connection and each table needs a file descriptor; a server that runs out of them fails or closes other tables.",
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

/// Compares a limit with what the load needs.
fn compared(server: &Facts, name: &str, level: Level, needed: impl Fn(&Demand) -> u64) -> Observed {
    let Some(limit) = server.number(name) else {
        return server.unknown(name);
    };
    let Some(demand) = &server.demand else {
        return Observed::unknown(format!(
            "{name}: {limit}; use --study FILE to compare it with a load"
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
    // 0 means no separate limit.
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
            "open_files_limit: the server raises its limit as far as dyno's own allows",
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
    fn an_account_may_have_its_own_limit() {
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
