//! Loads in process. SQLite has a single writer, so one connection loads everything.

use std::sync::atomic::Ordering;

use client::sqlite::{DIALECT, SqliteTarget};
use plan::Failure;
use rusqlite::{Connection, OptionalExtension, params};
use workload::rows::{Checksum, TableRows};
use workload::schema::{TableSpec, drop_table, table_name};

use crate::data::canceled;
use crate::data::marker::{CREATE_MARKER, MARKER_TABLE, Mark, READ_CHECKSUMS, mark};
use crate::data::parts::PART_ROWS;
use crate::data::state::{self, Found, Todo};
use crate::data::{Listener, Prepared, Progress, Wanted};

/// Loads the tables that a database lacks.
pub(super) fn prepare_sqlite(
    target: &SqliteTarget,
    wanted: &Wanted<'_>,
    listener: Listener<'_>,
) -> Result<Prepared, Failure> {
    let connection = target.open().map_err(failed("opening the database"))?;
    let spec = wanted.workload.table_spec(wanted.options, wanted.seed);
    let tables = wanted.workload.tables(wanted.options, wanted.users);
    let found: Vec<Found> = (1..=tables)
        .map(|table| inspect(&connection, table, &spec))
        .collect::<Result<_, _>>()
        .map_err(failed("reading the schema"))?;
    let Todo { missing, prepared } = state::plan(&found, wanted, &spec, &DIALECT, listener.tell)?;
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

/// Count and checksum of all rows, from the marks.
pub(super) fn checksum(target: &SqliteTarget) -> Result<Checksum, Failure> {
    let connection = target.open().map_err(failed("opening the database"))?;
    let read = || -> rusqlite::Result<Checksum> {
        let mut marks = connection.prepare(READ_CHECKSUMS)?;
        let marks =
            marks.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
        let mut all = Checksum::default();
        for mark in marks {
            let (count, xor) = mark?;
            all.merge(Checksum {
                count: count.unsigned_abs(),
                xor: u32::try_from(xor).unwrap_or_default(),
            });
        }
        Ok(all)
    };
    read().map_err(failed(READ_CHECKSUMS))
}

fn failed(statement: &str) -> impl FnOnce(rusqlite::Error) -> Failure {
    move |error| super::failed(&error, Some(statement))
}

fn inspect(connection: &Connection, table: u32, spec: &TableSpec) -> rusqlite::Result<Found> {
    let name = table_name(table);
    let mut listing = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let columns: Vec<String> = listing
        .query_map([&name], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if columns.is_empty() {
        return Ok(Found::Nothing);
    }
    let highest_id = if columns.iter().any(|column| column == "id") {
        connection.query_row(&format!("SELECT MAX(id) FROM {name}"), [], |row| {
            row.get::<_, Option<i64>>(0)
        })?
    } else {
        None
    };
    let has_marks = connection
        .query_row(
            "SELECT 1 FROM sqlite_master WHERE name = ?1",
            [MARKER_TABLE],
            |_| Ok(()),
        )
        .optional()?
        .is_some();
    let mark = if has_marks {
        let sql = format!("SELECT state, spec FROM {MARKER_TABLE} WHERE name = ?1");
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Mark::parse(
                &row.get::<_, String>(0)?,
                &row.get::<_, String>(1)?,
                spec,
            ))
        };
        connection.query_row(&sql, [&name], read).optional()?
    } else {
        None
    };
    Ok(Found::Table {
        columns,
        highest_id: highest_id.map(i64::unsigned_abs),
        mark,
    })
}

/// Builds one table; `tell` is called with the number of rows so far, and returns whether to stop.
fn build(
    connection: &Connection,
    table: u32,
    spec: &TableSpec,
    tell: &mut dyn FnMut(u64) -> bool,
) -> Result<(), Failure> {
    let run = |sql: &str| connection.execute_batch(sql).map_err(failed(sql));
    run(&mark(&DIALECT, spec, table, None))?;
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
    run(&mark(&DIALECT, spec, table, Some(checksum)))
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
