//! The ledger's tables in a database, with dyno's marks.

use std::time::Duration;

use plan::Failure;
use workload::ledger::{ACCOUNTS_TABLE, LISTS_TABLE, TRANSFERS_TABLE, create_tables, drop_tables};
use workload::session::{FailureKind, SessionError};

use super::state::{CREATE_MARKER, MARKER_TABLE};
use crate::database::Database;
use crate::remote::Sql;

/// How long a server may take to open a connection or execute a statement.
const LOGIN_LIMIT: Duration = Duration::from_secs(10);
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);
const TABLES: [&str; 3] = [ACCOUNTS_TABLE, TRANSFERS_TABLE, LISTS_TABLE];

/// Creates the ledger's tables; replaces those of an earlier run.
pub fn create(database: &dyn Database) -> Result<(), Failure> {
    let failed = |error| failed(database, &error);
    let mut sql = database.connect(LOGIN_LIMIT).map_err(failed)?;
    let sql = &mut *sql;
    run(sql, CREATE_MARKER).map_err(failed)?;
    for table in TABLES {
        if is_marked(sql, table).map_err(failed)? {
            continue;
        }
        match run(sql, &format!("SELECT 1 FROM {table} WHERE 1 = 0")) {
            Ok(()) => {
                let message = format!(
                    "the ledger needs the table {table} of {}, which exists and is not dyno's",
                    database.shown()
                );
                let remedy = "rename the table, or use another database";
                return Err(Failure::usage(message).remedy(remedy));
            }
            // A table that is locked, or on a server that does not answer, may exist.
            Err(error) if error.kind != FailureKind::Refused => return Err(failed(error)),
            Err(_) => {}
        }
        let mark = format!("INSERT INTO {MARKER_TABLE} VALUES ('{table}', 'ledger', '', 0, 0)");
        run(sql, &mark).map_err(failed)?;
    }
    let create = create_tables(database.engine().about().dialect);
    for statement in drop_tables().into_iter().chain(create) {
        run(sql, &statement).map_err(failed)?;
    }
    Ok(())
}

/// Drops those of the ledger's tables that have dyno's mark, and the marks.
pub fn remove(database: &dyn Database) -> Result<(), Failure> {
    let failed = |error| failed(database, &error);
    let mut sql = database.connect(LOGIN_LIMIT).map_err(failed)?;
    for (table, drop_it) in TABLES.into_iter().zip(drop_tables()) {
        if is_marked(&mut *sql, table).map_err(failed)? {
            let unmark = format!("DELETE FROM {MARKER_TABLE} WHERE name = '{table}'");
            run(&mut *sql, &drop_it).map_err(failed)?;
            run(&mut *sql, &unmark).map_err(failed)?;
        }
    }
    Ok(())
}

fn is_marked(sql: &mut dyn Sql, table: &str) -> Result<bool, SessionError> {
    let marked = format!("SELECT 1 FROM {MARKER_TABLE} WHERE name = '{table}'");
    let rows = sql.rows(&marked, STATEMENT_LIMIT)?;
    Ok(!rows.is_empty())
}

fn run(sql: &mut dyn Sql, statement: &str) -> Result<(), SessionError> {
    sql.rows(statement, STATEMENT_LIMIT).map(drop)
}

fn failed(database: &dyn Database, error: &SessionError) -> Failure {
    let message = format!("the tables of the ledger in {}: {error}", database.shown());
    Failure::server(message).perhaps(database.remedy(error))
}
