//! dyno's mark on each table, a row of the table `dyno_tables` in the same database.

use workload::rows::Checksum;
use workload::schema::{Dialect, TableSpec, table_name};

pub(crate) const MARKER_TABLE: &str = "dyno_tables";

/// Creates the table of marks; valid for every engine.
pub(crate) const CREATE_MARKER: &str = "CREATE TABLE IF NOT EXISTS dyno_tables (\
     name VARCHAR(64) NOT NULL PRIMARY KEY, \
     state VARCHAR(16) NOT NULL, \
     spec VARCHAR(1000) NOT NULL, \
     row_count BIGINT NOT NULL, \
     checksum BIGINT NOT NULL)";

pub(crate) const READ_CHECKSUMS: &str = "SELECT row_count, checksum FROM dyno_tables";

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    pub(crate) spec: TableSpec,
    pub(crate) ready: bool,
}

/// Marks a table as being loaded, or as complete with its checksum.
pub(crate) fn mark(
    dialect: &Dialect,
    spec: &TableSpec,
    table: u32,
    checksum: Option<Checksum>,
) -> String {
    let state = if checksum.is_some() {
        "ready"
    } else {
        "loading"
    };
    let Checksum { count, xor } = checksum.unwrap_or_default();
    // JSON has single quotes only within strings.
    let spec = serde_json::to_string(spec)
        .unwrap_or_default()
        .replace('\'', "''");
    let name = table_name(table);
    let row = format!("{MARKER_TABLE} VALUES ('{name}', '{state}', '{spec}', {count}, {xor})");
    if !dialect.has_on_conflict {
        return format!("REPLACE INTO {row}");
    }
    format!(
        "INSERT INTO {row} ON CONFLICT (name) DO UPDATE SET state = excluded.state, \
         spec = excluded.spec, row_count = excluded.row_count, checksum = excluded.checksum"
    )
}

impl Mark {
    /// Parses the columns `state` and `spec`. An unreadable mark counts as an interrupted load.
    pub(crate) fn parse(state: &str, spec: &str, wanted: &TableSpec) -> Self {
        match serde_json::from_str(spec) {
            Ok(spec) => Self {
                spec,
                ready: state == "ready",
            },
            Err(_) => Self {
                spec: wanted.clone(),
                ready: false,
            },
        }
    }
}
