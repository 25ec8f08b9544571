//! ERR packets.

use crate::error::{one_line, sqlstate};
use crate::{ProtocolError, ServerError};

/// The SQLSTATE of an error that has none: a general error.
const NO_SQLSTATE: [u8; 5] = *b"HY000";

/// Parses an ERR packet, its first byte (0xff) included.
pub fn parse_error(payload: &[u8]) -> Result<ServerError, ProtocolError> {
    let [_, low, high, rest @ ..] = payload else {
        return Err(ProtocolError::Truncated("error"));
    };
    // During the handshake there is no SQLSTATE.
    let (state, message) = match rest {
        [b'#', rest @ ..] if rest.len() >= NO_SQLSTATE.len() => rest.split_at(NO_SQLSTATE.len()),
        message => (&[][..], message),
    };
    Ok(ServerError {
        number: Some(u16::from_le_bytes([*low, *high]).into()),
        sqlstate: sqlstate(state, NO_SQLSTATE),
        is_fatal: false,
        message: one_line(&String::from_utf8_lossy(message)),
    })
}
