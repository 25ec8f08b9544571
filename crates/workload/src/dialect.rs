//! Dialects of SQL: what the workloads' statements and tables differ in, as data.

use crate::options::Options;

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// MySQL and MariaDB.
    Mysql,
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// What a dialect has of its own. In the texts, `{table}` is the table's name.
#[derive(Debug)]
pub(crate) struct Words {
    /// Starts a transaction that writes. SQLite has one writer: a transaction that
    /// reads first fails if another takes the lock before its first write, so it takes
    /// the lock at once.
    begin_to_write: &'static str,
    /// The type of an `id` that the server numbers.
    pub(crate) numbered_id: &'static str,
    /// Columns and values of a row whose id the server gives.
    numbered_row: &'static str,
    /// The same where `id` is not the primary key.
    numbered_row_without_key: &'static str,
    /// A secondary index on `id`, if the dialect declares indexes with their table.
    pub(crate) secondary_key: Option<&'static str>,
    /// Whether the primary key is added once the rows are loaded. An InnoDB or SQLite table is
    /// its primary key; elsewhere the index is built faster from sorted rows.
    pub(crate) adds_primary_key: bool,
    /// What follows the columns; `{engine}` is the storage engine.
    pub(crate) table_options: &'static str,
    /// Tells the server which id is next after rows with ids were loaded, if it does not
    /// look itself; `{rows}` is the highest id.
    pub(crate) set_next_id: Option<&'static str>,
    /// Whether placeholders are `$1`, `$2`, … instead of `?`.
    has_numbered_placeholders: bool,
}

/// An id of 0 asks AUTO_INCREMENT for the next one, and sysbench writes it.
static MYSQL: Words = Words {
    begin_to_write: "BEGIN",
    numbered_id: "INTEGER NOT NULL AUTO_INCREMENT",
    numbered_row: "(id, k, c, pad) VALUES (0, ?, ?, ?)",
    numbered_row_without_key: "(id, k, c, pad) VALUES (0, ?, ?, ?)",
    secondary_key: Some("KEY xid (id)"),
    adds_primary_key: false,
    table_options: " /*! ENGINE = {engine} */",
    set_next_id: None,
    has_numbered_placeholders: false,
};

/// SQLite numbers its rowid, and an integer primary key is the rowid.
static SQLITE: Words = Words {
    begin_to_write: "BEGIN IMMEDIATE",
    numbered_id: "INTEGER NOT NULL",
    numbered_row: "(k, c, pad) VALUES (?, ?, ?)",
    numbered_row_without_key: "(id, k, c, pad) VALUES \
        ((SELECT COALESCE(MAX(id),0)+1 FROM {table}), ?, ?, ?)",
    secondary_key: None,
    adds_primary_key: false,
    table_options: "",
    set_next_id: None,
    has_numbered_placeholders: false,
};

static POSTGRES: Words = Words {
    begin_to_write: "BEGIN",
    numbered_id: "SERIAL",
    numbered_row: "(k, c, pad) VALUES (?, ?, ?)",
    numbered_row_without_key: "(k, c, pad) VALUES (?, ?, ?)",
    secondary_key: None,
    adds_primary_key: true,
    table_options: "",
    set_next_id: Some("SELECT setval(pg_get_serial_sequence('{table}', 'id'), {rows})"),
    has_numbered_placeholders: true,
};

impl Dialect {
    pub(crate) fn words(self) -> &'static Words {
        match self {
            Dialect::Mysql => &MYSQL,
            Dialect::Sqlite => &SQLITE,
            Dialect::Postgres => &POSTGRES,
        }
    }

    /// Starts a transaction.
    pub(crate) fn begin(self, writes: bool) -> &'static str {
        if writes {
            self.words().begin_to_write
        } else {
            "BEGIN"
        }
    }

    /// Columns and values of a new row whose id the server gives.
    pub(crate) fn numbered_row(self, options: &Options) -> &'static str {
        if options.secondary {
            self.words().numbered_row_without_key
        } else {
            self.words().numbered_row
        }
    }

    /// Puts the dialect's placeholders in the place of each `?`.
    pub(crate) fn with_placeholders(self, sql: &str) -> String {
        if !self.words().has_numbered_placeholders {
            return sql.to_owned();
        }
        let mut parts = sql.split('?');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (number, part) in (1..).zip(parts) {
            text.push_str(&format!("${number}{part}"));
        }
        text
    }
}
