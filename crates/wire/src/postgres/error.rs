//! Bytes that violate the protocol, and errors that the server reports.

use std::fmt;

use super::message::{self, HEADER_BYTES};
use super::read::Fields;

/// Bytes that are not the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A message ends before its last field.
    #[error("the server's message is truncated in its {0}")]
    Truncated(&'static str),
    /// A message is longer than dyno accepts there.
    #[error("the server announced a message of {length} bytes; at most {limit} are accepted")]
    TooLong {
        /// Bytes announced.
        length: usize,
        /// Bytes accepted.
        limit: usize,
    },
    /// A message's length does not even cover itself.
    #[error("the server announced a message with the invalid length {0}")]
    InvalidLength(u32),
    /// The first bytes are not those of a PostgreSQL server.
    #[error(
        "the server's first bytes ({0:?}) are not PostgreSQL's; is this another kind of server?"
    )]
    NotPostgres(String),
    /// A message that is not allowed there.
    #[error("the server sent an unexpected message ({kind:?}) {place}")]
    Unexpected {
        /// Its type.
        kind: char,
        /// Where.
        place: &'static str,
    },
    /// The server requests an authentication method that dyno does not have.
    #[error(
        "the server requests {0} authentication; dyno supports SCRAM-SHA-256, md5, password and certificates"
    )]
    UnknownMethod(String),
    /// The authentication exchange violates its rules.
    #[error("authentication failed: {0}")]
    Authentication(String),
}

impl ProtocolError {
    /// An unexpected message of this type.
    #[must_use]
    pub fn unexpected(kind: u8, place: &'static str) -> Self {
        let kind = char::from(kind);
        Self::Unexpected { kind, place }
    }
}

/// Names a peer that is not a PostgreSQL server by its first bytes.
#[must_use]
pub fn not_postgres(first_bytes: &[u8]) -> ProtocolError {
    /// Enough to recognize a protocol.
    const SHOWN_BYTES: usize = 24;
    let shown = &first_bytes[..first_bytes.len().min(SHOWN_BYTES)];
    ProtocolError::NotPostgres(String::from_utf8_lossy(shown).into_owned())
}

/// An ErrorResponse: what the server refused, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    sqlstate: [u8; 5],
    /// Whether the server closes the connection.
    pub is_fatal: bool,
    /// The primary message.
    pub message: String,
    /// More about the problem, where the server gives it.
    pub detail: Option<String>,
    /// What the server suggests, where it does.
    pub hint: Option<String>,
}

/// The SQLSTATE of an error that has none: `internal_error`.
const NO_SQLSTATE: [u8; 5] = *b"XX000";

impl ServerError {
    /// Parses the payload of an ErrorResponse.
    ///
    /// # Errors
    /// When a field has no end.
    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Fields::new(payload, "error");
        let mut error = Self {
            sqlstate: NO_SQLSTATE,
            is_fatal: false,
            message: String::new(),
            detail: None,
            hint: None,
        };
        loop {
            let code = fields.u8()?;
            if code == 0 {
                return Ok(error);
            }
            let value = fields.text()?;
            match code {
                // `V` is the same as `S`, but never translated.
                b'S' | b'V' => error.is_fatal |= matches!(value.as_str(), "FATAL" | "PANIC"),
                b'C' => error.sqlstate = sqlstate(&value),
                b'M' => error.message = value,
                b'D' => error.detail = Some(value),
                b'H' => error.hint = Some(value),
                _ => {}
            }
        }
    }

    /// The SQLSTATE: five ASCII letters and digits.
    #[must_use]
    pub fn sqlstate(&self) -> &str {
        str::from_utf8(&self.sqlstate).unwrap_or("XX000")
    }

    /// Message, detail and hint.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = self.message.clone();
        for (name, more) in [("detail", &self.detail), ("hint", &self.hint)] {
            if let Some(more) = more {
                words.push_str(&format!("; {name}: {more}"));
            }
        }
        // On one line: the rest could pass for another message of dyno's own.
        words.replace(['\n', '\r'], " ")
    }

    /// The SQLSTATE as bytes.
    #[must_use]
    pub fn sqlstate_bytes(&self) -> [u8; 5] {
        self.sqlstate
    }
}

fn sqlstate(text: &str) -> [u8; 5] {
    match <[u8; 5]>::try_from(text.as_bytes()) {
        Ok(state) if state.iter().all(u8::is_ascii_alphanumeric) => state,
        _ => NO_SQLSTATE,
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.words(), self.sqlstate())
    }
}

impl std::error::Error for ServerError {}

/// Whether a stream that begins with these bytes may be a PostgreSQL server's answer to a
/// startup message: an authentication request, an error, or a notice of plausible length.
#[must_use]
pub fn may_be_postgres(first_bytes: &[u8]) -> bool {
    /// As libpq's limit for an error during the startup.
    const MAX_FIRST_BYTES: usize = 30_000;
    let kind = first_bytes.first().copied().unwrap_or(b'R');
    let length = match first_bytes.first_chunk::<HEADER_BYTES>() {
        Some(header) => message::Header::parse(*header).map_or(usize::MAX, |header| header.length),
        None => 0,
    };
    matches!(kind, b'R' | b'E' | b'N' | b'v') && length <= MAX_FIRST_BYTES
}
