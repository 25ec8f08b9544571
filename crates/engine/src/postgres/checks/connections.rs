//! The server's limits, compared with what the load needs, and the defaults of its sessions.

use std::cmp::Ordering;

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};

use super::ms;
use crate::checks::{Facts, valued};

/// Connections of dyno besides the load's: for monitors, and for reading the settings.
const OWN_CONNECTIONS: u64 = 2;
/// Time limits of sessions, in milliseconds.
const TIMEOUTS: [&str; 4] = [
    "statement_timeout",
    "transaction_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
];

/// PostgreSQL's default of `deadlock_timeout`.
const DEADLOCK_TIMEOUT_MS: f64 = 1000.0;

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "session-limit",
            worst: Level::Severe,
            why: "Each virtual user has a connection; those beyond the limit, part of which is reserved, are refused.",
            source: "PostgreSQL manual, Connections and Authentication (max_connections, superuser_reserved_connections, reserved_connections)",
            remedy: Remedy::Setting {
                name: "max_connections",
                value: "NEEDED",
                live: false,
            },
        },
        judge: connections,
    },
    Check {
        about: About {
            id: "transaction-isolation",
            worst: Level::Warning,
            why: "Above read committed, conflicting transactions fail and are restarted; servers are comparable only at the same isolation level.",
            source: "PostgreSQL manual, Transaction Isolation (default_transaction_isolation)",
            remedy: Remedy::Setting {
                name: "default_transaction_isolation",
                value: "read committed",
                live: true,
            },
        },
        judge: |server| {
            valued(
                server,
                "default_transaction_isolation",
                |value| match value {
                    "read committed" | "read uncommitted" => Level::Passed,
                    _ => Level::Warning,
                },
            )
        },
    },
    Check {
        about: About {
            id: "session-timeouts",
            worst: Level::Warning,
            why: "A statement or transaction that takes longer is canceled, so the slowest are missing from the response times and appear as errors.",
            source: "PostgreSQL manual, Client Connection Defaults (statement_timeout, lock_timeout)",
            remedy: Remedy::Setting {
                name: "TIMEOUT",
                value: "0",
                live: true,
            },
        },
        judge: timeouts,
    },
    Check {
        about: About {
            id: "deadlock-timeout",
            worst: Level::Warning,
            why: "Sessions in a deadlock wait this long before one of them fails; a longer timeout dominates the slowest response times of contended writes.",
            source: "PostgreSQL manual, Lock Management (deadlock_timeout)",
            remedy: Remedy::Setting {
                name: "deadlock_timeout",
                value: "1s",
                live: true,
            },
        },
        judge: deadlock_timeout,
    },
];

fn connections(server: &Facts) -> Observed {
    const NAME: &str = "max_connections";
    let Some(all) = server.number(NAME) else {
        return server.unknown(NAME);
    };
    let reserved: u64 = ["superuser_reserved_connections", "reserved_connections"]
        .iter()
        .filter_map(|name| server.number(name))
        .sum();
    let observed = format!("{NAME}: {all}, of which {reserved} are reserved");
    let Some(demand) = &server.demand else {
        return Observed::unknown(format!(
            "{observed}; use --study FILE to compare it with a load"
        ));
    };
    let needed = demand.users + OWN_CONNECTIONS;
    let observed = format!("{observed}; the load needs {needed}");
    match needed > all.saturating_sub(reserved) {
        true => Observed::severe(observed).with("NEEDED", needed + reserved),
        false => Observed::passed(observed),
    }
}

fn timeouts(server: &Facts) -> Observed {
    let known = TIMEOUTS
        .iter()
        .filter_map(|name| Some((*name, ms(server, name, 1.0)?)));
    let known: Vec<(&str, f64)> = known.collect();
    match known.iter().find(|(_, limit)| *limit > 0.0) {
        _ if known.is_empty() => server.unknown(TIMEOUTS[0]),
        Some((name, _)) => valued(server, name, |_| Level::Warning).with("TIMEOUT", name),
        None => Observed::passed("no timeouts are set"),
    }
}

/// The manual calls the default about the smallest value for production, so it is only noted.
fn deadlock_timeout(server: &Facts) -> Observed {
    const NAME: &str = "deadlock_timeout";
    let Some(timeout_ms) = ms(server, NAME, 1.0) else {
        return server.unknown(NAME);
    };
    valued(server, NAME, |_| {
        match timeout_ms.total_cmp(&DEADLOCK_TIMEOUT_MS) {
            Ordering::Less => Level::Passed,
            Ordering::Equal => Level::Note,
            Ordering::Greater => Level::Warning,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, with};
    use super::*;
    use crate::checks::Demand;
    use Level::{Passed, Unknown, Warning};

    #[test]
    fn connections_compared_with_a_load() {
        let judge = |users: Option<u64>| {
            let mut server = with(&[
                ("max_connections", "100"),
                ("superuser_reserved_connections", "3"),
                ("reserved_connections", "0"),
            ]);
            server.demand = users.map(|users| Demand {
                users,
                ..Demand::default()
            });
            connections(&server)
        };
        assert_eq!(judge(None).level(), Unknown);
        assert_eq!(judge(Some(95)).level(), Passed);
        assert_eq!(
            judge(Some(96)),
            Observed::severe("max_connections: 100, of which 3 are reserved; the load needs 98")
                .with("NEEDED", 101)
        );
    }

    #[test]
    fn deadlocks_are_detected_within_a_second() {
        let level = |value| check("deadlock-timeout", &[("deadlock_timeout", value)]);
        assert_eq!(
            ["1s", "1000", "1min", "100ms"].map(level),
            [Level::Note, Level::Note, Warning, Passed]
        );
    }

    #[test]
    fn sessions_have_the_usual_isolation_and_no_limits() {
        let isolation = |level| {
            check(
                "transaction-isolation",
                &[("default_transaction_isolation", level)],
            )
        };
        assert_eq!(
            [isolation("read committed"), isolation("serializable")],
            [Passed, Warning]
        );
        let server = with(&[("statement_timeout", "0"), ("lock_timeout", "1s")]);
        assert_eq!(
            timeouts(&server),
            Observed::warning("lock_timeout: 1s").with("TIMEOUT", "lock_timeout")
        );
        assert_eq!(timeouts(&with(&[("lock_timeout", "0")])).level(), Passed);
    }
}
