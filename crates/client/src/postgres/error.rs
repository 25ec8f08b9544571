//! What can go wrong between dyno and a PostgreSQL server, and what to do about it.

use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::time::Duration;

use wire::postgres::{ProtocolError, ServerError};
use workload::session::{FailureKind, SessionError};

use super::target::NoPassword;
use crate::tls::TlsFailure;

/// A failed connection or statement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection.
    #[error("cannot connect to {server}: {source}")]
    Connect {
        /// Where to.
        server: String,
        /// The system's words.
        source: std::io::Error,
    },
    /// The server accepted the connection and did not answer.
    #[error("{server} did not complete the login within {limit:?}")]
    Timeout {
        /// Where to.
        server: String,
        /// How long dyno waited.
        limit: Duration,
    },
    /// The connection broke.
    #[error("the connection was lost: {0}")]
    Lost(#[source] std::io::Error),
    /// The TLS handshake failed.
    #[error("TLS with {server} failed: {why}")]
    Tls {
        /// Where to.
        server: String,
        /// Why.
        why: TlsFailure,
    },
    /// The server requests a password, and there is none.
    #[error("{server} requests a password: {why}")]
    NoPassword {
        /// Who requests it.
        server: String,
        /// Why there is none.
        why: NoPassword,
    },
    /// The server may not have what it requests.
    #[error("the password was not sent to {server}: {why}")]
    Withheld {
        /// Who requests it.
        server: String,
        /// Why not.
        why: Withheld,
    },
    /// dyno does not support the server's version.
    #[error(
        "{server} runs PostgreSQL {version}; dyno supports PostgreSQL {} to {}", MAJORS.start(), MAJORS.end()
    )]
    Unsupported {
        /// Which server.
        server: String,
        /// Its version, in its own words.
        version: String,
    },
    /// The server violated the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The server refused the login.
    #[error("the server refused the connection: {0}")]
    Login(Box<ServerError>),
    /// The server refused a statement.
    #[error("the server refused a statement: {error}\n  in: {statement}")]
    Statement {
        /// In the server's words.
        error: Box<ServerError>,
        /// The statement, shortened.
        statement: String,
    },
}

/// The major versions that dyno supports.
pub(super) const MAJORS: RangeInclusive<u32> = 13..=18;

/// Why the server does not get the password or a proof of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// It requests the password in clear text.
    #[error("the server requests the password in clear text, but it was not verified")]
    Cleartext,
    /// Channel binding is required, and the server does not offer it.
    #[error(
        "channel_binding=require, but the server does not offer SCRAM with channel binding over TLS"
    )]
    NotBound,
}

impl Withheld {
    fn remedy(self) -> &'static str {
        match self {
            Self::Cleartext => {
                "verify the server (--tls-ca FILE, or --tls-mode verify-full) or connect over its Unix socket; --enable-cleartext-plugin sends the password without verification"
            }
            Self::NotBound => {
                "use TLS and an account with a SCRAM password, or omit channel_binding=require"
            }
        }
    }
}

impl Error {
    /// What the user can do about it, where there is something to say.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Connect { source, .. } => Some(connect_remedy(source)),
            Self::Timeout { .. } => Some(
                "check that a PostgreSQL server, and not something else, listens there, and that it is not overloaded",
            ),
            Self::Lost(_) => Some("look into the server's log for why it closed the connection"),
            Self::Tls { why, .. } => Some(why.remedy()),
            Self::NoPassword { .. } => {
                Some("set PGPASSWORD or DYNO_PASSWORD, or add the account to ~/.pgpass")
            }
            Self::Withheld { why, .. } => Some(why.remedy()),
            Self::Unsupported { .. } => Some("use a server of a supported version"),
            Self::Protocol(ProtocolError::NotPostgres(_)) => {
                Some("check host and port: what answers there is not PostgreSQL")
            }
            Self::Protocol(ProtocolError::UnknownMethod(_)) => {
                Some("use another method for this account in the server's pg_hba.conf")
            }
            Self::Protocol(_) => Some("if it is a PostgreSQL server, please report its version"),
            Self::Login(error) | Self::Statement { error, .. } => refusal_remedy(error.sqlstate()),
        }
    }

    /// The SQLSTATE, where the server reported an error.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Login(error) | Self::Statement { error, .. } => Some(error.sqlstate()),
            _ => None,
        }
    }

    /// The error as a workload sees it, in the middle of `statement`.
    #[must_use]
    pub fn into_session_error(self, statement: Option<&str>) -> SessionError {
        let kind = self.failure_kind();
        let (sqlstate, message) = match &self {
            Self::Login(error) | Self::Statement { error, .. } => {
                (Some(error.sqlstate_bytes()), error.words())
            }
            other => (None, other.to_string()),
        };
        SessionError {
            kind,
            sqlstate,
            number: None,
            message,
            statement: statement.map(str::to_owned),
        }
    }

    /// What the load does about it.
    fn failure_kind(&self) -> FailureKind {
        match self {
            Self::Login(error) => failure_kind(error.sqlstate()),
            Self::Statement { error, .. } => match failure_kind(error.sqlstate()) {
                // The server closes the connection, whatever its reason.
                FailureKind::Refused if error.is_fatal => FailureKind::Lost,
                kind => kind,
            },
            Self::Connect { source, .. } if is_nobody_there(source) => FailureKind::Away,
            Self::Connect { .. } | Self::Timeout { .. } | Self::Lost(_) | Self::Tls { .. } => {
                FailureKind::Lost
            }
            Self::NoPassword { .. }
            | Self::Withheld { .. }
            | Self::Unsupported { .. }
            | Self::Protocol(_) => FailureKind::Refused,
        }
    }
}

