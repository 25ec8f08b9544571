//! SQLite's dialect of SQL.

use workload::schema::Dialect;

/// An integer primary key is the rowid, which SQLite generates.
pub static DIALECT: Dialect = Dialect {
    // A transaction that reads first fails if another one takes the only write lock before its
    // first write, so a transaction that writes takes the lock when it begins.
    begin_to_write: "BEGIN IMMEDIATE",
    generated_row_without_key: "(id, k, c, pad) VALUES \
        ((SELECT COALESCE(MAX(id),0)+1 FROM {table}), ?, ?, ?)",
    ..Dialect::STANDARD
};
