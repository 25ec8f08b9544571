//! Whole results, for the few queries that dyno itself runs (versions, counts, states); not
//! for the load.

use crate::error::check_length;
use crate::{ProtocolError, ServerError};

/// One value as text; `None` for NULL.
pub type Cell = Option<String>;

/// Most rows that are kept of one result.
const MAX_ROWS: usize = 1 << 20;
/// Most memory that the rows of one result may take.
const MAX_BYTES: usize = 256 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextReply {
    /// Its rows; none for a statement without a result.
    Rows(Vec<Vec<Cell>>),
    Refused(Box<ServerError>),
}

/// The rows gathered so far; their number and memory are bounded.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: Vec<Vec<Cell>>,
    /// About what the rows take.
    kept_bytes: usize,
}

impl Rows {
    /// Adds a row of this many payload bytes and columns; `cell` reads the next one.
    pub(crate) fn push<'a>(
        &mut self,
        payload_bytes: usize,
        columns: usize,
        mut cell: impl FnMut() -> Result<Option<&'a [u8]>, ProtocolError>,
    ) -> Result<(), ProtocolError> {
        check_length(self.rows.len() + 1, MAX_ROWS)?;
        // A NULL is a few bytes on the wire and a whole cell here.
        self.kept_bytes += payload_bytes + columns * size_of::<Cell>() + size_of::<Vec<Cell>>();
        check_length(self.kept_bytes, MAX_BYTES)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let row = (0..columns).map(|_| Ok(cell()?.map(text)));
        self.rows.push(row.collect::<Result<_, _>>()?);
        Ok(())
    }

    pub(crate) fn take(&mut self) -> Vec<Vec<Cell>> {
        std::mem::take(&mut self.rows)
    }
}
