//! Loads in process. SQLite has a single writer, so one connection loads everything.

use std::sync::atomic::Ordering;

use client::sqlite::{DIALECT, SqliteTarget};
use plan::Failure;
use rusqlite::{Connection, params};
use workload::rows::{Checksum, TableRows};
use workload::schema::{TableSpec, drop_table, table_name};

use crate::data::canceled;
use crate::data::parts::PART_ROWS;
use crate::data::state::{self, CREATE_MARKER, READ_CHECKSUMS, State, Todo, checksum_in, mark};
use crate::data::{Listener, Prepared, Progress, Wanted};

/// Names are not case-sensitive.
const LIST_COLUMNS: &str = "SELECT LOWER(t.name), c.name FROM sqlite_schema AS t \
     JOIN pragma_table_info(t.name) AS c WHERE t.type IN ('table', 'view') \
     AND (t.name LIKE 'sbtest%' OR LOWER(t.name) = 'dyno_tables') ORDER BY t.name, c.cid";

pub(super) fn prepare_sqlite(
    target: &SqliteTarget,
    wanted: &Wanted<'_>,
    listener: Listener<'_>,
) -> Result<Prepared, Failure> {
    let connection = target.open().map_err(failed("opening the database"))?;
    let spec = wanted.workload.table_spec(wanted.options, wanted.seed);
    let ask = &mut |sql: &str| super::rows(&connection, sql).map_err(failed(sql));
    let Todo {
        missing, prepared, ..
    } = state::plan(wanted, &spec, &DIALECT, LIST_COLUMNS, ask, listener.tell)?;
    if missing.is_empty() {
        return Ok(prepared);
    }
    connection
        .execute_batch(CREATE_MARKER)
        .map_err(failed(CREATE_MARKER))?;
    for (place, table) in missing.iter().enumerate() {
        let before = spec.rows * place as u64;
        let mut tell = |done: u64| {
            (listener.tell)(Progress::Loading {
                rows: before + done,
                of: prepared.rows,
            });
            listener.interrupted.load(Ordering::Relaxed)
        };
        build(&connection, *table, &spec, &mut tell)?;
    }
    Ok(prepared)
}

pub(super) fn checksum(target: &SqliteTarget) -> Result<Checksum, Failure> {
    let connection = target.open().map_err(failed("opening the database"))?;
    let marks = super::rows(&connection, READ_CHECKSUMS);
    marks.map(checksum_in).map_err(failed(READ_CHECKSUMS))
}

fn failed(statement: &str) -> impl FnOnce(rusqlite::Error) -> Failure {
    move |error| super::failed(&error, Some(statement))
}

/// Builds one table; `tell` is called with the number of rows so far, and returns whether to stop.
fn build(
    connection: &Connection,
    table: u32,
    spec: &TableSpec,
    tell: &mut dyn FnMut(u64) -> bool,
) -> Result<(), Failure> {
    let run = |sql: &str| connection.execute_batch(sql).map_err(failed(sql));
    let none = Checksum::default();
    run(&mark(&DIALECT, spec, table, State::Loading, none))?;
    run(&drop_table(table))?;
    run(&spec.create(&DIALECT, table))?;
    let rows = spec.table_rows(table)?;
    let mut checksum = Checksum::default();
    let mut next = 1;
    while next <= spec.rows {
        let last = spec.rows.min(next + PART_ROWS - 1);
        insert(connection, table, &rows, next..=last, &mut checksum)?;
        next = last + 1;
        if tell(last) {
            return Err(canceled());
        }
    }
    for sql in spec.finish(&DIALECT, table) {
        run(&sql)?;
    }
    run(&mark(&DIALECT, spec, table, State::Ready, checksum))
}

fn insert(
    connection: &Connection,
    table: u32,
    rows: &TableRows,
    keys: std::ops::RangeInclusive<u64>,
    checksum: &mut Checksum,
) -> Result<(), Failure> {
    let sql = format!("INSERT INTO {} VALUES (?1, ?2, ?3, ?4)", table_name(table));
    let fill = || -> rusqlite::Result<()> {
        let transaction = connection.unchecked_transaction()?;
        let mut statement = transaction.prepare_cached(&sql)?;
        for key in keys {
            let row = rows.row(key);
            statement.execute(params![row.id as i64, row.k as i64, row.c(), row.pad()])?;
            checksum.add(&row);
        }
        drop(statement);
        transaction.commit()
    };
    fill().map_err(failed(&sql))
}
