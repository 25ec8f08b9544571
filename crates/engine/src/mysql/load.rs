//! Loading by `LOAD DATA LOCAL` from memory where the server accepts it, else by INSERTs of many
//! rows.

use std::cell::Cell;

use client::mysql::{Connection, DIALECT, Error};
use workload::rows::{Checksum, Row, TableRows};
use workload::schema::{Dialect, table_name};

use super::sessions::{self, Session};
use crate::data::PrepareError;
use crate::data::load::{Loads, damaged, fill};
use crate::data::lock::{Lock, Locks};
use crate::data::parts::Part;
use crate::remote::{ServerError, first_cell};

/// The lock's name, as the server knows it: at most 64 characters in MySQL.
const LOCK: &str = "LEFT(CONCAT('dyno prepares ', DATABASE()), 64)";

/// What a server accepts.
#[derive(Debug, Default)]
pub(crate) struct Abilities {
    refuses_load_data: Cell<bool>,
}

impl Locks for Connection {
    async fn try_lock(&mut self) -> Result<Lock, ServerError> {
        let taken = self.rows(&format!("SELECT GET_LOCK({LOCK}, 0)")).await?;
        match first_cell(taken).as_deref() {
            Some("1") => return Ok(Lock::Taken),
            Some(_) => {}
            None => return Ok(Lock::Unsupported("GET_LOCK() returned NULL".to_owned())),
        }
        let holder = self.rows(&format!("SELECT IS_USED_LOCK({LOCK})")).await?;
        let holder = first_cell(holder).unwrap_or_else(|| "unknown".to_owned());
        Ok(Lock::HeldBy(holder))
    }

    fn termination(session: &str) -> String {
        format!("KILL {session}")
    }
}

impl Loads for Connection {
    const DIALECT: &'static Dialect = &DIALECT;
    const LIST_COLUMNS: &'static str = "SELECT table_name, column_name \
         FROM information_schema.columns WHERE table_schema = DATABASE() \
         AND (table_name LIKE 'sbtest%' OR table_name = 'dyno_tables') \
         ORDER BY table_name, ordinal_position";
    type Session = Session;
    type Abilities = Abilities;

    /// A connection that only holds a lock is idle for as long as the load takes. The rows are
    /// known to refer to nothing.
    async fn begin(&mut self) -> Result<(), ServerError> {
        self.run("SET SESSION wait_timeout = 31536000, foreign_key_checks = 0")
            .await?;
        Ok(())
    }

    async fn session(&mut self) -> Session {
        Session::of(self).await
    }

    async fn terminate(&mut self, sessions: &[Session]) -> Result<(), ServerError> {
        Ok(sessions::kill(self, sessions).await?)
    }

    async fn load_part(
        &mut self,
        abilities: &Abilities,
        part: &Part,
        rows: &TableRows,
        loaded: &Cell<u64>,
    ) -> Result<Checksum, PrepareError> {
        if !abilities.refuses_load_data.get() {
            match load_data(self, part, rows, loaded).await? {
                Some(checksum) => return Ok(checksum),
                None => abilities.refuses_load_data.set(true),
            }
        }
        insert(self, part, rows, loaded).await
    }
}

/// `None` if the server does not accept it.
async fn load_data(
    connection: &mut Connection,
    part: &Part,
    rows: &TableRows,
    loaded: &Cell<u64>,
) -> Result<Option<Checksum>, PrepareError> {
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
) -> Result<Checksum, PrepareError> {
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

/// The server (1148, 3948, 4166) or its policy (1290) does not accept LOAD DATA LOCAL.
fn is_load_data_refused(error: &Error) -> bool {
    matches!(error.number(), Some(1148 | 3948 | 4166 | 1290))
}
