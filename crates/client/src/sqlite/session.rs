//! A virtual user's connection.

use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::types::{Null, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Params, Row, Statement, params_from_iter};
use wire::rows::Kept;
use workload::catalog::{Catalog, Label};
use workload::session::{Connect, FailureKind, Param, Reply, Rows, Session, SessionError};

use super::target::SqliteTarget;
use crate::statement_text::shortened;

#[derive(Debug)]
pub struct SqliteConnector {
    pub target: Arc<SqliteTarget>,
}

#[derive(Debug)]
pub struct SqliteSession {
    connection: Connection,
    /// The connection's own once a script has prepared a statement, which is added.
    catalog: Arc<Catalog>,
}

impl Connect for SqliteConnector {
    type Session = SqliteSession;

    /// Closing the load's last connection does not checkpoint the write-ahead log: that may be a large
    /// part of the load's work, and is timed separately.
    async fn connect(&self, catalog: &Arc<Catalog>) -> Result<SqliteSession, SessionError> {
        let open = || {
            let connection = self.target.open()?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| session_error(&error, None))?;
        connection.set_prepared_statement_cache_capacity(catalog.statements.len());
        for statement in &catalog.statements {
            connection
                .prepare_cached(&statement.sql)
                .map_err(|error| session_error(&error, Some(&statement.sql)))?;
        }
        Ok(SqliteSession {
            connection,
            catalog: Arc::clone(catalog),
        })
    }
}

impl Session for SqliteSession {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let sql = &self.catalog.statements[statement as usize].sql;
        execute(&self.connection, sql, params).map_err(|error| session_error(&error, Some(sql)))
    }

    async fn query(&mut self, _label: Label, sql: &str) -> Result<Reply, SessionError> {
        let prepared = self.connection.prepare(sql);
        prepared
            .and_then(|mut statement| run(&self.connection, &mut statement, (), |_| Ok(())))
            .map_err(|error| session_error(&error, Some(&shortened(sql))))
    }

    async fn fetch(&mut self, sql: &str, rows: &mut Rows) -> Result<Reply, SessionError> {
        fetch(&self.connection, sql, rows)
            .map_err(|error| session_error(&error, Some(&shortened(sql))))
    }

    async fn prepare(&mut self, sql: &Arc<str>) -> Result<u32, SessionError> {
        // Statements are freed with the connection, so that each text is kept once.
        let mut statements = self.catalog.statements.iter();
        if let Some(known) = statements.position(|statement| *statement.sql == **sql) {
            return Ok(known as u32);
        }
        let number = self.catalog.statements.len();
        self.connection
            .set_prepared_statement_cache_capacity(number + 1);
        let prepared = self.connection.prepare_cached(sql);
        prepared.map_err(|error| session_error(&error, Some(&shortened(sql))))?;
        Arc::make_mut(&mut self.catalog).add(Label::default(), sql.to_string());
        Ok(number as u32)
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.connection
            .execute_batch("ROLLBACK")
            .map_err(|error| session_error(&error, Some("ROLLBACK")))
    }
}

fn execute(connection: &Connection, sql: &str, params: &[Param<'_>]) -> rusqlite::Result<Reply> {
    let mut statement = connection.prepare_cached(sql)?;
    let params = params_from_iter(params.iter().map(|param| match param {
        Param::Int(number) => ToSqlOutput::from(*number),
        Param::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text)),
        Param::Double(number) => ToSqlOutput::from(*number),
        Param::Null => ToSqlOutput::from(Null),
    }));
    run(connection, &mut statement, params, |_| Ok(()))
}

/// Runs a statement and keeps its result in `rows`.
fn fetch(connection: &Connection, sql: &str, rows: &mut Rows) -> rusqlite::Result<Reply> {
    let mut statement = connection.prepare(sql)?;
    rows.columns = statement.column_names().map(str::to_owned).collect();
    rows.rows.clear();
    let (columns, mut kept) = (rows.columns.len(), Kept::default());
    run(connection, &mut statement, (), |row| {
        let cells = (0..columns).map(|at| cell(row, at));
        let cells = cells.collect::<rusqlite::Result<Vec<_>>>()?;
        let bytes = cells.iter().flatten().map(String::len).sum();
        let added = kept.add(bytes, columns);
        added.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        rows.rows.push(cells);
        Ok(())
    })
}

