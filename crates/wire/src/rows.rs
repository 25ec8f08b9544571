//! Results as text, for scripts that read them and for the few queries that dyno itself runs
//! (versions, counts, states).

use crate::reply::Done;
use crate::{ProtocolError, ServerError};

/// One value as text; `None` for NULL.
pub type Cell = Option<String>;

/// Most rows that are kept of the results of one statement.
const MAX_ROWS: usize = 1 << 20;
/// Most memory that the results of one statement may take.
const MAX_BYTES: usize = 256 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextReply {
    Rows(TextRows),
    Refused(Box<ServerError>),
}

/// The last result set of a statement; empty if it has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextRows {
    /// The names of the last result set's columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
    /// What all result sets count.
    pub done: Done,
}

/// How much is kept of the results of one statement.
#[derive(Debug, Default)]
pub struct Kept {
    rows: usize,
    /// About what they take.
    bytes: usize,
}

impl Kept {
    /// Counts a row of this many bytes and cells; fails if that is too much.
    pub fn add(&mut self, payload_bytes: usize, cells: usize) -> Result<(), ProtocolError> {
        self.rows += 1;
        // A NULL is a few bytes on the wire and a whole cell here.
        self.bytes += payload_bytes + cells * size_of::<Cell>() + size_of::<Vec<Cell>>();
        match self.rows <= MAX_ROWS && self.bytes <= MAX_BYTES {
            true => Ok(()),
            false => Err(ProtocolError::LargeResult),
        }
    }
}

/// The results gathered so far.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    text: TextRows,
    kept: Kept,
}

impl Rows {
    /// A result set begins.
    pub(crate) fn begin(&mut self) {
        self.text.columns.clear();
        self.text.rows.clear();
        self.text.done.has_result = true;
    }

    /// Adds a column of the result set.
    pub(crate) fn column(&mut self, name: &[u8]) -> Result<(), ProtocolError> {
        self.kept.add(name.len(), 1)?;
        self.text.columns.push(text(name));
        Ok(())
    }

    /// Adds a row of this many payload bytes and columns; `cell` reads the next one.
    pub(crate) fn push<'a>(
        &mut self,
        payload_bytes: usize,
        columns: usize,
        mut cell: impl FnMut() -> Result<Option<&'a [u8]>, ProtocolError>,
    ) -> Result<(), ProtocolError> {
        self.kept.add(payload_bytes, columns)?;
        let row = (0..columns).map(|_| Ok(cell()?.map(text)));
        self.text.rows.push(row.collect::<Result<_, _>>()?);
        self.text.done.rows += 1;
        Ok(())
    }

    /// Counts rows that a statement changed.
    pub(crate) fn changed(&mut self, affected: u64) {
        let done = &mut self.text.done;
        done.affected = done.affected.saturating_add(affected);
    }

    pub(crate) fn take(&mut self) -> TextRows {
        std::mem::take(&mut self.text)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded() {
        let mut kept = Kept::default();
        for _ in 0..MAX_ROWS {
            kept.add(0, 1).unwrap();
        }
        let error = kept.add(0, 1).unwrap_err();
        let limits = format!("at most {MAX_ROWS} rows and {} MiB", MAX_BYTES >> 20);
        assert!(error.to_string().ends_with(&limits), "{error}");
        let long = Kept::default().add(MAX_BYTES, 1);
        assert_eq!(long, Err(ProtocolError::LargeResult));
    }
}
