//! Gathers the results of text statements.

use super::packet::Message;
use super::reply::ReplyReader;
use super::{SERVER_MORE_RESULTS_EXISTS, SERVER_STATUS_IN_TRANS, lenenc, parse_error};
use crate::ProtocolError;
use crate::fields::Fields;
use crate::rows::{Rows, TextReply};

/// Most columns that a result may announce.
const MAX_COLUMNS: u64 = 4096;

/// Gathers the messages of one text result.
#[derive(Debug)]
pub struct TextResult {
    deprecate_eof: bool,
    columns: Option<u64>,
    /// Definitions still to come, and the EOF that follows them.
    definitions_left: u64,
    rows: Rows,
}

impl TextResult {
    /// An empty result; `deprecate_eof` as negotiated in the handshake.
    pub fn new(deprecate_eof: bool) -> Self {
        Self {
            deprecate_eof,
            columns: None,
            definitions_left: 0,
            rows: Rows::default(),
        }
    }

    /// Takes the next message of the reply; returns the result at its end. Then the connection's
    /// `reader` knows the state of the transaction.
    pub fn message(
        &mut self,
        message: &Message,
        reader: &mut ReplyReader,
    ) -> Result<Option<TextReply>, ProtocolError> {
        let payload = message.payload.as_slice();
        let first = *payload.first().ok_or(ProtocolError::Truncated("reply"))?;
        if first == 0xff {
            let error = parse_error(payload)?;
            reader.status = SERVER_STATUS_IN_TRANS;
            return Ok(Some(TextReply::Refused(Box::new(error))));
        }
        match self.columns {
            None if first == 0x00 => self.end(payload, false, reader),
            None if first == 0xfb => Err(ProtocolError::unexpected(
                first,
                "in a reply: a request for a file that was not offered",
            )),
            None => self.announce(payload),
            Some(_) if self.definitions_left > 0 => self.define(payload),
            Some(_) if first == 0xfe && payload.len() < 0xff_ffff => {
                self.end(payload, true, reader)
            }
            Some(columns) => self.row(payload, columns),
        }
    }

    fn announce(&mut self, payload: &[u8]) -> Result<Option<TextReply>, ProtocolError> {
        let columns = lenenc::integer(&mut Fields::new(payload, "column count"))?.unwrap_or(0);
        if columns == 0 || columns > MAX_COLUMNS {
            return Err(ProtocolError::Truncated("column count"));
        }
        self.columns = Some(columns);
        self.definitions_left = columns + u64::from(!self.deprecate_eof);
        self.rows.begin();
        Ok(None)
    }

    fn define(&mut self, payload: &[u8]) -> Result<Option<TextReply>, ProtocolError> {
        self.definitions_left -= 1;
        // The last one may be an EOF packet.
        if self.definitions_left > 0 || self.deprecate_eof {
            self.rows.column(column_name(payload)?)?;
        }
        Ok(None)
    }

    fn row(&mut self, payload: &[u8], columns: u64) -> Result<Option<TextReply>, ProtocolError> {
        let mut fields = Fields::new(payload, "row");
        let cell = || lenenc::bytes(&mut fields);
        self.rows.push(payload.len(), columns as usize, cell)?;
        Ok(None)
    }

    fn end(
        &mut self,
        payload: &[u8],
        after_rows: bool,
        reader: &mut ReplyReader,
    ) -> Result<Option<TextReply>, ProtocolError> {
        let mut fields = Fields::new(payload, "end of a reply");
        fields.u8()?;
        reader.status = if after_rows && !self.deprecate_eof {
            fields.u16_le()?;
            fields.u16_le()?
        } else {
            let affected = lenenc::integer(&mut fields)?;
            self.rows.changed(affected.unwrap_or(0));
            lenenc::integer(&mut fields)?;
            fields.u16_le()?
        };
        if reader.status & SERVER_MORE_RESULTS_EXISTS != 0 {
            self.columns = None;
            return Ok(None);
        }
        Ok(Some(TextReply::Rows(self.rows.take())))
    }
}

/// The name in a column's definition. The names of its catalog, schema, and table come first; that
/// of the table twice.
fn column_name(payload: &[u8]) -> Result<&[u8], ProtocolError> {
    let mut fields = Fields::new(payload, "column definition");
    for _ in 0..4 {
        lenenc::bytes(&mut fields)?;
    }
    Ok(lenenc::bytes(&mut fields)?.unwrap_or_default())
}
