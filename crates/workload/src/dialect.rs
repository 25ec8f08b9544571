//! Dialects of SQL: what the workloads' statements and tables differ in.

use crate::options::Options;

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// MySQL and MariaDB.
    Mysql,
    /// SQLite.
    Sqlite,
}

impl Dialect {
    /// Starts a transaction. SQLite has one writer: a transaction that reads first and
    /// writes later fails if another took the lock in between, so it takes it at once.
    pub(crate) fn begin(self, writes: bool) -> &'static str {
        match self {
            Dialect::Sqlite if writes => "BEGIN IMMEDIATE",
            Dialect::Mysql | Dialect::Sqlite => "BEGIN",
        }
    }

    /// Columns and values of a new row whose id the server gives. SQLite numbers only
    /// its rowid, which the column `id` is only as the primary key.
    pub(crate) fn numbered_row(self, options: &Options) -> &'static str {
        match self {
            Dialect::Mysql => "(id, k, c, pad) VALUES (0, ?, ?, ?)",
            Dialect::Sqlite if options.secondary => {
                "(id, k, c, pad) VALUES ((SELECT COALESCE(MAX(id),0)+1 FROM {table}), ?, ?, ?)"
            }
            Dialect::Sqlite => "(k, c, pad) VALUES (?, ?, ?)",
        }
    }

    /// Puts the dialect's placeholders in the place of `?`.
    pub(crate) fn with_placeholders(self, sql: &str) -> String {
        sql.to_owned()
    }
}
