//! The statements of sysbench's OLTP scripts, as data.

use crate::catalog::{self, StatementClass};
use crate::dialect::Dialect;
use crate::options::Options;
use crate::schema::table_name;

/// A statement for any table, in any dialect.
#[derive(Debug)]
pub(crate) struct Template {
    /// What results call it.
    pub(crate) label: &'static str,
    /// Its text in sysbench's words, with `?` for each parameter; [`text`] replaces
    /// what is in braces.
    sql: &'static str,
    pub(super) params: Params,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Params {
    None,
    Key,
    /// A key, and the end of the range that begins there.
    Range,
    /// A new value of column `c`, and a key.
    ValueAndKey,
    Row(RowId),
    /// As many values of `k` as the options say, from the user's own part.
    Points,
    /// As many ranges of `k`, from the same part.
    Ranges,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowId {
    /// The key that the statement before used.
    LastKey,
    /// One that no other user uses.
    Own,
    /// The server's choice; no parameter.
    Server,
}

pub(super) const BEGIN: Template = entry("begin", "{begin}", Params::None);
pub(super) const COMMIT: Template = entry("commit", "COMMIT", Params::None);
pub(super) const POINT_SELECT: Template = entry(
    "point_select",
    "SELECT c FROM {table} WHERE id=?",
    Params::Key,
);
pub(super) const SIMPLE_RANGE: Template = entry(
    "simple_range",
    "SELECT c FROM {table} WHERE id BETWEEN ? AND ?",
    Params::Range,
);
pub(super) const SUM_RANGE: Template = entry(
    "sum_range",
    "SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?",
    Params::Range,
);
pub(super) const ORDER_RANGE: Template = entry(
    "order_range",
    "SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c",
    Params::Range,
);
pub(super) const DISTINCT_RANGE: Template = entry(
    "distinct_range",
    "SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c",
    Params::Range,
);
pub(super) const INDEX_UPDATE: Template = entry(
    "index_update",
    "UPDATE {table} SET k=k+1 WHERE id=?",
    Params::Key,
);
pub(super) const NON_INDEX_UPDATE: Template = entry(
    "non_index_update",
    "UPDATE {table} SET c=? WHERE id=?",
    Params::ValueAndKey,
);
pub(super) const DELETE: Template = entry("delete", "DELETE FROM {table} WHERE id=?", Params::Key);
/// Inserts the row again that [`DELETE`] has deleted.
pub(super) const REINSERT: Template = insert(RowId::LastKey);
pub(super) const INSERT_WITH_ID: Template = insert(RowId::Own);
pub(super) const INSERT: Template = entry(
    "insert",
    "INSERT INTO {table} {generated_row}",
    Params::Row(RowId::Server),
);
pub(super) const RANDOM_POINTS: Template = entry(
    "random_points",
    "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({points})",
    Params::Points,
);
pub(super) const RANDOM_RANGES: Template = entry(
    "random_ranges",
    "SELECT count(k) FROM sbtest1 WHERE {ranges}",
    Params::Ranges,
);

const fn entry(label: &'static str, sql: &'static str, params: Params) -> Template {
    Template { label, sql, params }
}

const fn insert(id: RowId) -> Template {
    entry(
        "insert",
        "INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)",
        Params::Row(id),
    )
}

impl Template {
    pub(super) fn class(&self) -> StatementClass {
        catalog::class(self.sql)
    }

    /// Whether there is one for each table.
    pub(super) fn is_per_table(&self) -> bool {
        self.sql.contains("{table}")
    }

    /// Whether it looks up one row by its id.
    pub(super) fn is_lookup(&self) -> bool {
        matches!(self.params, Params::Key | Params::ValueAndKey)
    }

    /// Its text for a table, from 1. `writes`: whether the transaction around it
    /// changes rows.
    pub(super) fn text(
        &self,
        table: u32,
        options: &Options,
        dialect: &Dialect,
        writes: bool,
    ) -> String {
        let points = repeat("?", ", ", options.transaction.random_points);
        let ranges = repeat(
            "k BETWEEN ? AND ?",
            " OR ",
            options.transaction.number_of_ranges,
        );
        let sql = self
            .sql
            .replace("{begin}", dialect.begin(writes))
            .replace("{generated_row}", dialect.generated_row(options))
            .replace("{points}", &points)
            .replace("{ranges}", &ranges)
            .replace("{table}", &table_name(table));
        dialect.with_placeholders(&sql)
    }
}

fn repeat(item: &str, separator: &str, times: u32) -> String {
    vec![item; times as usize].join(separator)
}
