//! A blocking connection of any protocol, for programs that observe a database beside its load.

use std::time::Duration;

use client::connection::LOGIN_LIMIT;
use client::reactor::{Reactor, timeout};
use client::{Connection, Error, Protocol};
use workload::session::{FailureKind, SessionError};

use crate::remote::Rows;

/// A connection that blocks its thread, which must be the one that opened it. Dropping it closes
/// it.
pub trait Sql {
    /// Executes a statement and returns its rows as text; empty if it returns none.
    fn rows(&mut self, sql: &str, limit: Duration) -> Result<Rows, SessionError>;
}

/// A connection of a network engine with an event loop of its own.
pub(crate) struct Blocking<P: Protocol> {
    reactor: Reactor,
    connection: Connection<P>,
}

impl<P: Protocol> Blocking<P> {
    /// Opens a connection within the limit, which cannot exceed that of a login.
    pub(crate) fn open(target: &P::Target, limit: Duration) -> Result<Self, SessionError> {
        let reactor = Reactor::new().map_err(|error| failed(error.to_string()))?;
        let open = Connection::open_within(limit.min(LOGIN_LIMIT), target);
        let opened = reactor.block_on(open);
        let opened = opened.map_err(|error| failed(error.to_string()))?;
        let connection = opened.map_err(|error: Error| error.into_session_error(None))?;
        Ok(Self {
            reactor,
            connection,
        })
    }
}

impl<P: Protocol> Sql for Blocking<P> {
    fn rows(&mut self, sql: &str, limit: Duration) -> Result<Rows, SessionError> {
        let asked = timeout(limit, self.connection.rows(sql));
        let answered = self.reactor.block_on(asked);
        match answered.map_err(|error| failed(error.to_string()))? {
            Ok(rows) => rows.map_err(|error| error.into_session_error(Some(sql))),
            Err(_) => Err(failed(format!("no answer within {limit:?}"))),
        }
    }
}

fn failed(message: String) -> SessionError {
    SessionError {
        kind: FailureKind::Lost,
        sqlstate: None,
        number: None,
        message,
        statement: None,
    }
}
