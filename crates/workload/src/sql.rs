//! The texts of the statements: sysbench's, so that results can be compared.

use crate::kind::Kind;
use crate::options::Options;
use crate::schema::{Dialect, table_name};

/// The text of `kind` for a table, counted from 1. `writes`: whether the
/// transaction around it changes rows.
pub(crate) fn text(
    kind: Kind,
    table: u32,
    options: &Options,
    dialect: Dialect,
    writes: bool,
) -> String {
    let t = table_name(table);
    match kind {
        Kind::Begin => begin(dialect, writes).to_owned(),
        Kind::Commit => "COMMIT".to_owned(),
        Kind::PointSelect => format!("SELECT c FROM {t} WHERE id=?"),
        Kind::SimpleRange => format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ?"),
        Kind::SumRange => format!("SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?"),
        Kind::OrderRange => format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"),
        Kind::DistinctRange => {
            format!("SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c")
        }
        Kind::IndexUpdate => format!("UPDATE {t} SET k=k+1 WHERE id=?"),
        Kind::NonIndexUpdate => format!("UPDATE {t} SET c=? WHERE id=?"),
        Kind::Delete => format!("DELETE FROM {t} WHERE id=?"),
        Kind::Insert => format!(
            "INSERT INTO {t} (id, k, c, pad) VALUES ({}, ?, ?, ?)",
            new_id(&t, options, dialect)
        ),
        Kind::RandomPoints => format!(
            "SELECT id, k, c, pad FROM {t} WHERE k IN ({})",
            repeat("?", ", ", options.random_points)
        ),
        Kind::RandomRanges => format!(
            "SELECT count(k) FROM {t} WHERE {}",
            repeat("k BETWEEN ? AND ?", " OR ", options.number_of_ranges)
        ),
        Kind::BulkInsert => bulk_head(table),
    }
}

/// The start of a bulk insert; the rows follow it.
pub(crate) fn bulk_head(table: u32) -> String {
    format!("INSERT INTO {} VALUES", table_name(table))
}

/// SQLite has one writer: a transaction that reads first and writes later fails
/// in the middle when another took the lock, so it takes it at the start.
fn begin(dialect: Dialect, writes: bool) -> &'static str {
    match dialect {
        Dialect::Sqlite if writes => "BEGIN IMMEDIATE",
        Dialect::Mysql | Dialect::Sqlite => "BEGIN",
    }
}

/// The id of a new row. An id of 0 asks for the next free one: MySQL's
/// AUTO_INCREMENT takes it so, SQLite wants NULL for its rowid, and has nothing
/// like it for a column that is not the rowid.
fn new_id(table: &str, options: &Options, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sqlite if options.auto_inc && options.secondary => {
            format!("COALESCE(NULLIF(?,0), (SELECT COALESCE(MAX(id),0)+1 FROM {table}))")
        }
        Dialect::Sqlite if options.auto_inc => "NULLIF(?,0)".to_owned(),
        Dialect::Mysql | Dialect::Sqlite => "?".to_owned(),
    }
}

fn repeat(item: &str, separator: &str, times: u32) -> String {
    vec![item; times as usize].join(separator)
}
