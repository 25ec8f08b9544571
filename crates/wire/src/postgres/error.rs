//! ErrorResponse messages.

use crate::error::{one_line, sqlstate};
use crate::fields::Fields;
use crate::{ProtocolError, ServerError};

/// The SQLSTATE of an error that has none: `internal_error`.
const NO_SQLSTATE: [u8; 5] = *b"XX000";

/// Parses the payload of an ErrorResponse; the message includes detail and hint.
pub fn parse_error(payload: &[u8]) -> Result<ServerError, ProtocolError> {
    let mut fields = Fields::new(payload, "error");
    let (mut message, mut detail, mut hint) = (String::new(), String::new(), String::new());
    let mut error = ServerError {
        number: None,
        sqlstate: NO_SQLSTATE,
        is_fatal: false,
        message: String::new(),
    };
    loop {
        let code = fields.u8()?;
        if code == 0 {
            break;
        }
        let value = fields.text()?;
        match code {
            // `V` is the same as `S`, but never translated.
            b'S' | b'V' => error.is_fatal |= matches!(value.as_str(), "FATAL" | "PANIC"),
            b'C' => error.sqlstate = sqlstate(value.as_bytes(), NO_SQLSTATE),
            b'M' => message = value,
            b'D' => detail = format!("; detail: {value}"),
            b'H' => hint = format!("; hint: {value}"),
            _ => {}
        }
    }
    error.message = one_line(&(message + &detail + &hint));
    Ok(error)
}