/// Runs a statement and passes its rows to `take`.
fn run(
    connection: &Connection,
    statement: &mut Statement<'_>,
    params: impl Params,
    mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Reply> {
    let before = connection.total_changes();
    let has_result = statement.column_count() > 0;
    let mut found = statement.query(params)?;
    let mut rows = 0;
    while let Some(row) = found.next()? {
        take(row)?;
        rows += 1;
    }
    Ok(Reply {
        has_result,
        rows,
        // `changes` would still count those of an earlier statement.
        affected: connection.total_changes() - before,
    })
}

/// A value as text; `None` for NULL.
pub fn cell(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    })
}

/// SQLite's error for a workload, raised by `statement`.
pub fn session_error(error: &rusqlite::Error, statement: Option<&str>) -> SessionError {
    let code = error.sqlite_error();
    let kind = match code.map(|error| error.code) {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FailureKind::Restart,
        _ => FailureKind::Refused,
    };
    SessionError {
        kind,
        // The low byte is the primary code of SQLite's documentation.
        sqlstate: None,
        number: code.map(|error| (error.extended_code & 0xff).unsigned_abs()),
        message: error.to_string(),
        statement: statement.map(str::to_owned),
    }
}

/// What the user can do about SQLite's error `code`.
pub fn error_remedy(code: u32) -> Option<&'static str> {
    Some(match code {
        5 | 6 => "another process has locked the database: stop it, or use another file",
        8 => "the file or its directory is read-only for this user",
        10 | 13 => "the disk is full or failing: free space, or use another file",
        14 => "check that the directory exists and is writable",
        11 | 26 => "the file is not an SQLite database or is corrupted: use another one",
        1 => "the tables' schema differs from sysbench's: drop them, or use another file",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::Reactor;

    async fn prepare_and_read(connector: &SqliteConnector) {
        let mut session = connector.connect(&Arc::default()).await.unwrap();
        let create = "CREATE TABLE d (id INT, x DOUBLE, c TEXT)";
        let created = session.query(Label::default(), create).await;
        assert_eq!(created, Ok(Reply::default()));
        let insert = "INSERT INTO d VALUES (?, ?, ?)";
        let insert = session.prepare(&insert.into()).await.unwrap();
        for values in [
            [Param::Int(1), Param::Double(1.5), Param::Text(b"it's ?")],
            [Param::Int(2), Param::Null, Param::Null],
        ] {
            let reply = session.execute(insert, &values).await.unwrap();
            assert_eq!((reply.has_result, reply.affected), (false, 1));
        }
        let begun = session.query(Label::default(), "BEGIN").await;
        assert_eq!(begun, Ok(Reply::default()), "it changes nothing");
        let mut rows = Rows::default();
        let sql = "SELECT id, x AS y, c FROM d ORDER BY id";
        let reply = session.fetch(sql, &mut rows).await.unwrap();
        let expected = Reply {
            has_result: true,
            rows: 2,
            affected: 0,
        };
        assert_eq!(reply, expected);
        assert_eq!(session.query(Label::default(), sql).await, Ok(expected));
        assert_eq!(rows.columns, ["id", "y", "c"]);
        let first = [Some("1"), Some("1.5"), Some("it's ?")];
        let wanted = [first, [Some("2"), None, None]];
        assert_eq!(
            rows.rows,
            wanted.map(|row| row.map(|cell| cell.map(str::to_owned)))
        );
        session.rollback().await.unwrap();
    }

    #[test]
    fn a_script_prepares_statements_and_reads_results() {
        let target = Arc::new(SqliteTarget::parse("sqlite:", None).unwrap());
        let connector = SqliteConnector { target };
        let reactor = Reactor::new().unwrap();
        reactor.block_on(prepare_and_read(&connector)).unwrap();
    }
}
