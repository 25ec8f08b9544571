//! A warm-up that runs no transaction: every table and index is read once.

use client::mysql::Target;
use client::sqlite::session_error;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::{Dialect, table_name};

use crate::database::{Database, connected};
use crate::failure::{Cause, Failure};

/// The statements that read every row of a table through its clustered index, and
/// every entry of its secondary one.
pub(crate) fn statements(dialect: Dialect, options: &Options, table: u32) -> Vec<String> {
    let name = table_name(table);
    let (by_rows, by_index) = match dialect {
        Dialect::Mysql if options.secondary => (String::new(), String::new()),
        Dialect::Mysql => (
            " FORCE INDEX (PRIMARY)".to_owned(),
            format!(" FORCE INDEX (k_{table})"),
        ),
        Dialect::Sqlite => (" NOT INDEXED".to_owned(), format!(" INDEXED BY k_{table}")),
    };
    let mut statements = vec![format!(
        "SELECT COUNT(*), SUM(LENGTH(pad)) FROM {name}{by_rows}"
    )];
    if options.create_secondary {
        statements.push(format!(
            "SELECT COUNT(*), MAX(k) FROM {name}{by_index} WHERE k >= 0"
        ));
    }
    statements
}

/// Reads all tables of a database once.
///
/// # Errors
/// When the server refuses.
pub(crate) fn preload(
    database: &Database,
    workload: WorkloadName,
    options: &Options,
) -> Result<(), Failure> {
    if workload == WorkloadName::BulkInsert {
        return Ok(());
    }
    let texts =
        (1..=options.tables).flat_map(|table| statements(database.dialect(), options, table));
    match database {
        Database::Mysql { target, .. } => on_server(target, texts),
        Database::Sqlite(target) => {
            let failed = |error| Failure::new(Cause::Server, session_error(&error, None));
            let connection = target.open().map_err(failed)?;
            for text in texts {
                connection
                    .query_row(&text, [], |_| Ok(()))
                    .map_err(failed)?;
            }
            Ok(())
        }
    }
}

fn on_server(target: &Target, texts: impl Iterator<Item = String>) -> Result<(), Failure> {
    connected(target, async |connection| {
        for text in texts {
            connection.rows(&text).await?;
        }
        Ok(())
    })
}
