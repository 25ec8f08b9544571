//! The statements that create and drop the tables.

pub use crate::dialect::Dialect;
use crate::options::Options;

/// The name of a table, counted from 1: `sbtest1`.
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

/// Creates an OLTP table without the indexes that [`finish_table`] adds.
pub fn create_table(dialect: Dialect, options: &Options, table: u32) -> String {
    let words = dialect.words();
    let name = table_name(table);
    let id = if options.auto_inc {
        words.numbered_id
    } else {
        "INTEGER NOT NULL"
    };
    let key = if options.secondary {
        words.secondary_key
    } else {
        Some("PRIMARY KEY (id)")
    };
    let key = key.map(|key| format!(",\n  {key}")).unwrap_or_default();
    let table_options = words
        .table_options
        .replace("{engine}", &options.storage_engine);
    format!(
        "CREATE TABLE {name} (\n  \
         id {id},\n  \
         k INTEGER DEFAULT '0' NOT NULL,\n  \
         c CHAR(120) DEFAULT '' NOT NULL,\n  \
         pad CHAR(60) DEFAULT '' NOT NULL{key}\n\
         ){table_options}"
    )
}

/// Finishes an OLTP table whose rows have been loaded: indexes, which are faster to
/// build at once than row by row, and the next id.
pub fn finish_table(dialect: Dialect, options: &Options, table: u32) -> Vec<String> {
    let words = dialect.words();
    let name = table_name(table);
    let mut statements = Vec::new();
    if options.secondary && words.secondary_key.is_none() {
        statements.push(format!("CREATE INDEX xid_{table} ON {name}(id)"));
    }
    if options.create_secondary {
        statements.push(format!("CREATE INDEX k_{table} ON {name}(k)"));
    }
    if let Some(sql) = words.set_next_id.filter(|_| options.auto_inc) {
        let rows = options.rows.to_string();
        statements.push(sql.replace("{table}", &name).replace("{rows}", &rows));
    }
    statements
}

/// Creates the table that a user of `bulk_insert` fills. All dialects have the same.
pub fn create_bulk_table(table: u32) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {} (\n  \
         id INTEGER NOT NULL,\n  \
         k INTEGER DEFAULT '0' NOT NULL,\n  \
         PRIMARY KEY (id)\n)",
        table_name(table)
    )
}

/// Drops a table, if it exists.
pub fn drop_table(table: u32) -> String {
    format!("DROP TABLE IF EXISTS {}", table_name(table))
}
