//! Loads by `LOAD DATA LOCAL` from memory if the server accepts it, otherwise by multi-row INSERTs.

use std::cell::Cell;

use client::mysql::{Connection, DIALECT, Error, Mysql};
use workload::rows::{Checksum, Row, TableRows};
use workload::schema::{Dialect, table_name};

use super::sessions::{self, Session};
use crate::data::loads::{Loads, damaged, fill};
use crate::data::lock::{Lock, Locks};
use crate::data::parts::Part;
use crate::failure::Failure;
use crate::remote::first_cell;

/// Name of the lock on the server; MySQL allows at most 64 characters.
const LOCK: &str = "LEFT(CONCAT('dyno prepares ', DATABASE()), 64)";

/// What a server supports.
#[derive(Debug, Default)]
pub(crate) struct Abilities {
    refuses_load_data: Cell<bool>,
}

impl Locks for Mysql {
    async fn try_lock(connection: &mut Connection) -> Result<Lock, Error> {
        let sql = format!("SELECT GET_LOCK({LOCK}, 0)");
        let taken = connection.rows(&sql).await?;
        match first_cell(taken).as_deref() {
            Some("1") => return Ok(Lock::Taken),
            Some(_) => {}
            None => return Ok(Lock::Unsupported("GET_LOCK() returned NULL".to_owned())),
        }
        let sql = format!("SELECT IS_USED_LOCK({LOCK})");
        let holder = connection.rows(&sql).await?;
        let holder = first_cell(holder).unwrap_or_else(|| "unknown".to_owned());
        Ok(Lock::HeldBy(holder))
    }

    fn termination(session: &str) -> String {
        format!("KILL {session}")
    }
}

impl Loads for Mysql {
    const DIALECT: &'static Dialect = &DIALECT;
    const LIST_COLUMNS: &'static str = "SELECT table_name, column_name \
         FROM information_schema.columns WHERE table_schema = DATABASE() \
         AND (table_name LIKE 'sbtest%' OR table_name = 'dyno_tables') \
         ORDER BY table_name, ordinal_position";
    type Session = Session;
    type Abilities = Abilities;

    /// A connection that only holds a lock is idle during the whole load. The rows have no foreign
    /// keys.
    async fn begin(connection: &mut Connection) -> Result<(), Error> {
        let sql = "SET SESSION wait_timeout = 31536000, foreign_key_checks = 0";
        connection.run(sql).await.map(drop)
    }

    async fn session(connection: &mut Connection) -> Session {
        Session::of(connection).await
    }

    async fn terminate(connection: &mut Connection, sessions: &[Session]) -> Result<(), Error> {
        sessions::kill(connection, sessions).await
    }

    async fn load_part(
        connection: &mut Connection,
        abilities: &Abilities,
        part: &Part,
        rows: &TableRows,
        loaded: &Cell<u64>,
    ) -> Result<Checksum, Failure> {
        if !abilities.refuses_load_data.get() {
            match load_data(connection, part, rows, loaded).await? {
                Some(checksum) => return Ok(checksum),
                None => abilities.refuses_load_data.set(true),
            }
        }
        insert(connection, part, rows, loaded).await
    }
}

/// `None` if the server rejects it.
async fn load_data(
    connection: &mut Connection,
    part: &Part,
    rows: &TableRows,
    loaded: &Cell<u64>,
) -> Result<Option<Checksum>, Failure> {
    let name = table_name(part.table);
    let sql = format!(
        "LOAD DATA LOCAL INFILE 'dyno' INTO TABLE {name} CHARACTER SET binary (id, k, c, pad)"
    );
    let mut checksum = Checksum::default();
    let mut keys = part.keys.clone();
    let done = connection
        .load(&sql, |out| {
            let sent = checksum.count;
            fill(out, rows, &mut keys, &mut checksum, Row::write_tsv);
            loaded.set(loaded.get() + checksum.count - sent);
        })
        .await;
    match done {
        Err(error) if is_load_data_refused(&error) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(done) if done.affected == checksum.count => Ok(Some(checksum)),
        Ok(done) => Err(damaged(part, done.affected, checksum.count)),
    }
}

async fn insert(
    connection: &mut Connection,
    part: &Part,
    rows: &TableRows,
    loaded: &Cell<u64>,
) -> Result<Checksum, Failure> {
    let name = table_name(part.table);
    let mut checksum = Checksum::default();
    let mut keys = part.keys.clone().peekable();
    connection.run("START TRANSACTION").await?;
    while keys.peek().is_some() {
        let mut sql = format!("INSERT INTO {name}(id, k, c, pad) VALUES ").into_bytes();
        fill(&mut sql, rows, &mut keys, &mut checksum, |row, sql| {
            row.write_values(sql);
            sql.push(b',');
        });
        sql.pop();
        let done = connection.run(&String::from_utf8_lossy(&sql)).await?;
        loaded.set(loaded.get() + done.affected);
    }
    connection.run("COMMIT").await?;
    Ok(checksum)
}

/// Whether the server (1148, 3948, 4166) or its policy (1290) rejects LOAD DATA LOCAL.
fn is_load_data_refused(error: &Error) -> bool {
    matches!(error.number(), Some(1148 | 3948 | 4166 | 1290))
}
