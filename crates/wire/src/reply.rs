//! What the load has to know about a reply.

use crate::ServerError;

/// A whole reply. `S` describes a prepared statement, `D` how data is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<S, D> {
    Done(Done),
    Prepared(S),
    /// The server waits for the rows of a bulk load.
    WantsData(D),
    Refused(Box<ServerError>),
}

/// Counts of a statement; for several results in one reply, their sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Whether there was a result set, even an empty one.
    pub has_result: bool,
    pub rows: u64,
    /// Rows that the statement matched, whether or not it changed them.
    pub affected: u64,
}
