//! What an engine provides for loading tables.

use std::cell::Cell;

use client::{Connection, Error, Protocol};
use plan::Failure;
use workload::rows::{Checksum, Row, TableRows};
use workload::schema::{Dialect, table_name};

use super::parts::Part;

/// Bytes that are sent to a server at once: sysbench's size of a bulk insert.
const CHUNK_BYTES: usize = 512 * 1024;
/// Room for one more row in a chunk.
const ROW_BYTES: usize = 512;

#[derive(Debug)]
pub(crate) enum Lock {
    Taken,
    /// This session holds the lock.
    HeldBy(String),
    /// The server has no such locks; its message.
    Unsupported(String),
}

/// Identifies a session to another connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: u32,
    /// Distinguishes it from other sessions with this ID; empty if the server does not.
    pub(crate) origin: String,
}

/// A protocol over which tables can be loaded.
pub(crate) trait Loads: Protocol + 'static {
    const DIALECT: &'static Dialect;
    /// Lists table and column names of the tables `sbtest…` and `dyno_tables` that the connection
    /// sees, in order.
    const LIST_COLUMNS: &'static str;
    /// The statement that terminates a session, with `#` in place of its ID.
    const TERMINATION: &'static str;

    /// Tries to take the advisory lock of the connection's database, without waiting.
    async fn try_lock(connection: &mut Connection<Self>) -> Result<Lock, Error>;

    /// Prepares the session for long operations.
    async fn begin(connection: &mut Connection<Self>) -> Result<(), Error>;

    async fn session(connection: &mut Connection<Self>) -> Session;

    /// Terminates abandoned sessions, whose clients the server may not miss for hours.
    async fn terminate(
        connection: &mut Connection<Self>,
        sessions: &[Session],
    ) -> Result<(), Error>;

    /// Loads rows of a table, and adds to `loaded` as it sends them. `refuses_load_data`: whether
    /// the server has refused a statement that all connections of the load would try.
    async fn load_part(
        connection: &mut Connection<Self>,
        refuses_load_data: &Cell<bool>,
        part: &Part,
        rows: &TableRows,
        loaded: &Cell<u64>,
    ) -> Result<Checksum, Failure>;

    /// Performs the maintenance of a loaded and indexed table that the server would otherwise do
    /// during the measurement.
    async fn settle(_connection: &mut Connection<Self>, _table: &str) -> Result<(), Error> {
        Ok(())
    }
}

/// Appends one chunk of rows in the format of `write`; nothing if no rows are left.
pub(crate) fn fill(
    out: &mut Vec<u8>,
    rows: &TableRows,
    keys: &mut impl Iterator<Item = u64>,
    checksum: &mut Checksum,
    write: impl Fn(&Row, &mut Vec<u8>),
) {
    let end = out.len() + CHUNK_BYTES - ROW_BYTES;
    out.reserve(CHUNK_BYTES);
    while out.len() < end
        && let Some(key) = keys.next()
    {
        let row = rows.row(key);
        write(&row, out);
        checksum.add(&row);
    }
}

/// Sends the rows of a part by a statement that loads tab-separated text. The result is an error of
/// the statement, or of what the server stored.
pub(crate) async fn send<P: Protocol>(
    connection: &mut Connection<P>,
    sql: &str,
    part: &Part,
    rows: &TableRows,
    loaded: &Cell<u64>,
) -> Result<Result<Checksum, Failure>, Error> {
    let mut checksum = Checksum::default();
    let mut keys = part.keys.clone();
    let done = connection
        .load(sql, |out| {
            let sent = checksum.count;
            fill(out, rows, &mut keys, &mut checksum, Row::write_tsv);
            loaded.set(loaded.get() + checksum.count - sent);
        })
        .await?;
    Ok(match done.affected == checksum.count {
        true => Ok(checksum),
        false => Err(damaged(part, done.affected, checksum.count)),
    })
}

/// The failure of a server that stored other rows than dyno sent.
fn damaged(part: &Part, stored: u64, sent: u64) -> Failure {
    let name = table_name(part.table);
    Failure::server(format!(
        "{name}: the server stored {stored} of {sent} rows; is there another index or trigger?"
    ))
}
