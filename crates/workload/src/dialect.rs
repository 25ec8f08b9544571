//! Dialects of SQL: how the workloads' statements and tables differ, as data.

use crate::options::Options;
use crate::quotes::numbered;

/// A dialect of SQL. In the texts, `{table}` is the table's name.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// Starts a transaction that writes.
    pub begin_to_write: &'static str,
    /// Type of an `id` that the server generates.
    pub generated_id: &'static str,
    /// Columns and values of a row whose id the server generates.
    pub generated_row: &'static str,
    /// The same for a table in which `id` is not the primary key.
    pub generated_row_without_key: &'static str,
    /// A secondary index on `id`, if the dialect declares indexes with their table.
    pub secondary_key: Option<&'static str>,
    /// Whether the primary key is added after the rows were loaded: faster, unless the table is
    /// stored in its primary key.
    pub adds_primary_key: bool,
    /// What follows the columns; `{engine}` is the storage engine.
    pub table_options: &'static str,
    /// The storage engine of tables for which the user names none.
    pub default_storage_engine: &'static str,
    /// Sets the next generated id after rows with ids were loaded, if the server does not
    /// do so itself; `{rows}` is the highest id.
    pub set_next_id: Option<&'static str>,
    /// Whether the server understands INSERT … ON CONFLICT; otherwise it understands REPLACE.
    pub has_on_conflict: bool,
    /// Whether placeholders are `$1`, `$2`, … instead of `?`.
    pub has_numbered_placeholders: bool,
}

impl Dialect {
    /// The base of the engines' dialects.
    pub const STANDARD: Self = Self {
        begin_to_write: "BEGIN",
        generated_id: "INTEGER NOT NULL",
        generated_row: "(k, c, pad) VALUES (?, ?, ?)",
        generated_row_without_key: "(k, c, pad) VALUES (?, ?, ?)",
        secondary_key: None,
        adds_primary_key: false,
        table_options: "",
        default_storage_engine: "",
        set_next_id: None,
        has_on_conflict: true,
        has_numbered_placeholders: false,
    };

    pub(crate) fn begin(&self, writes: bool) -> &'static str {
        if writes { self.begin_to_write } else { "BEGIN" }
    }

    /// The storage engine of tables for which the user names `name` or, if that is empty, none.
    pub(crate) fn storage_engine<'a>(&self, name: &'a str) -> &'a str {
        match (self.table_options, name) {
            ("", _) => "",
            (_, "") => self.default_storage_engine,
            _ => name,
        }
    }

    /// Columns and values of a new row whose id the server generates.
    pub(crate) fn generated_row(&self, options: &Options) -> &'static str {
        if options.data.secondary {
            self.generated_row_without_key
        } else {
            self.generated_row
        }
    }

    /// Replaces each `?` by the dialect's placeholder.
    pub(crate) fn with_placeholders(&self, sql: &str) -> String {
        match self.has_numbered_placeholders {
            true => numbered(sql),
            false => sql.to_owned(),
        }
    }
}
