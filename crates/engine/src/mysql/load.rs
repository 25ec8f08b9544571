//! Loads by `LOAD DATA LOCAL` from memory if the server accepts it, otherwise by multi-row INSERTs.

use std::cell::Cell;

use client::mysql::{Connection, DIALECT, Error, Mysql};
use plan::Failure;
use workload::rows::{Checksum, TableRows};
use workload::schema::{Dialect, table_name};

use crate::data::loads::{Loads, Lock, Session, fill, send};
use crate::data::parts::Part;
use crate::remote::{Rows, first_cell};
use crate::replication::text;

/// Name of the lock on the server; MySQL allows at most 64 characters.
const LOCK: &str = "LEFT(CONCAT('dyno prepares ', DATABASE()), 64)";

impl Loads for Mysql {
    const DIALECT: &'static Dialect = &DIALECT;
    const LIST_COLUMNS: &'static str = "SELECT table_name, column_name \
         FROM information_schema.columns WHERE table_schema = DATABASE() \
         AND (table_name LIKE 'sbtest%' OR table_name = 'dyno_tables') \
         ORDER BY table_name, ordinal_position";
    const TERMINATION: &'static str = "KILL #";

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

    /// A connection that only holds a lock is idle during the whole load. The rows have no foreign
    /// keys.
    async fn begin(connection: &mut Connection) -> Result<(), Error> {
        let sql = "SET SESSION wait_timeout = 31536000, foreign_key_checks = 0";
        connection.run(sql).await.map(drop)
    }

    async fn session(connection: &mut Connection) -> Session {
        Session {
            id: connection.id(),
            origin: which_server(connection).await,
        }
    }

    /// Behind a load balancer, the connection may be to another server, on which the IDs belong to
    /// other clients.
    async fn terminate(connection: &mut Connection, sessions: &[Session]) -> Result<(), Error> {
        let here = which_server(connection).await;
        let own = connection.id();
        let ours = of_one_account(&connection.rows("SHOW PROCESSLIST").await?, own);
        let is_ours = |session: &&Session| {
            !here.is_empty() && session.origin == here && ours.contains(&session.id)
        };
        for session in sessions.iter().filter(is_ours) {
            // The session may have ended meanwhile.
            let _ = connection.run(&format!("KILL {}", session.id)).await;
        }
        Ok(())
    }

    async fn load_part(
        connection: &mut Connection,
        refuses_load_data: &Cell<bool>,
        part: &Part,
        rows: &TableRows,
        loaded: &Cell<u64>,
    ) -> Result<Checksum, Failure> {
        if !refuses_load_data.get() {
            match load_data(connection, part, rows, loaded).await? {
                Some(checksum) => return Ok(checksum),
                None => refuses_load_data.set(true),
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
    match send(connection, &sql, part, rows, loaded).await {
        // The server (1148, 3948, 4166) or its policy (1290) rejects LOAD DATA LOCAL.
        Err(error) if matches!(error.number(), Some(1148 | 3948 | 4166 | 1290)) => Ok(None),
        sent => sent?.map(Some),
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

/// Identifies a server; MariaDB has no `server_uuid`, MySQL no `server_uid`.
const WHICH_SERVER: &str = "SHOW GLOBAL VARIABLES \
    WHERE variable_name IN ('hostname', 'port', 'server_uuid', 'server_uid')";

/// Empty if the server does not identify itself.
async fn which_server(connection: &mut Connection) -> String {
    text(&connection.rows(WHICH_SERVER).await.unwrap_or_default())
}

/// The sessions with the same user and database as session `own`.
fn of_one_account(list: &Rows, own: u32) -> Vec<u32> {
    let read = |row: &Vec<Option<String>>| match row.as_slice() {
        [Some(id), user, _host, database, ..] => {
            Some((id.parse().ok()?, (user.clone(), database.clone())))
        }
        _ => None,
    };
    let sessions: Vec<(u32, _)> = list.iter().filter_map(read).collect();
    let Some((_, account)) = sessions.iter().find(|(id, _)| *id == own) else {
        return Vec::new();
    };
    let same = sessions.iter().filter(|(_, known)| known == account);
    same.map(|(id, _)| *id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_other_users_and_databases_are_not_ours() {
        let row = |id: &str, user: &str, database: Option<&str>| {
            let cells = [Some(id), Some(user), Some("h:1"), database, Some("Query")];
            cells.map(|cell| cell.map(str::to_owned)).to_vec()
        };
        let list = vec![
            row("4", "u", Some("x")),
            row("5", "v", Some("x")),
            row("6", "u", Some("y")),
            row("7", "u", None),
            row("8", "u", Some("x")),
        ];
        assert_eq!(of_one_account(&list, 8), [4, 8]);
        assert!(of_one_account(&list, 9).is_empty());
    }
}
