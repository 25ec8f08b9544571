//! Protocol violations, and errors that a server reports.

use std::ascii::escape_default;
use std::fmt;

/// Enough of a peer's first bytes to recognize its protocol.
const SHOWN_BYTES: usize = 24;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A message ends before its last field.
    #[error("the server's message is truncated in its {0}")]
    Truncated(&'static str),
    /// A message is longer than dyno accepts there.
    #[error("the server announced a message of {length} bytes; at most {limit} are accepted")]
    TooLong { length: usize, limit: usize },
    /// The results of a statement exceed what is kept of them.
    #[error("the result is too large: dyno reads at most 1048576 rows and 256 MiB")]
    LargeResult,
    /// A message's length does not even cover itself.
    #[error("the server announced a message with the invalid length {0}")]
    InvalidLength(u32),
    #[error("the server's packet has sequence number {got}, expected {expected}")]
    Sequence { got: u8, expected: u8 },
    /// The first bytes are from another kind of server.
    #[error(
        "the server's first bytes ({first_bytes:?}) are not {protocol}'s; is this another kind of server?"
    )]
    OtherProtocol {
        protocol: &'static str,
        /// The beginning of what the server sent.
        first_bytes: String,
    },
    /// A server older than the protocol version that dyno speaks.
    #[error("the server is too old: it lacks {0}")]
    TooOld(&'static str),
    /// A message that is not allowed there.
    #[error("the server sent an unexpected message ({}) {place}", escape_default(*.first))]
    Unexpected { first: u8, place: &'static str },
    /// A message that does not answer the client's.
    #[error("the server sent a message out of turn")]
    OutOfTurn,
    /// The server requests an authentication method that dyno does not support.
    #[error("the server requests {method:?} authentication; dyno supports {supported}")]
    UnknownMethod {
        method: String,
        /// The methods that dyno supports with this server.
        supported: &'static str,
    },
    #[error("authentication failed: {0}")]
    Authentication(String),
}

impl ProtocolError {
    /// The error for a message that is not allowed at this place, judged by its first byte.
    pub fn unexpected(first: u8, place: &'static str) -> Self {
        Self::Unexpected { first, place }
    }

    /// A peer that does not speak `protocol`, judged by its first bytes.
    pub(crate) fn other_protocol(protocol: &'static str, first_bytes: &[u8]) -> Self {
        let shown = &first_bytes[..first_bytes.len().min(SHOWN_BYTES)];
        Self::OtherProtocol {
            protocol,
            first_bytes: String::from_utf8_lossy(shown).into_owned(),
        }
    }
}

pub(crate) fn check_length(length: usize, limit: usize) -> Result<(), ProtocolError> {
    match length <= limit {
        true => Ok(()),
        false => Err(ProtocolError::TooLong { length, limit }),
    }
}

/// An error that the server reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The engine's own error number, if it has them.
    pub number: Option<u32>,
    pub sqlstate: [u8; 5],
    /// Whether the server closes the connection.
    pub is_fatal: bool,
    /// The server's message, on one line.
    pub message: String,
}

impl ServerError {
    /// The SQLSTATE: five ASCII letters and digits.
    pub fn sqlstate(&self) -> &str {
        str::from_utf8(&self.sqlstate).unwrap_or_default()
    }
}

/// Reads an SQLSTATE; `default` if the bytes are none.
pub(crate) fn sqlstate(bytes: &[u8], default: [u8; 5]) -> [u8; 5] {
    match <[u8; 5]>::try_from(bytes) {
        Ok(state) if state.iter().all(u8::is_ascii_alphanumeric) => state,
        _ => default,
    }
}

/// Joins a message's lines: the second could pass for a message of dyno's own.
pub(crate) fn one_line(message: &str) -> String {
    message.replace(['\n', '\r'], " ")
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "error {number} ({}): ", self.sqlstate())?,
            None => write!(f, "SQLSTATE {}: ", self.sqlstate())?,
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServerError {}
