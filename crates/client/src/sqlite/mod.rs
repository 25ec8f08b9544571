//! SQLite in process. Its calls block, so each virtual user has a thread.

mod session;
mod target;

use workload::schema::Dialect;

pub use session::{SqliteConnector, SqliteSession, cell, error_remedy, session_error};
pub use target::SqliteTarget;

/// An integer primary key is the rowid, which SQLite generates.
pub static DIALECT: Dialect = Dialect {
    // A transaction that reads first fails if another one takes the only write lock before its
    // first write, so a transaction that writes takes the lock when it begins.
    begin_to_write: "BEGIN IMMEDIATE",
    generated_row_without_key: "(id, k, c, pad) VALUES \
        ((SELECT COALESCE(MAX(id),0)+1 FROM {table}), ?, ?, ?)",
    ..Dialect::STANDARD
};
