//! Gathers the results of queries.

use super::message::Message;
use super::parse_error;
use super::reply::{ReplyReader, affected, is_in_transaction};
use crate::fields::Fields;
use crate::rows::{Rows, TextReply};
use crate::{ProtocolError, ServerError};

const NULL: u32 = u32::MAX;
/// What follows the name of a column: its table, number, type, and format.
const ORIGIN_AND_TYPE_BYTES: usize = 18;

#[derive(Debug, Default)]
pub struct TextResult {
    rows: Rows,
    error: Option<Box<ServerError>>,
}

impl TextResult {
    /// Takes the next message of the reply; returns the result at its end. Then the connection's
    /// `reader` knows the state of the transaction.
    pub fn message(
        &mut self,
        message: &Message,
        reader: &mut ReplyReader,
    ) -> Result<Option<TextReply>, ProtocolError> {
        let payload = message.payload.as_slice();
        match message.kind {
            b'T' => self.describe(payload)?,
            b'D' => self.row(payload)?,
            b'C' => self.rows.changed(affected(payload)),
            b'E' => {
                let error = Box::new(parse_error(payload)?);
                if error.is_fatal {
                    return Ok(Some(TextReply::Refused(error)));
                }
                self.error = Some(error);
            }
            b'Z' => {
                reader.ended(is_in_transaction(payload)?);
                return Ok(Some(match self.error.take() {
                    Some(error) => TextReply::Refused(error),
                    None => TextReply::Rows(self.rows.take()),
                }));
            }
            b'I' | b'N' | b'S' | b'A' => {}
            kind => return Err(ProtocolError::unexpected(kind, "in a reply")),
        }
        Ok(None)
    }

    fn describe(&mut self, payload: &[u8]) -> Result<(), ProtocolError> {
        self.rows.begin();
        let mut fields = Fields::new(payload, "row description");
        for _ in 0..fields.u16_be()? {
            self.rows.column(fields.bytes_until_nul()?)?;
            fields.bytes(ORIGIN_AND_TYPE_BYTES)?;
        }
        Ok(())
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
