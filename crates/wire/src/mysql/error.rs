//! What can be wrong with what a server sends, and what a server says is wrong.

use std::fmt;

/// Bytes that are not the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A message ends before its last field.
    #[error("the server's message ends too early, in its {0}")]
    Truncated(&'static str),
    /// A message is longer than any that dyno accepts there.
    #[error(
        "the server announced a message of {length} bytes, more than the {limit} that are accepted"
    )]
    TooLong {
        /// Bytes announced.
        length: usize,
        /// Bytes accepted.
        limit: usize,
    },
    /// Packets come in another order than they are numbered.
    #[error("the server's packet has number {got}, expected {expected}")]
    Sequence {
        /// The number of the packet.
        got: u8,
        /// The number that was due.
        expected: u8,
    },
    /// The first message is no greeting of this protocol.
    #[error(
        "the server's first bytes ({0:?}…) are not a MySQL greeting; is this another kind of server?"
    )]
    NotMysql(String),
    /// A server older than the protocol that dyno speaks.
    #[error("the server is too old: it lacks {0}")]
    TooOld(&'static str),
    /// A message that has no place there.
    #[error("the server sent a message (0x{first:02x}) that does not belong {place}")]
    Unexpected {
        /// Its first byte.
        first: u8,
        /// Where.
        place: &'static str,
    },
    /// The server asks for an authentication that dyno does not know.
    #[error("the server asks for authentication by {0:?}, which dyno does not know; it knows {known}", known = super::auth::KNOWN)]
    UnknownPlugin(String),
    /// Authentication failed before the server could say so.
    #[error("authentication: {0}")]
    Auth(String),
}

/// An ERR packet: the server's refusal in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The server's error number.
    pub code: u16,
    /// The SQLSTATE, `HY000` when the packet has none.
    pub sqlstate: [u8; 5],
    /// The server's message.
    pub message: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = String::from_utf8_lossy(&self.sqlstate);
        // In one line: the rest of a message could pass for another of dyno's own.
        let message = self.message.replace(['\n', '\r'], " ");
        write!(f, "error {} ({state}): {message}", self.code)
    }
}

impl std::error::Error for ServerError {}

impl ServerError {
    /// Reads an ERR packet, its first byte (0xff) included.
    ///
    /// # Errors
    /// When the packet is shorter than an error number.
    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        let [_, low, high, rest @ ..] = payload else {
            return Err(ProtocolError::Truncated("error"));
        };
        // During the handshake there is no SQLSTATE.
        let (sqlstate, message) = match rest {
            [b'#', a, b, c, d, e, message @ ..] => ([*a, *b, *c, *d, *e], message),
            message => (*b"HY000", message),
        };
        Ok(Self {
            code: u16::from_le_bytes([*low, *high]),
            sqlstate,
            message: String::from_utf8_lossy(message).into_owned(),
        })
    }
}
