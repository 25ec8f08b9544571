//! What a workload needs of a database connection.
//!
//! Workloads are generic over [`Session`], which the `client` crate implements for each
//! protocol.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, Label};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Param<'a> {
    Int(i64),
    /// Any bytes, if the engine takes them.
    Text(&'a [u8]),
    Double(f64),
    Null,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Whether the statement has a result set, even an empty one.
    pub has_result: bool,
    /// Rows in the result set; 0 for a statement without one.
    pub rows: u64,
    /// Rows that the statement matched, whether or not it changed them.
    pub affected: u64,
}

/// The result of a statement as text, for scripts that read it. The memory of one is bounded.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Rows {
    pub columns: Vec<String>,
    /// Values by row and column; `None` for NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// One open connection that waits for each reply before the next statement.
pub trait Session {
    /// Executes the statement with this number in the catalog that the connection was
    /// opened with.
    fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<Reply, SessionError>>;

    /// Executes SQL that is not in the catalog, such as bulk inserts of varying length;
    /// results count it under `label`.
    fn query(
        &mut self,
        label: Label,
        sql: &str,
    ) -> impl Future<Output = Result<Reply, SessionError>>;

    /// Executes SQL as text and keeps the rows of its last result in `rows`, whose former content
    /// is lost.
    fn fetch(
        &mut self,
        _sql: &str,
        _rows: &mut Rows,
    ) -> impl Future<Output = Result<Reply, SessionError>> {
        std::future::ready(Err(SessionError::no_scripts()))
    }

    /// Prepares a statement that is not in the catalog, for [`Session::execute`]; returns its
    /// number, which is higher than those of the catalog. `?` stands for a parameter, whatever
    /// the engine's own placeholder is. A session that keeps the text shares it.
    fn prepare(&mut self, _sql: &Arc<str>) -> impl Future<Output = Result<u32, SessionError>> {
        std::future::ready(Err(SessionError::no_scripts()))
    }

    /// Frees a statement that [`Session::prepare`] has prepared, whose number another one may get.
    fn free(&mut self, _statement: u32) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// Rolls back the open transaction, if there is one.
    fn rollback(&mut self) -> impl Future<Output = Result<(), SessionError>>;

    /// When the last byte of the last reply reached this host, in nanoseconds on the system's
    /// monotonic clock, if the kernel stamped it (TCP only). The stamp is not validated: if the
    /// clock was set, it can be earlier than the statement or later than now.
    fn reply_arrived_ns(&self) -> Option<u64> {
        None
    }

    /// Closes the connection as its protocol requires, so that the server does not count it
    /// as aborted.
    fn close(self) -> impl Future<Output = ()>
    where
        Self: Sized,
    {
        async { drop(self) }
    }
}

/// The connections of a virtual user, which the load provides. As a [`Session`], it is the selected
/// connection.
pub trait Connections: Session {
    /// Opens a connection and selects it; returns its number.
    fn open(&mut self) -> impl Future<Output = Result<u32, SessionError>>;

    /// Selects an open connection, by its number from 0.
    fn select(&mut self, connection: u32);

    /// Closes the selected connection.
    fn shut(&mut self) -> impl Future<Output = ()>;

    /// Like [`Session::query`], or [`Session::fetch`] if the rows are wanted; results count the
    /// statement under the [label of its outcome](crate::program::label).
    fn run(
        &mut self,
        sql: &str,
        rows: Option<&mut Rows>,
    ) -> impl Future<Output = Result<Reply, SessionError>>;

    /// Waits, unless the load stops first.
    fn pause(&mut self, length: Duration) -> impl Future<Output = ()>;

    /// Counts an error after which the user goes on with its transaction.
    fn caught(&mut self, error: &SessionError);
}

pub trait Connect {
    type Session: Session;

    /// Opens a connection that can execute every statement of `catalog`.
    fn connect(
        &self,
        catalog: &Arc<Catalog>,
    ) -> impl Future<Output = Result<Self::Session, SessionError>>;

    /// The number of the servers that connections are opened to at present, which may change
    /// while a load runs; `None` while there are none.
    fn route(&self) -> Option<u64> {
        Some(0)
    }

    /// Waits until [`Connect::route`] is not `from` any more.
    fn rerouted(&self, from: Option<u64>) -> impl Future<Output = ()> {
        let _ = from;
        std::future::pending()
    }
}

