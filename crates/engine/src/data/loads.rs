//! What an engine provides for loading tables.

use std::cell::Cell;

use client::{Connection, Error};
use workload::rows::{Checksum, Row, TableRows};
use workload::schema::{Dialect, table_name};

use super::lock::Locks;
use super::parts::Part;
use crate::failure::Failure;

/// How much is sent to a server at once: sysbench's size of a bulk insert.
pub(crate) const CHUNK_BYTES: usize = 512 * 1024;
/// Room for one more row in a chunk.
const ROW_BYTES: usize = 512;

/// A protocol over which tables can be loaded.
pub(crate) trait Loads: Locks + 'static {
    /// The server's dialect of SQL.
    const DIALECT: &'static Dialect;
    /// Lists the table and the name of each column of the tables `sbtest…` and `dyno_tables`
    /// that the connection sees, in order.
    const LIST_COLUMNS: &'static str;
    /// What identifies a session to another connection.
    type Session: 'static;
    /// What the connections of a load learn about their server.
    type Abilities: Default + 'static;

    /// Prepares the session for work that takes long.
    async fn begin(connection: &mut Connection<Self>) -> Result<(), Error>;

    /// Identifies its session.
    async fn session(connection: &mut Connection<Self>) -> Self::Session;

    /// Terminates sessions that are left in the middle of their work; the server may not notice
    /// for hours that nobody waits for them.
    async fn terminate(
        connection: &mut Connection<Self>,
        sessions: &[Self::Session],
    ) -> Result<(), Error>;

    /// Loads some rows of a table; adds to `loaded` as it sends them.
    async fn load_part(
        connection: &mut Connection<Self>,
        abilities: &Self::Abilities,
        part: &Part,
        rows: &TableRows,
        loaded: &Cell<u64>,
    ) -> Result<Checksum, Failure>;

    /// Does to a table with its rows and indexes what the server would otherwise do during the
    /// measurement.
    async fn settle(connection: &mut Connection<Self>, table: &str) -> Result<(), Error> {
        let _ = (connection, table);
        Ok(())
    }
}

/// Appends one chunk of rows, as `write` writes them; nothing if no rows are left.
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

/// The server stored other rows than dyno sent.
pub(crate) fn damaged(part: &Part, stored: u64, sent: u64) -> Failure {
    let name = table_name(part.table);
    Failure::server(format!(
        "{name}: the server stored {stored} of {sent} rows; is there another index or trigger?"
    ))
}