/// The host answers, and says that nothing listens there.
fn is_nobody_there(source: &std::io::Error) -> bool {
    let kind = source.kind();
    matches!(kind, ErrorKind::ConnectionRefused | ErrorKind::NotFound)
}

/// What the load does about a SQLSTATE.
fn failure_kind(sqlstate: &str) -> FailureKind {
    match sqlstate {
        // Serialization failure, deadlock, lock timeout. And unique violation, which concurrent
        // DELETE and INSERT of the same key cause without anybody's fault; sysbench restarts, too.
        "40001" | "40P01" | "55P03" | "23505" => FailureKind::Restart,
        // Shutdown (also of one backend), crash of another backend, starting up.
        "57P01" | "57P02" | "57P03" => FailureKind::Away,
        // Too many connections; an idle connection was closed.
        "53300" | "57P05" | "25P03" => FailureKind::Lost,
        state if state.starts_with("08") => FailureKind::Lost,
        _ => FailureKind::Refused,
    }
}

fn connect_remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::ConnectionRefused => {
            "nothing listens there: start the server, or check the port (a server that listens only on its Unix socket is reached with ?host=/directory)"
        }
        ErrorKind::NotFound => {
            "there is no such socket: start the server, or check the directory and the port"
        }
        ErrorKind::PermissionDenied => {
            "this user may not open the socket: check its owner and mode"
        }
        _ => "check host, port and the network between",
    }
}

/// What the user can do about an error with this SQLSTATE.
#[must_use]
pub fn refusal_remedy(sqlstate: &str) -> Option<&'static str> {
    Some(match sqlstate {
        "28P01" => {
            "check user and password (DYNO_PASSWORD, PGPASSWORD or ~/.pgpass keep it out of the process list)"
        }
        "28000" => {
            "check the user, and the server's pg_hba.conf for this host, database and use of TLS"
        }
        "3D000" => {
            "dyno bench --create-database creates it; or run CREATE DATABASE yourself, or name another database in the URL"
        }
        "53300" => {
            "the server takes no more connections: raise max_connections, or use fewer --threads"
        }
        "42501" => "grant the account this right",
        "42P01" => "the table is not there: run with --prepare missing",
        "42703" | "42804" | "23502" => {
            "the table has another schema than sysbench's: drop it, or use another database"
        }
        "53100" => "the server has no room left: free space on its disk",
        "53200" => {
            "the server is out of memory: lower work_mem or shared_buffers, or use fewer --threads"
        }
        "25006" => "the server is read-only: use the primary, or a read-only workload",
        "57P03" => "the server is starting up or shutting down: try again",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_error(sqlstate: &str, severity: &str) -> Box<ServerError> {
        let payload = format!("V{severity}\0C{sqlstate}\0Mx\0\0");
        Box::new(ServerError::parse(payload.as_bytes()).unwrap())
    }

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
            let login = Error::Login(server_error(sqlstate, "FATAL"));
            assert_eq!(login.failure_kind(), kind, "{sqlstate}");
        }
    }

    #[test]
    fn a_fatal_error_in_a_statement_has_cost_the_connection() {
        for (severity, kind) in [
            ("ERROR", FailureKind::Refused),
            ("FATAL", FailureKind::Lost),
        ] {
            let error = Error::Statement {
                error: server_error("XX000", severity),
                statement: String::new(),
            };
            assert_eq!(error.failure_kind(), kind);
        }
    }

    #[test]
    fn a_server_that_is_not_there_is_away() {
        let connect = |kind: ErrorKind| Error::Connect {
            server: String::new(),
            source: kind.into(),
        };
        for (source, kind) in [
            (ErrorKind::ConnectionRefused, FailureKind::Away),
            (ErrorKind::NotFound, FailureKind::Away),
            (ErrorKind::TimedOut, FailureKind::Lost),
        ] {
            assert_eq!(connect(source).failure_kind(), kind);
        }
    }
}
