//! Errors of connections to servers, and their remedies.

use std::io::ErrorKind;
use std::time::Duration;

use wire::{ProtocolError, ServerError};
use workload::session::{FailureKind, SessionError};

use crate::channel::Withheld;
use crate::tls::TlsFailure;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot connect to {server}: {source}")]
    Connect {
        server: String,
        source: std::io::Error,
    },
    /// The server accepted the connection but did not complete the login.
    #[error("{server} did not complete the login within {limit:?}")]
    Timeout { server: String, limit: Duration },
    #[error("the connection was lost: {0}")]
    Lost(#[source] std::io::Error),
    #[error("TLS with {server} failed: {why}")]
    Tls { server: String, why: TlsFailure },
    #[error("{server} requests a password: {why}")]
    NoPassword { server: String, why: NoPassword },
    /// dyno does not send the server the password that it requests.
    #[error("the password was not sent to {server}: {why}")]
    Withheld { server: String, why: Withheld },
    #[error("{server} runs {version}; dyno supports {supported}")]
    Unsupported {
        server: String,
        /// Product and version of the server.
        version: String,
        supported: String,
    },
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error("the server refused the connection: {}", .0.error)]
    Login(Refusal),
    #[error("the server refused a statement: {}\n  in: {statement}", .error.error)]
    Statement { error: Refusal, statement: String },
}

/// An error that the server reported, and what it means.
#[derive(Debug)]
pub struct Refusal {
    pub(crate) error: Box<ServerError>,
    pub(crate) meaning: Meaning,
    pub(crate) remedy: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// What the load does about it.
    Failure(FailureKind),
    /// The server can run the statement only as text.
    NotPreparable,
    ReadOnly,
    /// The server does not serve clients for now, because of the state of its cluster.
    NotServing,
}

impl Meaning {
    /// What the load does about it, whatever is expected of the server.
    pub(crate) fn kind(self) -> FailureKind {
        match self {
            Self::Failure(kind) => kind,
            Self::NotPreparable | Self::ReadOnly | Self::NotServing => FailureKind::Refused,
        }
    }

    /// Whether the server has lost its role in its cluster.
    pub(crate) fn has_lost_role(self, expects_writes: bool) -> bool {
        match self {
            Self::NotServing => true,
            Self::ReadOnly => expects_writes,
            Self::Failure(_) | Self::NotPreparable => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPassword {
    #[error("none was given")]
    NotGiven,
    /// There is a password file, but dyno does not use it.
    #[error("none was given, and the password file is ignored: {0}")]
    PassFile(String),
}

impl From<Error> for plan::Failure {
    fn from(error: Error) -> Self {
        Self::server(&error).perhaps(error.remedy())
    }
}

impl Error {
    pub(crate) fn out_of_turn() -> Self {
        Self::Protocol(ProtocolError::OutOfTurn)
    }

    /// `None` if the user can do nothing about the error.
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            Self::Connect { source, .. } => connect_remedy(source),
            Self::Timeout { .. } => {
                "check that a database server of this kind listens there, and that it is not overloaded"
            }
            Self::Lost(_) => "check the server's log for the reason",
            Self::Tls { why, .. } => why.remedy(),
            Self::NoPassword { .. } => {
                "set PGPASSWORD or DYNO_PASSWORD, or add the account to ~/.pgpass"
            }
            Self::Withheld { why, .. } => why.remedy(),
            Self::Unsupported { .. } => "use a server of a supported version",
            Self::Protocol(ProtocolError::OtherProtocol { .. }) => {
                "check host and port: another kind of server answers there"
            }
            Self::Protocol(ProtocolError::UnknownMethod { .. }) => {
                "choose another authentication method for this account on the server"
            }
            Self::Protocol(ProtocolError::LargeResult) => "read fewer rows in one statement",
            Self::Protocol(_) => {
                "if it is a server of this kind, report its version to dyno's developers"
            }
            Self::Login(refusal) | Self::Statement { error: refusal, .. } => return refusal.remedy,
        })
    }

    /// The server's own error number, if it reported one.
    pub fn number(&self) -> Option<u32> {
        self.refusal()?.error.number
    }

    /// The SQLSTATE, if the server reported the error.
    pub fn sqlstate(&self) -> Option<&str> {
        self.refusal().map(|refusal| refusal.error.sqlstate())
    }

    /// Whether the server answered and is therefore alive: a refusal is an answer, too.
    pub fn is_answer(&self) -> bool {
        let asks_password = matches!(self, Self::Withheld { .. } | Self::NoPassword { .. });
        asks_password || self.refusal().is_some()
    }

    pub(crate) fn meaning(&self) -> Option<Meaning> {
        self.refusal().map(|refusal| refusal.meaning)
    }

    fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Login(refusal) | Self::Statement { error: refusal, .. } => Some(refusal),
            _ => None,
        }
    }

    /// The error as a workload sees it; `statement` is the one that was running.
    pub fn into_session_error(self, statement: Option<&str>) -> SessionError {
        let kind = self.failure_kind();
        let (sqlstate, number, message) = match self {
            Self::Login(Refusal { error, .. })
            | Self::Statement {
                error: Refusal { error, .. },
                ..
            } => (Some(error.sqlstate), error.number, error.message),
            other => (None, None, other.to_string()),
        };
        SessionError {
            kind,
            sqlstate,
            number,
            message,
            statement: statement.map(crate::statement_text::shortened),
        }
    }

    fn failure_kind(&self) -> FailureKind {
        match self {
            Self::Login(refusal) => refusal.meaning.kind(),
            Self::Statement { error, .. } => match error.meaning.kind() {
                // The server closes the connection, whatever its reason.
                FailureKind::Refused if error.error.is_fatal => FailureKind::Lost,
                kind => kind,
            },
            Self::Connect { source, .. } if is_nothing_there(source) => FailureKind::Away,
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

/// Whether no server listens there, for example while it restarts.
fn is_nothing_there(source: &std::io::Error) -> bool {
    let kind = source.kind();
    matches!(kind, ErrorKind::ConnectionRefused | ErrorKind::NotFound)
}

fn connect_remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::ConnectionRefused => {
            "nothing listens there: start the server, or check the port (if it listens only on a Unix socket, name the socket in the URL)"
        }
        ErrorKind::NotFound => "there is no such socket: start the server, or check the path",
        ErrorKind::PermissionDenied => {
            "permission denied for this user: check the socket's owner and mode"
        }
        _ => "check the host, the port, and the network",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: Error) -> FailureKind {
        error.into_session_error(None).kind
    }

    #[test]
    fn a_server_is_away_only_if_nothing_listens_there() {
        let connect = |kind: ErrorKind| Error::Connect {
            server: String::new(),
            source: kind.into(),
        };
        for (source, expected) in [
            (ErrorKind::ConnectionRefused, FailureKind::Away),
            (ErrorKind::NotFound, FailureKind::Away),
            (ErrorKind::TimedOut, FailureKind::Lost),
            (ErrorKind::HostUnreachable, FailureKind::Lost),
        ] {
            assert_eq!(kind(connect(source)), expected);
        }
        let lost = Error::Lost(ErrorKind::ConnectionReset.into());
        assert_eq!(kind(lost), FailureKind::Lost);
    }
}
