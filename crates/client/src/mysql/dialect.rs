//! MySQL's and MariaDB's dialect of SQL.

use workload::schema::Dialect;

/// An ID of 0 requests the next value of AUTO_INCREMENT, as in sysbench.
const GENERATED_ROW: &str = "(id, k, c, pad) VALUES (0, ?, ?, ?)";

pub static DIALECT: Dialect = Dialect {
    generated_id: "INTEGER NOT NULL AUTO_INCREMENT",
    generated_row: GENERATED_ROW,
    generated_row_without_key: GENERATED_ROW,
    secondary_key: Some("KEY xid (id)"),
    table_options: " /*! ENGINE = {engine} */",
    default_storage_engine: "innodb",
    has_on_conflict: false,
    ..Dialect::STANDARD
};
