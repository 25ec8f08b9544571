//! A virtual user's connection.

use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ErrorCode, params_from_iter};
use workload::catalog::{Catalog, Label};
use workload::session::{Connect, FailureKind, Param, Reply, Session, SessionError};

use super::target::SqliteTarget;
use crate::statement_text::shortened;

#[derive(Debug)]
pub struct SqliteConnector {
    pub target: Arc<SqliteTarget>,
}

#[derive(Debug)]
pub struct SqliteSession {
    connection: Connection,
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
        run(&self.connection, sql, params).map_err(|error| session_error(&error, Some(sql)))
    }

    async fn query(&mut self, _label: Label, sql: &str) -> Result<Reply, SessionError> {
        let run = self.connection.execute(sql, []);
        run.map(|affected| Reply {
            rows: 0,
            affected: affected as u64,
        })
        .map_err(|error| session_error(&error, Some(&shortened(sql))))
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

fn run(connection: &Connection, sql: &str, params: &[Param<'_>]) -> rusqlite::Result<Reply> {
    let mut statement = connection.prepare_cached(sql)?;
    let params = params_from_iter(params.iter().map(|param| match param {
        Param::Int(number) => ToSqlOutput::from(*number),
        Param::Text(text) => ToSqlOutput::from(*text),
    }));
    if statement.column_count() == 0 {
        let affected = statement.execute(params)? as u64;
        return Ok(Reply { rows: 0, affected });
    }
    let mut found = statement.query(params)?;
    let mut rows = 0;
    while found.next()?.is_some() {
        rows += 1;
    }
    Ok(Reply { rows, affected: 0 })
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