/// What the load does about a failed statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FailureKind {
    /// A deadlock or lock timeout: roll back, count, run the transaction again.
    Restart,
    /// The connection was lost: reconnect with backoff, count.
    Lost,
    /// The server appears to be restarting: nothing listens on its port, or it reports that
    /// it is shutting down. Like [`FailureKind::Lost`], with shorter waits.
    Away,
    /// The server refused the statement: stop the load, unless its code is to be ignored.
    Refused,
    /// The script failed: stop the load.
    Script,
}

/// A failed statement or connection, as the server reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionError {
    pub kind: FailureKind,
    /// The SQLSTATE, if the engine has them and the server reported the error.
    pub sqlstate: Option<[u8; 5]>,
    /// The engine's own error number, if it has them and reported the error.
    pub number: Option<u32>,
    pub message: String,
    /// The statement that failed, if one was running.
    pub statement: Option<String>,
}

impl SessionError {
    /// The error of a session that runs only what is built in.
    fn no_scripts() -> Self {
        Self::of_script("this connection runs no scripts".to_owned())
    }

    /// A script's own error.
    pub fn of_script(message: String) -> Self {
        Self {
            kind: FailureKind::Script,
            sqlstate: None,
            number: None,
            message,
            statement: None,
        }
    }

    /// Whether the server reported the error; otherwise the connection failed.
    pub fn is_from_server(&self) -> bool {
        self.number.is_some() || self.sqlstate.is_some()
    }

    /// The code under which results count the error: `script`, the engine's own number, the
    /// SQLSTATE, or `network`.
    pub fn code(&self) -> String {
        match (self.number, self.sqlstate_text()) {
            _ if self.kind == FailureKind::Script => "script".to_owned(),
            (Some(number), _) => number.to_string(),
            (None, Some(sqlstate)) => sqlstate.into_owned(),
            (None, None) => "network".to_owned(),
        }
    }

    /// Whether `code` is the error's number or SQLSTATE.
    pub fn has_code(&self, code: &str) -> bool {
        let is_sqlstate = |sqlstate: [u8; 5]| sqlstate == code.as_bytes();
        self.sqlstate.is_some_and(is_sqlstate)
            || self.number.is_some_and(|number| number.to_string() == code)
    }

    fn sqlstate_text(&self) -> Option<Cow<'_, str>> {
        self.sqlstate
            .as_ref()
            .map(|state| String::from_utf8_lossy(state))
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.number, self.sqlstate_text()) {
            (None, None) => {}
            // The script tells what it wants to of the error that made it fail.
            _ if self.kind == FailureKind::Script => {}
            (None, Some(state)) => write!(f, "SQLSTATE {state}: ")?,
            (Some(number), Some(state)) => write!(f, "error {number} ({state}): ")?,
            (Some(number), None) => write!(f, "error {number}: ")?,
        }
        f.write_str(&self.message)?;
        if let Some(statement) = &self.statement {
            write!(f, "\n  in: {statement}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SessionError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(sqlstate: Option<&[u8; 5]>, number: Option<u32>) -> SessionError {
        SessionError {
            kind: FailureKind::Refused,
            sqlstate: sqlstate.copied(),
            number,
            message: "no".to_owned(),
            statement: None,
        }
    }

    #[test]
    fn an_error_is_known_by_its_number_and_its_sqlstate() {
        for (sqlstate, number, code, text) in [
            (Some(b"40001"), Some(1213), "1213", "error 1213 (40001): no"),
            (Some(b"40P01"), None, "40P01", "SQLSTATE 40P01: no"),
            (None, Some(5), "5", "error 5: no"),
        ] {
            let error = error(sqlstate, number);
            assert_eq!(
                (error.code().as_str(), error.to_string().as_str()),
                (code, text)
            );
            assert!(error.has_code(code) && error.is_from_server());
            assert_eq!(error.has_code("40001"), sqlstate == Some(b"40001"));
        }
        let network = error(None, None);
        assert_eq!(
            (network.code().as_str(), network.to_string().as_str()),
            ("network", "no")
        );
        assert!(!network.has_code("network") && !network.is_from_server());
        assert_eq!(SessionError::of_script("no".to_owned()).code(), "script");
    }
}
