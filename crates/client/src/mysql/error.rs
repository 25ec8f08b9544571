//! What can go wrong between dyno and a MySQL server, and what to do about it.

use std::io::ErrorKind;
use std::time::Duration;

use wire::mysql::{ProtocolError, ServerError};
use workload::session::{FailureKind, SessionError};

use super::password::Withheld;
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
    /// The server accepted the connection and then sent nothing.
    #[error("{server} did not finish the handshake within {limit:?}")]
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
        /// How.
        why: TlsFailure,
    },
    /// The server requires the password itself, and may not have it.
    #[error("the password was not sent to {server}: {why}")]
    Withheld {
        /// Who asked.
        server: String,
        /// Why not.
        why: Withheld,
    },
    /// The server sent something that is not the MySQL protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The server refused the login.
    #[error("the server refused the connection: {0}")]
    Login(ServerError),
    /// The server refused a statement.
    #[error("the server refused a statement: {error}\n  in: {statement}")]
    Statement {
        /// In the server's words.
        error: ServerError,
        /// The statement, shortened.
        statement: String,
    },
}

impl Error {
    /// What the user can do about it, if anything.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Connect { source, .. } => Some(connect_remedy(source)),
            Self::Timeout { .. } => Some(
                "check that a MySQL or MariaDB server, and not something else, listens there, and that it is not overloaded",
            ),
            Self::Lost(_) => {
                Some("look into the server's error log for why it closed the connection")
            }
            Self::Tls { why, .. } => Some(why.remedy()),
            Self::Withheld { why, .. } => Some(why.remedy()),
            Self::Protocol(ProtocolError::NotMysql(_)) => {
                Some("check host and port: what answers there is not MySQL")
            }
            Self::Protocol(_) => {
                Some("if it is a MySQL or MariaDB server, please report its version")
            }
            Self::Login(error) | Self::Statement { error, .. } => refusal_remedy(error.code),
        }
    }

    /// The server's error number, if there is one.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Login(error) | Self::Statement { error, .. } => Some(error.code),
            _ => None,
        }
    }

    /// The error as a workload sees it, in the middle of `statement`.
    #[must_use]
    pub fn into_session_error(self, statement: Option<&str>) -> SessionError {
        let kind = self.failure_kind();
        let (sqlstate, number, message) = match self {
            Self::Login(error) | Self::Statement { error, .. } => {
                (Some(error.sqlstate), Some(error.code.into()), error.message)
            }
            other => (None, None, other.to_string()),
        };
        SessionError {
            kind,
            sqlstate,
            number,
            message,
            statement: statement.map(str::to_owned),
        }
    }
}

impl Error {
    /// What the load does about it.
    fn failure_kind(&self) -> FailureKind {
        match self {
            Self::Login(error) | Self::Statement { error, .. } => failure_kind(error.code),
            Self::Protocol(_) | Self::Withheld { .. } => FailureKind::Refused,
            Self::Connect { source, .. }
                if matches!(
                    source.kind(),
                    ErrorKind::ConnectionRefused | ErrorKind::NotFound
                ) =>
            {
                FailureKind::Away
            }
            _ => FailureKind::Lost,
        }
    }
}

/// What the load does about an error number of MySQL or MariaDB.
fn failure_kind(code: u16) -> FailureKind {
    match code {
        // Deadlock, lock wait timeout, record changed since last read: sysbench's list.
        1213 | 1205 | 1020 => FailureKind::Restart,
        // Shutdown in progress.
        1053 => FailureKind::Away,
        // Too many connections, killed, server gone.
        1040 | 1927 | 2006 | 2013 | 4031 => FailureKind::Lost,
        _ => FailureKind::Refused,
    }
}

fn connect_remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::ConnectionRefused => {
            "nothing listens there: start the server, or check the port (a server that listens only on its Unix socket is reached with ?socket=/path)"
        }
        ErrorKind::NotFound => "there is no such socket: start the server, or check the path",
        ErrorKind::PermissionDenied => {
            "this user may not open the socket: check its owner and mode"
        }
        _ => "check host, port and the network between",
    }
}

/// What the user can do about the server's error `code`.
#[must_use]
pub fn refusal_remedy(code: u16) -> Option<&'static str> {
    Some(match code {
        1045 | 1698 => {
            "check user and password (DYNO_PASSWORD or --option-file keep it out of the process list)"
        }
        1044 => "grant the account rights on the database",
        1049 => {
            "dyno bench --create-database creates it; or run CREATE DATABASE yourself, or name another database in the URL"
        }
        1040 | 1203 | 1226 => {
            "the server takes no more connections: raise max_connections, or use fewer --threads"
        }
        1129 | 1130 => "the server does not accept this host: check the account's host part",
        1142 | 1143 | 1227 => "grant the account this right",
        1146 => "the table is not there: run with --prepare missing",
        1054 | 1136 | 1364 => {
            "the table has another schema than sysbench's: drop it, or use another database"
        }
        1153 => "raise max_allowed_packet on the server, or send smaller statements",
        1148 | 3948 | 4166 => "allow LOAD DATA LOCAL on the server: SET GLOBAL local_infile = ON",
        1461 => "raise max_prepared_stmt_count on the server, or use --protocol text",
        1114 | 1021 | 3 | 28 | 1030 => {
            "the server has no room left: free space on its disk (or raise the limit it names)"
        }
        1290 | 1792 | 1836 => "the server is read-only: use the primary, or a read-only workload",
        3159 => "the server insists on TLS: use --tls-mode required",
        1251 | 2059 => "the account's authentication plugin is not one that dyno knows",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: Error) -> FailureKind {
        error.into_session_error(None).kind
    }

    #[test]
    fn a_restart_is_told_by_a_host_that_refuses_or_by_the_server() {
        let connect = |kind: ErrorKind| Error::Connect {
            server: String::new(),
            source: kind.into(),
        };
        let login = |code| {
            Error::Login(ServerError {
                code,
                sqlstate: *b"08S01",
                message: String::new(),
            })
        };
        for away in [
            connect(ErrorKind::ConnectionRefused),
            connect(ErrorKind::NotFound),
            login(1053),
        ] {
            assert_eq!(kind(away), FailureKind::Away);
        }
        for lost in [
            connect(ErrorKind::TimedOut),
            connect(ErrorKind::HostUnreachable),
            Error::Lost(ErrorKind::ConnectionReset.into()),
            login(1040),
        ] {
            assert_eq!(kind(lost), FailureKind::Lost);
        }
    }
}
