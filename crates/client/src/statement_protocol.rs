//! How statements are sent.

/// How statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementProtocol {
    /// Prepared once per connection, then executed by number.
    Prepared,
    /// As text that contains the values, each time.
    Text,
}
