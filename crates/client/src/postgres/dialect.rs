//! PostgreSQL's dialect of SQL.

use workload::schema::Dialect;

/// PostgreSQL's dialect of SQL.
pub static DIALECT: Dialect = Dialect {
    generated_id: "SERIAL",
    adds_primary_key: true,
    set_next_id: Some("SELECT setval(pg_get_serial_sequence('{table}', 'id'), {rows})"),
    has_numbered_placeholders: true,
    ..Dialect::STANDARD
};
