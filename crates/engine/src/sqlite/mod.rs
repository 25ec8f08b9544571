//! SQLite, in process.

mod load;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ::load::{LoadError, LoadOutcome};
use client::sqlite::{DIALECT, SqliteConnector, SqliteTarget, cell, error_remedy, session_error};
use plan::Failure;
use workload::options::Options;
use workload::rows::Checksum;
use workload::schema::table_name;
use workload::session::SessionError;

use crate::data::{Listener, Prepared, Wanted};
use crate::database::{Access, Database, Load};
use crate::engine::{About, Engine, Flush, InProcess};
use crate::remote::{Rows, Sql};

/// How often dyno checks whether the user interrupts a blocking call.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub const SQLITE: &dyn Engine = &Sqlite;

#[derive(Debug)]
struct Sqlite;

static ABOUT: About = About {
    name: "sqlite",
    title: "SQLite",
    schemes: &["sqlite"],
    url_syntax: "sqlite:[FILE]",
    variables: &[],
    dialect: &DIALECT,
    driver: "sqlite",
    settle: &[],
    flush: Flush {
        start: &[],
        // It returns 1, not an error, if another connection blocks it until the busy timeout.
        left: Some(("PRAGMA wal_checkpoint(TRUNCATE)", 0)),
        restore: &[],
    },
    open,
    reopen: None,
};

impl Engine for Sqlite {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn in_process(&self) -> Option<InProcess> {
        Some(InProcess {
            engine: SQLITE,
            version: rusqlite::version(),
            temporary_url: "sqlite:",
            absolute_url,
        })
    }
}

fn open(url: &str, _: &Access, directory: Option<&Path>) -> Result<Arc<dyn Database>, Failure> {
    let target = SqliteTarget::parse(url, directory).map_err(Failure::usage)?;
    match target.open() {
        Ok(_) => Ok(Arc::new(SqliteDatabase {
            target: Arc::new(target),
        })),
        Err(error) => {
            let path = target.path().display();
            Err(failed(&error, None).context(format!("cannot open {path}")))
        }
    }
}

fn failed(error: &rusqlite::Error, statement: Option<&str>) -> Failure {
    let error = session_error(error, statement);
    Failure::server(&error).perhaps(error.number.and_then(error_remedy))
}

fn absolute_url(url: &str) -> Option<String> {
    let rest = url.strip_prefix("sqlite:").unwrap_or(url);
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (path, settings) = match rest.split_once('?') {
        Some((path, settings)) => (path, format!("?{settings}")),
        None => (rest, String::new()),
    };
    if path.is_empty() {
        return (!settings.is_empty()).then(|| format!("sqlite://{settings}"));
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| Path::new(path).to_owned());
    Some(format!("sqlite://{}{settings}", whole.display()))
}

#[derive(Debug)]
struct SqliteDatabase {
    target: Arc<SqliteTarget>,
}

impl Database for SqliteDatabase {
    fn engine(&self) -> &'static dyn Engine {
        SQLITE
    }

    fn version(&self) -> &str {
        rusqlite::version()
    }

    fn shown(&self) -> String {
        self.target.shown()
    }

    fn connect(&self, _: Duration) -> Result<Box<dyn Sql>, SessionError> {
        let opened = self.target.open();
        let connection = opened.map_err(|error| session_error(&error, None))?;
        Ok(Box::new(connection))
    }

    fn remedy(&self, error: &SessionError) -> Option<&'static str> {
        error_remedy(error.number?)
    }

    fn prepare(&self, wanted: &Wanted<'_>, listener: Listener<'_>) -> Result<Prepared, Failure> {
        load::prepare_sqlite(&self.target, wanted, listener)
    }

    fn checksum(&self) -> Result<Checksum, Failure> {
        load::checksum(&self.target)
    }

    /// Calls into SQLite block, so another thread checks for interrupts.
    fn read_tables(&self, options: &Options, interrupted: &AtomicBool) -> Result<(), Failure> {
        let failed = |error| failed(&error, None);
        let connection = self.target.open().map_err(failed)?;
        let handle = connection.get_interrupt_handle();
        let (reading, done) = channel::<()>();
        std::thread::scope(|scope| {
            let look = move || {
                while done.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    if interrupted.load(Ordering::Relaxed) {
                        handle.interrupt();
                    }
                }
            };
            std::thread::Builder::new()
                .spawn_scoped(scope, look)
                .map_err(Failure::internal)?;
            let mut texts = (1..=options.data.tables).flat_map(|table| statements(options, table));
            let read = texts.try_for_each(|text| connection.query_row(&text, [], |_| Ok(())));
            drop(reading);
            read.map_err(failed)
        })
    }

    fn drive(&self, load: Load<'_>) -> Result<LoadOutcome, LoadError> {
        load.run(SqliteConnector {
            target: Arc::clone(&self.target),
        })
    }

    fn file(&self) -> Option<&Path> {
        Some(self.target.path())
    }
}

/// Checkpoints the log that the loads' connections left behind: closing the last connection does that.
impl Drop for SqliteDatabase {
    fn drop(&mut self) {
        if self.target.has_log() {
            drop(self.target.open());
        }
    }
}

/// A call cannot be canceled, so time limits are ignored.
impl Sql for rusqlite::Connection {
    fn rows(&mut self, sql: &str, _: Duration) -> Result<Rows, SessionError> {
        rows(self, sql).map_err(|error| session_error(&error, Some(sql)))
    }
}

/// The rows of a query as text.
fn rows(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Rows> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let texts = |row: &rusqlite::Row<'_>| (0..columns).map(|at| cell(row, at)).collect();
    statement.query_map([], texts)?.collect()
}

/// The statements that read a table.
fn statements(options: &Options, table: u32) -> Vec<String> {
    let by_index = format!(" INDEXED BY k_{table}");
    crate::data::reading(options, &table_name(table), " NOT INDEXED", &by_index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_made_absolute() {
        for (url, found) in [
            ("sqlite:", None),
            ("sqlite://", None),
            (
                "sqlite:?journal_mode=off",
                Some("sqlite://?journal_mode=off"),
            ),
            (
                "sqlite:/a/b?synchronous=full",
                Some("sqlite:///a/b?synchronous=full"),
            ),
            ("sqlite:///a/b", Some("sqlite:///a/b")),
        ] {
            assert_eq!(absolute_url(url).as_deref(), found, "{url}");
        }
        let here = std::env::current_dir().unwrap();
        let found = format!("sqlite://{}/a.db", here.display());
        assert_eq!(absolute_url("sqlite:a.db"), Some(found));
    }
}
