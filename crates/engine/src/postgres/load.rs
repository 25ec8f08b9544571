//! Loading by `COPY … FROM STDIN`.

use std::cell::Cell;

use client::postgres::{Connection, Error, Postgres};
use plan::Failure;
use workload::rows::{Checksum, TableRows};
use workload::schema::{Dialect, table_name};

use crate::data::loads::{Loads, Lock, Session, send};
use crate::data::parts::Part;
use crate::remote::first_cell;

/// The key of the lock: `dyno` in ASCII, and the number of the lock. Locks belong to one database.
const LOCK: [u32; 2] = [0x6479_6e6f, 1];

impl Loads for Postgres {
    const DIALECT: &'static Dialect = &client::postgres::DIALECT;
    const LIST_COLUMNS: &'static str = "SELECT c.relname, a.attname \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid \
         WHERE pg_catalog.pg_table_is_visible(c.oid) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
         AND (c.relname LIKE 'sbtest%' OR c.relname = 'dyno_tables') \
         AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum";
    const TERMINATION: &'static str = "SELECT pg_terminate_backend(#)";

    async fn try_lock(connection: &mut Connection) -> Result<Lock, Error> {
        let [class, object] = LOCK;
        let taken = format!("SELECT pg_try_advisory_lock({class}, {object})");
        if first_cell(connection.rows(&taken).await?).as_deref() == Some("t") {
            return Ok(Lock::Taken);
        }
        let holder = format!(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted \
             AND classid = {class} AND objid = {object} AND objsubid = 2 \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        );
        let holder = first_cell(connection.rows(&holder).await?);
        Ok(Lock::HeldBy(holder.unwrap_or_else(|| "unknown".to_owned())))
    }

    /// Limits of the role or the database are for other clients: a connection that only holds a
    /// lock is idle during the whole load, and an index takes long to build. Not every version has
    /// all of these settings.
    async fn begin(connection: &mut Connection) -> Result<(), Error> {
        let sql = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN \
             ('idle_session_timeout', 'lock_timeout', 'statement_timeout', 'transaction_timeout')";
        connection.run(sql).await.map(drop)
    }

    /// Process IDs are reused, but not within the same microsecond.
    async fn session(connection: &mut Connection) -> Session {
        let sql = "SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()";
        let started = connection.rows(sql).await.ok().and_then(first_cell);
        Session {
            id: connection.backend_pid(),
            // Without it, nothing is terminated.
            origin: started.unwrap_or_default(),
        }
    }

    async fn terminate(connection: &mut Connection, sessions: &[Session]) -> Result<(), Error> {
        for Session { id, origin } in sessions {
            let sql = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE pid = {id} AND backend_start::text = '{origin}'"
            );
            connection.run(&sql).await?;
        }
        Ok(())
    }

    async fn load_part(
        connection: &mut Connection,
        _: &Cell<bool>,
        part: &Part,
        rows: &TableRows,
        loaded: &Cell<u64>,
    ) -> Result<Checksum, Failure> {
        let sql = format!("COPY {} (id, k, c, pad) FROM STDIN", table_name(part.table));
        send(connection, &sql, part, rows, loaded).await?
    }

    /// New rows have no statistics, which plans need, and no hint bits, which the first readers
    /// would write. Without this, autovacuum would do it a minute later, in the middle of the
    /// measurement.
    async fn settle(connection: &mut Connection, table: &str) -> Result<(), Error> {
        let sql = format!("VACUUM (ANALYZE) {table}");
        connection.run(&sql).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use client::TlsOptions;
    use client::postgres::Target;
    use client::reactor::Reactor;

    use super::*;

    #[test]
    fn limits_of_the_server_are_for_other_clients() {
        let limits = ["statement_timeout", "lock_timeout", "idle_session_timeout"];
        let settings = limits.map(|name| format!("{name}=1h"));
        let server = testkit::Postgres::start(&settings.each_ref().map(String::as_str));
        let url = server.url("sbtest");
        let target = Target::parse(&url, None, "root", &TlsOptions::default(), &|_| None);
        let target = target.unwrap();
        let read = Reactor::new().unwrap().block_on(async {
            let mut connection = Connection::open(&target).await.unwrap();
            Postgres::begin(&mut connection).await.unwrap();
            for name in limits {
                let limit = connection.rows(&format!("SHOW {name}")).await.unwrap();
                assert_eq!(first_cell(limit).as_deref(), Some("0"), "{name}");
            }
        });
        read.unwrap();
    }
}
