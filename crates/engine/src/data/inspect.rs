//! Determines which tables a database has, and reads dyno's marks on them.

use std::collections::HashMap;

use client::Connection;
use workload::schema::{TableSpec, table_name};

use super::loads::Loads;
use super::marker::{MARKER_TABLE, Mark};
use super::state::Found;
use crate::failure::Failure;
use crate::remote::first_cell;

/// Determines what exists under the name of each table.
pub(super) async fn inspect<P: Loads>(
    connection: &mut Connection<P>,
    tables: u32,
    spec: &TableSpec,
) -> Result<Vec<Found>, Failure> {
    let mut columns: HashMap<String, Vec<String>> = HashMap::new();
    for row in connection.rows(P::LIST_COLUMNS).await? {
        if let [Some(table), Some(column)] = row.as_slice() {
            columns
                .entry(table.clone())
                .or_default()
                .push(column.clone());
        }
    }
    let mut marks = HashMap::new();
    if columns.contains_key(MARKER_TABLE) {
        let sql = format!("SELECT name, state, spec FROM {MARKER_TABLE}");
        for row in connection.rows(&sql).await? {
            if let [Some(name), Some(state), Some(text)] = row.as_slice() {
                marks.insert(name.clone(), Mark::parse(state, text, spec));
            }
        }
    }
    let mut found = Vec::new();
    for table in 1..=tables {
        let name = table_name(table);
        let Some(columns) = columns.remove(&name) else {
            found.push(Found::Nothing);
            continue;
        };
        let highest_id = if columns.iter().any(|column| column == "id") {
            let sql = format!("SELECT MAX(id) FROM {name}");
            first_cell(connection.rows(&sql).await?).and_then(|text| text.parse().ok())
        } else {
            None
        };
        found.push(Found::Table {
            columns,
            highest_id,
            mark: marks.remove(&name),
        });
    }
    Ok(found)
}
