//! The meaning of PostgreSQL's errors, by SQLSTATE.

use workload::session::FailureKind;

use crate::error::Meaning;

/// A write to a standby.
const READ_ONLY: &str = "25006";

pub(super) fn meaning(sqlstate: &str) -> Meaning {
    Meaning::Failure(match sqlstate {
        // Serialization failure, deadlock, lock timeout. And unique violation: if two transactions
        // DELETE and INSERT the same key, the second DELETE waits for the first transaction, finds
        // the row gone, and does not see the new one (manual, Transaction Isolation, Read
        // Committed). sysbench's driver ignores the same codes except 55P03.
        "40001" | "40P01" | "55P03" | "23505" => FailureKind::Restart,
        // Shutdown (also of one backend), crash of another backend, starting up.
        "57P01" | "57P02" | "57P03" => FailureKind::Away,
        // Too many connections; an idle connection was closed.
        "53300" | "57P05" | "25P03" => FailureKind::Lost,
        state if state.starts_with("08") => FailureKind::Lost,
        READ_ONLY => return Meaning::ReadOnly,
        _ => FailureKind::Refused,
    })
}

/// What the user can do about an error with this SQLSTATE.
pub fn refusal_remedy(sqlstate: &str) -> Option<&'static str> {
    Some(match sqlstate {
        "28P01" => {
            "check user and password (DYNO_PASSWORD, PGPASSWORD or ~/.pgpass keeps it out of the process list)"
        }
        "28000" => {
            "check the user, and whether the server's pg_hba.conf allows this host, database and use of TLS"
        }
        "3D000" => {
            "run CREATE DATABASE or use dyno bench --create-database, or name another database in the URL"
        }
        "53300" => {
            "the server accepts no more connections: raise max_connections, or use fewer --threads"
        }
        "42501" => "grant the account this privilege",
        "42P01" => "the table does not exist: run with --prepare missing",
        "42703" | "42804" | "23502" => {
            "the table's schema differs from sysbench's: drop it, or use another database"
        }
        "53100" => "the server is out of space: free some on its disk",
        "53200" => {
            "the server is out of memory: lower work_mem or shared_buffers, or use fewer --threads"
        }
        READ_ONLY => "the server is read-only: use the primary, or a read-only workload",
        "57P03" => "the server is starting up or shutting down: try again",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use wire::postgres::parse_error;

    use super::super::Postgres;
    use super::*;
    use crate::connection::Protocol;
    use crate::error::Error;

    #[test]
    fn each_sqlstate_has_its_class() {
        for (sqlstate, kind) in [
            ("40001", FailureKind::Restart),
            ("40P01", FailureKind::Restart),
            ("55P03", FailureKind::Restart),
            ("23505", FailureKind::Restart),
            ("57P01", FailureKind::Away),
            ("57P02", FailureKind::Away),
            ("57P03", FailureKind::Away),
            ("53300", FailureKind::Lost),
            ("08006", FailureKind::Lost),
            ("08P01", FailureKind::Lost),
            ("42P01", FailureKind::Refused),
            ("25006", FailureKind::Refused),
            ("57014", FailureKind::Refused),
        ] {
            assert_eq!(meaning(sqlstate).kind(), kind, "{sqlstate}");
        }
    }

    #[test]
    fn a_fatal_error_in_a_statement_has_cost_the_connection() {
        for (severity, kind) in [
            ("ERROR", FailureKind::Refused),
            ("FATAL", FailureKind::Lost),
        ] {
            let payload = format!("V{severity}\0CXX000\0Mx\0\0");
            let error = Error::Statement {
                error: Postgres::refusal(Box::new(parse_error(payload.as_bytes()).unwrap())),
                statement: String::new(),
            };
            assert_eq!(error.into_session_error(None).kind, kind);
        }
    }
}
