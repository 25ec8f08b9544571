//! Gathers the results of queries.

use super::message::Message;
use super::parse_error;
use crate::fields::Fields;
use crate::rows::{Rows, TextReply};
use crate::{ProtocolError, ServerError};

const NULL: u32 = u32::MAX;

#[derive(Debug, Default)]
pub struct TextResult {
    rows: Rows,
    error: Option<Box<ServerError>>,
}

impl TextResult {
    /// Takes the next message of the reply; returns the result at its end.
    pub fn message(&mut self, message: &Message) -> Result<Option<TextReply>, ProtocolError> {
        match message.kind {
            b'D' => self.row(&message.payload)?,
            b'E' => {
                let error = Box::new(parse_error(&message.payload)?);
                if error.is_fatal {
                    return Ok(Some(TextReply::Refused(error)));
                }
                self.error = Some(error);
            }
            b'Z' => {
                return Ok(Some(match self.error.take() {
                    Some(error) => TextReply::Refused(error),
                    None => TextReply::Rows(self.rows.take()),
                }));
            }
            b'T' | b'C' | b'I' | b'N' | b'S' | b'A' => {}
            kind => return Err(ProtocolError::unexpected(kind, "in a reply")),
        }
        Ok(None)
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), ProtocolError> {
        let mut fields = Fields::new(payload, "row");
        let columns = usize::from(fields.u16_be()?);
        let cell = || match fields.u32_be()? {
            NULL => Ok(None),
            length => fields.bytes(length as usize).map(Some),
        };
        self.rows.push(payload.len(), columns, cell)
    }
}
