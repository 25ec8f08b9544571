//! The server's limits, compared with what the load needs, and the defaults of its sessions.

use measure::checks;
use measure::finding::Level::{Note, Severe, Warning};
use measure::finding::check::{Check, Judged, Observed};

use super::{SECOND_MS, ms, timed};
use crate::checks::Facts;

/// Connections of dyno besides the load's: for monitors, and for reading the settings.
const OWN_CONNECTIONS: u64 = 2;
/// Time limits of sessions, in milliseconds.
const TIMEOUTS: [&str; 4] = [
    "statement_timeout",
    "transaction_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
];

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "session-limit", Severe => connections(server),
        why: "Each virtual user has a connection; those beyond the limit, part of which is reserved, are refused.",
        source: "PostgreSQL manual, Connections and Authentication (max_connections, superuser_reserved_connections, reserved_connections)",
        remedy: Restart("max_connections", "NEEDED");
    "transaction-isolation", Warning => server.should_be("default_transaction_isolation", &["read committed", "read uncommitted"], Warning),
        why: "Above read committed, conflicting transactions fail and are restarted; servers are comparable only at the same isolation level.",
        source: "PostgreSQL manual, Transaction Isolation (default_transaction_isolation)",
        remedy: Live("default_transaction_isolation", "read committed");
    "session-timeouts", Warning => timeouts(server),
        why: "A statement or transaction that takes longer is canceled, so the slowest are missing from the response times and appear as errors.",
        source: "PostgreSQL manual, Client Connection Defaults (statement_timeout, lock_timeout)",
        remedy: Live("TIMEOUT", "0");
    "deadlock-timeout", Warning => deadlock_timeout(server),
        why: "Sessions in a deadlock wait this long before one of them fails; a longer timeout dominates the slowest response times of contended writes.",
        source: "PostgreSQL manual, Lock Management (deadlock_timeout)",
        remedy: Live("deadlock_timeout", "1s");
};

fn connections(server: &Facts) -> Judged {
    const NAME: &str = "max_connections";
    let all = server.number(NAME)?;
    let reserved = ["superuser_reserved_connections", "reserved_connections"];
    let reserved = reserved.map(|name| server.number(name).unwrap_or(0));
    let reserved: u64 = reserved.iter().sum();
    let observed = format!("{NAME}: {all}, of which {reserved} are reserved");
    let Some(demand) = &server.demand else {
        return Err(Observed::unknown(format!(
            "{observed}; use --study FILE to compare it with a load"
        )));
    };
    let needed = demand.users + OWN_CONNECTIONS;
    let level = Severe.when(needed > all.saturating_sub(reserved));
    let observed = Observed::graded(level, format!("{observed}; the load needs {needed}"));
    Ok(observed.with("NEEDED", needed + reserved))
}

fn timeouts(server: &Facts) -> Judged {
    let known = TIMEOUTS
        .iter()
        .filter_map(|name| Some((*name, ms(server, name, 1.0).ok()?)));
    let known: Vec<(&str, f64)> = known.collect();
    match known.iter().find(|(_, limit)| *limit > 0.0) {
        _ if known.is_empty() => Err(server.unknown(TIMEOUTS[0])),
        Some((name, _)) => Ok(server.graded(name, |_| Warning)?.with("TIMEOUT", name)),
        None => Ok(Observed::passed("no timeouts are set")),
    }
}

/// The manual calls the default about the smallest value for production, so it is only noted.
fn deadlock_timeout(server: &Facts) -> Judged {
    timed(server, "deadlock_timeout", 1.0, |time| {
        match time > SECOND_MS {
            true => Warning,
            false => Note.when(time == SECOND_MS),
        }
    })
}
