//! Whole results of text statements, for the few questions that dyno asks itself
//! (versions, counts, states); not for the load.

use super::read::Fields;
use super::{ProtocolError, SERVER_MORE_RESULTS_EXISTS, ServerError};

/// One value as text; `None` for NULL.
pub type Cell = Option<String>;

/// Most rows that are kept of one result.
const MAX_ROWS: usize = 1 << 20;
/// Most memory that the rows of one result may take.
const MAX_BYTES: usize = 256 << 20;
/// Most columns that a result may announce.
const MAX_COLUMNS: u64 = 4096;

/// Gathers the messages of one text result.
#[derive(Debug)]
pub struct TextResult {
    deprecate_eof: bool,
    columns: Option<u64>,
    /// Definitions and the EOF behind them that are still to come.
    definitions_left: u64,
    rows: Vec<Vec<Cell>>,
    /// About what the rows take.
    kept_bytes: usize,
}

/// What a text statement gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextReply {
    /// Its rows; none for a statement without a result.
    Rows(Vec<Vec<Cell>>),
    /// The server refused.
    Refused(ServerError),
}

impl TextResult {
    /// An empty result; `deprecate_eof` as negotiated in the handshake.
    #[must_use]
    pub fn new(deprecate_eof: bool) -> Self {
        Self {
            deprecate_eof,
            columns: None,
            definitions_left: 0,
            rows: Vec::new(),
            kept_bytes: 0,
        }
    }

    /// Takes the next message of the reply; gives the result at its end.
    ///
    /// # Errors
    /// When the message is not the protocol, or the result is too large.
    pub fn message(&mut self, payload: &[u8]) -> Result<Option<TextReply>, ProtocolError> {
        let first = *payload.first().ok_or(ProtocolError::Truncated("reply"))?;
        if first == 0xff {
            return ServerError::parse(payload).map(|error| Some(TextReply::Refused(error)));
        }
        match self.columns {
            None if first == 0x00 => self.end(payload, false),
            None if first == 0xfb => Err(ProtocolError::Unexpected {
                first,
                place: "in a reply: the server asks for a file that nobody offered",
            }),
            None => self.announce(payload),
            Some(_) if self.definitions_left > 0 => {
                self.definitions_left -= 1;
                Ok(None)
            }
            Some(_) if first == 0xfe && payload.len() < 0xff_ffff => self.end(payload, true),
            Some(columns) => self.row(payload, columns),
        }
    }

    fn announce(&mut self, payload: &[u8]) -> Result<Option<TextReply>, ProtocolError> {
        let columns = Fields::new(payload, "column count").lenenc()?.unwrap_or(0);
        if columns == 0 || columns > MAX_COLUMNS {
            return Err(ProtocolError::Truncated("column count"));
        }
        self.columns = Some(columns);
        self.definitions_left = columns + u64::from(!self.deprecate_eof);
        Ok(None)
    }

    fn row(&mut self, payload: &[u8], columns: u64) -> Result<Option<TextReply>, ProtocolError> {
        if self.rows.len() >= MAX_ROWS {
            return Err(ProtocolError::TooLong {
                length: self.rows.len() + 1,
                limit: MAX_ROWS,
            });
        }
        // A NULL is one byte on the wire and a whole cell here.
        let cells = columns as usize * size_of::<Cell>();
        self.kept_bytes += payload.len() + cells + size_of::<Vec<Cell>>();
        if self.kept_bytes > MAX_BYTES {
            return Err(ProtocolError::TooLong {
                length: self.kept_bytes,
                limit: MAX_BYTES,
            });
        }
        let mut fields = Fields::new(payload, "row");
        let row = (0..columns)
            .map(|_| {
                let cell = fields.lenenc_bytes()?;
                Ok(cell.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
            })
            .collect::<Result<_, ProtocolError>>()?;
        self.rows.push(row);
        Ok(None)
    }

    fn end(
        &mut self,
        payload: &[u8],
        behind_rows: bool,
    ) -> Result<Option<TextReply>, ProtocolError> {
        let mut fields = Fields::new(payload, "end of a reply");
        fields.u8()?;
        let status = if behind_rows && !self.deprecate_eof {
            fields.u16()?;
            fields.u16()?
        } else {
            fields.lenenc()?;
            fields.lenenc()?;
            fields.u16()?
        };
        if status & SERVER_MORE_RESULTS_EXISTS != 0 {
            self.columns = None;
            return Ok(None);
        }
        Ok(Some(TextReply::Rows(std::mem::take(&mut self.rows))))
    }
}
