//! What a workload needs of a database connection.
//!
//! Workloads are generic over [`Session`], which the `client` crate implements for each
//! protocol.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::catalog::{Catalog, Label};

/// A parameter of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param<'a> {
    /// A signed integer.
    Int(i64),
    /// ASCII text; never needs escaping beyond quotes and backslashes.
    Text(&'a str),
}

/// What the server said to one statement.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Rows of the result set; 0 for a statement without one.
    pub rows: u64,
    /// Rows that the statement matched (not only those it changed).
    pub affected: u64,
}

/// One open connection that waits for each reply before the next statement.
pub trait Session {
    /// Runs the statement with that number in the catalog that the connection was
    /// opened with.
    fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<Reply, SessionError>>;

    /// Runs a text that is not in the catalog (bulk inserts, whose text grows).
    /// Results call it `label`.
    fn query(
        &mut self,
        label: Label,
        sql: &str,
    ) -> impl Future<Output = Result<Reply, SessionError>>;

    /// Rolls back the open transaction, if there is one.
    fn rollback(&mut self) -> impl Future<Output = Result<(), SessionError>>;

    /// When the last bytes of the last reply reached this host, in nanoseconds of the
    /// system's monotonic clock, where the kernel noted it (for a TCP socket). Not checked: a
    /// clock that was set can make it earlier than the statement, or later than now.
    fn reply_arrived_ns(&self) -> Option<u64> {
        None
    }

    /// Closes the connection in the way of its protocol: a server counts connections
    /// that just end as aborted.
    fn close(self) -> impl Future<Output = ()>
    where
        Self: Sized,
    {
        async { drop(self) }
    }
}

/// Opens the connections of a load.
pub trait Connect {
    /// The type of its connections.
    type Session: Session;

    /// Opens a connection that can run every statement of `catalog`.
    fn connect(
        &self,
        catalog: &Arc<Catalog>,
    ) -> impl Future<Output = Result<Self::Session, SessionError>>;
}

/// What the load does about a failed statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// A deadlock or lock timeout: roll back, count, run the transaction again.
    Restart,
    /// The connection is gone: reconnect with backoff, count.
    Lost,
    /// The server is restarting, as far as its host tells: nothing listens there, or it
    /// says that it shuts down. As [`FailureKind::Lost`], with shorter waits.
    Away,
    /// The server refused the statement: stop the load, unless the code is
    /// listed as ignorable.
    Refused,
}

/// A failed statement or connection, in the server's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionError {
    /// What the load does about it.
    pub kind: FailureKind,
    /// The engine's error number, or the SQLSTATE in 30 bits if it has no numbers; 0 for a
    /// network error.
    pub code: u32,
    /// SQLSTATE, where the engine has one.
    pub sqlstate: Option<[u8; 5]>,
    /// The server's message.
    pub message: String,
    /// The statement that failed, where one was running.
    pub statement: Option<String>,
}

/// Above the engines' own numbers, which have 16 bits.
const MAX_NUMBER: u32 = 1 << 16;

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sqlstate = self
            .sqlstate
            .as_ref()
            .map(|state| String::from_utf8_lossy(state));
        match (self.code, sqlstate) {
            (0, _) => {}
            // Its number is the SQLSTATE's.
            (MAX_NUMBER.., Some(state)) => write!(f, "SQLSTATE {state}: ")?,
            (code, Some(state)) => write!(f, "error {code} ({state}): ")?,
            (code, None) => write!(f, "error {code}: ")?,
        }
        f.write_str(&self.message)?;
        if let Some(statement) = &self.statement {
            write!(f, "\n  in: {statement}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SessionError {}
