//! Whole results of queries, for the few questions that dyno itself asks (versions, counts,
//! states); not for the load.

use super::message::{Message, check_length};
use super::read::Fields;
use super::{ProtocolError, ServerError};

/// One value as text; `None` for NULL.
pub type Cell = Option<String>;

/// Most rows that are kept of one result.
const MAX_ROWS: usize = 1 << 20;
/// Most memory that the rows of one result may take.
const MAX_BYTES: usize = 256 << 20;
/// The length that stands for NULL.
const NULL: u32 = u32::MAX;

/// Gathers the messages of one Query.
#[derive(Debug, Default)]
pub struct TextResult {
    rows: Vec<Vec<Cell>>,
    /// About what the rows take.
    kept_bytes: usize,
    error: Option<Box<ServerError>>,
}

/// What a Query gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextReply {
    /// Its rows; none for a statement without a result.
    Rows(Vec<Vec<Cell>>),
    /// The server refused.
    Refused(Box<ServerError>),
}

impl TextResult {
    /// Takes the next message of the reply; gives the result at its end.
    ///
    /// # Errors
    /// When the message violates the protocol, or the result is too large.
    pub fn message(&mut self, message: &Message) -> Result<Option<TextReply>, ProtocolError> {
        match message.kind {
            b'D' => self.row(&message.payload)?,
            b'E' => {
                let error = Box::new(ServerError::parse(&message.payload)?);
                if error.is_fatal {
                    return Ok(Some(TextReply::Refused(error)));
                }
                self.error = Some(error);
            }
            b'Z' => {
                return Ok(Some(match self.error.take() {
                    Some(error) => TextReply::Refused(error),
                    None => TextReply::Rows(std::mem::take(&mut self.rows)),
                }));
            }
            b'T' | b'C' | b'I' | b'N' | b'S' | b'A' => {}
            kind => return Err(ProtocolError::unexpected(kind, "in a reply")),
        }
        Ok(None)
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), ProtocolError> {
        check_length(self.rows.len() + 1, MAX_ROWS)?;
        let mut fields = Fields::new(payload, "row");
        let columns = usize::from(fields.u16()?);
        // A NULL is four bytes on the wire and a whole cell here.
        self.kept_bytes += payload.len() + columns * size_of::<Cell>() + size_of::<Vec<Cell>>();
        check_length(self.kept_bytes, MAX_BYTES)?;
        let row = (0..columns)
            .map(|_| cell(&mut fields))
            .collect::<Result<_, _>>()?;
        self.rows.push(row);
        Ok(())
    }
}

fn cell(fields: &mut Fields<'_>) -> Result<Cell, ProtocolError> {
    Ok(match fields.u32()? {
        NULL => None,
        length => {
            let bytes = fields.bytes(length as usize)?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    })
}
