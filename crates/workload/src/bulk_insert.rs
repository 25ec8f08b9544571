//! sysbench's `bulk_insert`: each user fills a table of its own with INSERTs of many
//! rows. A transaction is a row.

use std::fmt::Write;

use crate::catalog::{Catalog, Label, StatementClass};
use crate::schema::table_name;
use crate::session::{Connections, FailureKind, SessionError};
use crate::virtual_user::{Done, VirtualUser};

/// The text is sent before it would exceed this: sysbench's packet.
const PACKET_BYTES: usize = 512 * 1024;
/// The SQLSTATE of a duplicate key, which transactions on shared keys restart.
const UNIQUE_VIOLATION: [u8; 5] = *b"23505";
/// Most bytes of a row, with the comma before it.
const ROW_BYTES: usize = 4 + 2 * 20;

/// The catalog, and the label of the INSERTs. It contains no statements, because the length of an
/// INSERT varies. It is the same in all dialects.
pub(crate) fn catalog() -> (Catalog, Label) {
    let mut catalog = Catalog::default();
    let label = catalog.labels.intern("bulk_insert", StatementClass::Write);
    (catalog, label)
}

/// A virtual user with the rows that it has not sent yet.
#[derive(Debug)]
pub struct BulkUser {
    label: Label,
    head: String,
    text: String,
    rows: u64,
    /// Rows in the text.
    unsent: usize,
}

impl BulkUser {
    pub(crate) fn new(label: Label, index: u32) -> BulkUser {
        BulkUser {
            label,
            head: format!("INSERT INTO {} VALUES", table_name(index + 1)),
            text: String::new(),
            rows: 0,
            unsent: 0,
        }
    }
}

impl VirtualUser for BulkUser {
    /// Adds the next row; sends those before it if there is no room.
    async fn transaction<S: Connections>(&mut self, session: &mut S) -> Result<Done, SessionError> {
        if self.text.len() + ROW_BYTES > PACKET_BYTES {
            self.finish(session).await?;
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
        Ok(Done::default())
    }

    fn unsent(&self) -> usize {
        self.unsent
    }

    /// Sends the rows. They are kept only if the server surely did not insert them: a
    /// second time would be a duplicate key.
    async fn finish<S: Connections>(&mut self, session: &mut S) -> Result<(), SessionError> {
        if self.text.is_empty() {
            return Ok(());
        }
        let mut sent = session.query(self.label, &self.text).await.map(drop);
        if let Err(error) = &mut sent {
            // No other session inserts these keys, so a second attempt would fail, too.
            if error.sqlstate == Some(UNIQUE_VIOLATION) {
                error.kind = FailureKind::Refused;
            }
            if error.kind == FailureKind::Restart {
                return sent;
            }
        }
        self.text.clear();
        self.unsent = 0;
        sent
    }
}
