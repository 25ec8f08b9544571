//! How statements reach a server.

/// How statements reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementProtocol {
    /// Prepared once for each connection, then executed by number.
    Prepared,
    /// As text with the values in it, each time anew.
    Text,
}
