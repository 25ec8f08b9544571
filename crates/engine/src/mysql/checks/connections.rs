//! The server's limits, compared with what the load needs.

use measure::checks;
use measure::finding::Level::{self, Severe, Warning};
use measure::finding::check::{Check, Judged, Observed};

use crate::checks::{Demand, Facts};

/// Connections of dyno besides the load's: for monitors, and for reading the settings.
const OWN_CONNECTIONS: u64 = 2;
/// Files of a server besides those of connections and tables.
const OTHER_FILES: u64 = 100;

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "max-connections", Severe => connections(server),
        why: "Each virtual user has a connection, and those beyond the limit are refused.",
        source: "MySQL manual, max_connections",
        remedy: Live("max_connections", "NEEDED");
    "max-prepared-statements", Severe => compared(server, "max_prepared_stmt_count", Severe, |demand| demand.prepared),
        why: "Each virtual user prepares each statement for each table; the default limit for all users together is 16,382.",
        source: "MySQL manual, max_prepared_stmt_count",
        remedy: Live("max_prepared_stmt_count", "NEEDED");
    "table-cache", Warning => compared(server, "table_open_cache", Warning, |demand| demand.open_tables),
        why: "Each connection opens its own instance of each table; beyond the size of the cache, tables are closed and reopened during transactions.",
        source: "MySQL manual, How MySQL Opens and Closes Tables (table_open_cache)",
        remedy: Live("table_open_cache", "NEEDED");
    "server-open-files", Severe => files(server),
        why: "Each connection and each table needs a file descriptor; a server that runs out of them fails or closes other tables.",
        source: "MySQL manual, open_files_limit",
        remedy: Restart("open_files_limit", "NEEDED");
};

/// Compares a limit with what the load needs.
fn compared(server: &Facts, name: &str, level: Level, needed: impl Fn(&Demand) -> u64) -> Judged {
    let limit = server.number(name)?;
    let Some(demand) = &server.demand else {
        return Err(Observed::unknown(format!(
            "{name}: {limit}; use --study FILE to compare it with a load"
        )));
    };
    let needed = needed(demand);
    let observed = format!("{name}: {limit}, the load needs {needed}");
    Ok(Observed::graded(level.when(needed > limit), observed).with("NEEDED", needed))
}

fn connections(server: &Facts) -> Judged {
    let compared = |name| {
        compared(server, name, Severe, |demand| {
            demand.users + OWN_CONNECTIONS
        })
    };
    // 0 means no separate limit.
    let has_own = server.number("max_user_connections") != Ok(0);
    match compared("max_user_connections") {
        Ok(own) if has_own && own.level() == Severe => {
            Ok(own.with("max_connections", "max_user_connections"))
        }
        _ => compared("max_connections"),
    }
}

fn files(server: &Facts) -> Judged {
    const NAME: &str = "open_files_limit";
    if server.planned && server.settings.is_ok() && server.text(NAME).is_err() {
        return Ok(Observed::passed(format!(
            "{NAME}: the server raises its limit as far as dyno's own allows"
        )));
    }
    compared(server, NAME, Severe, |demand| {
        demand.users + demand.tables + OTHER_FILES
    })
}
