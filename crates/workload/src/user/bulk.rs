//! The growing INSERT of `bulk_insert`.

use std::fmt::Write;

use crate::kind::Kind;
use crate::session::{FailureKind, Session, SessionError};
use crate::sql;

/// The text is sent before it would exceed this: sysbench's packet.
pub(crate) const PACKET_BYTES: usize = 512 * 1024;
/// Most bytes of a row, with the comma before it.
const ROW_BYTES: usize = 4 + 2 * 20;

/// Rows that wait to be sent to the user's own table.
#[derive(Debug)]
pub(super) struct Bulk {
    head: String,
    text: String,
    rows: u64,
    /// Rows in the text.
    unsent: usize,
}

impl Bulk {
    /// Starts to fill the table, counted from 1.
    pub(super) fn new(table: u32) -> Bulk {
        Bulk {
            head: sql::bulk_head(table),
            text: String::new(),
            rows: 0,
            unsent: 0,
        }
    }

    /// Adds the next row; sends those before it when there is no room.
    pub(super) async fn add<S: Session>(&mut self, session: &mut S) -> Result<(), SessionError> {
        if self.text.len() + ROW_BYTES > PACKET_BYTES {
            self.flush(session).await?;
        }
        if self.text.is_empty() {
            self.text.push_str(&self.head);
        } else {
            self.text.push(',');
        }
        self.rows += 1;
        self.unsent += 1;
        // Writing to a String cannot fail.
        let _ = write!(self.text, "({0},{0})", self.rows);
        Ok(())
    }

    /// Rows that wait to be sent.
    pub(super) fn unsent(&self) -> usize {
        self.unsent
    }

    /// Sends the rows that wait. They are kept to be sent again only where the
    /// server surely did not take them: twice would be a duplicate key.
    pub(super) async fn flush<S: Session>(&mut self, session: &mut S) -> Result<(), SessionError> {
        if self.text.is_empty() {
            return Ok(());
        }
        match session.query(Kind::BulkInsert, &self.text).await {
            Err(error) if error.kind == FailureKind::Restart => Err(error),
            result => {
                self.text.clear();
                self.unsent = 0;
                result.map(drop)
            }
        }
    }
}
