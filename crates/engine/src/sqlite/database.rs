//! A database of SQLite.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ::load::{LoadError, LoadOutcome};
use client::sqlite::{self, SqliteConnector, SqliteTarget};
use plan::Failure;
use workload::options::Options;
use workload::rows::Checksum;
use workload::schema::table_name;
use workload::session::{FailureKind, SessionError};

use super::{SQLITE, load};
use crate::data::{Listener, Prepared, Wanted};
use crate::database::{Database, Load, StatementSettings};
use crate::engine::Engine;
use crate::sql::Sql;

/// How often dyno checks whether the user interrupts a blocking call.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A database file that could be opened.
#[derive(Debug)]
pub(super) struct SqliteDatabase {
    target: Arc<SqliteTarget>,
}

impl SqliteDatabase {
    pub(super) fn new(target: SqliteTarget) -> Self {
        Self {
            target: Arc::new(target),
        }
    }
}

impl Database for SqliteDatabase {
    fn engine(&self) -> &'static dyn Engine {
        SQLITE
    }

    fn version(&self) -> &str {
        sqlite::version()
    }

    fn shown(&self) -> String {
        self.target.shown()
    }

    fn connect(&self, _: Duration) -> Result<Box<dyn Sql>, SessionError> {
        Err(SessionError {
            kind: FailureKind::Refused,
            sqlstate: None,
            number: None,
            message: "a database in this process has no connections beside its load's".to_owned(),
            statement: None,
        })
    }

    fn remedy(&self, error: &SessionError) -> Option<&'static str> {
        sqlite::error_remedy(error.number?)
    }

    fn prepare(&self, wanted: &Wanted<'_>, listener: Listener<'_>) -> Result<Prepared, Failure> {
        load::prepare_sqlite(&self.target, wanted, listener)
    }

    fn checksum(&self) -> Result<Checksum, Failure> {
        load::checksum(&self.target)
    }

    /// Calls into SQLite block, so another thread checks for interrupts.
    fn read_tables(&self, options: &Options, interrupted: &AtomicBool) -> Result<(), Failure> {
        let failed = |error| super::failed(&error, None);
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

    fn drive(&self, _: StatementSettings, load: Load<'_>) -> Result<LoadOutcome, LoadError> {
        load.run(SqliteConnector {
            target: Arc::clone(&self.target),
        })
    }

    fn file(&self) -> Option<&Path> {
        Some(self.target.path())
    }
}

/// The statements that read a table.
fn statements(options: &Options, table: u32) -> Vec<String> {
    let by_index = format!(" INDEXED BY k_{table}");
    crate::data::reading(options, &table_name(table), " NOT INDEXED", &by_index)
}
