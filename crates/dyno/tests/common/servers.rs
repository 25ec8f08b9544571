//! Servers that the tests of a file share, gone when no test uses them.

use std::sync::{Arc, Mutex, Weak};

use testkit::{MariaDb, MySql, Postgres, PostgresServer, Server};
use workload::rows::Checksum;

/// Commits do not wait for the disk: no test is about its speed.
pub const LAZY_DISK: &str = "--innodb-flush-log-at-trx-commit=0";

/// The file's MariaDB.
pub fn mariadb() -> Arc<Server> {
    static SLOT: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    shared(&SLOT, || MariaDb::start(&["--local-infile=1", LAZY_DISK]))
}

/// The file's MySQL 9.7, which takes no LOAD DATA LOCAL.
pub fn mysql() -> Arc<Server> {
    static SLOT: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    shared(&SLOT, || MySql::start(&["--skip-log-bin", LAZY_DISK]))
}

/// The file's PostgreSQL, in which `root` needs no password and everybody else does.
pub fn postgres() -> Arc<PostgresServer> {
    static SLOT: Mutex<Weak<PostgresServer>> = Mutex::new(Weak::new());
    let access = "host all root all trust\nhost all all all scram-sha-256";
    shared(&SLOT, || Postgres::builder().access(access).start())
}

/// A static is never dropped, and a server that is not leaves its files: so the
/// tests that run hold it between them.
fn shared<S>(slot: &Mutex<Weak<S>>, start: impl FnOnce() -> S) -> Arc<S> {
    let mut slot = slot
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    slot.upgrade().unwrap_or_else(|| {
        let server = Arc::new(start());
        *slot = Arc::downgrade(&server);
        server
    })
}

/// A new database for one test; gives its URL.
pub fn database(server: &Server, name: &str) -> String {
    server.sql(&format!(
        "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}"
    ));
    server.url(name)
}

/// Row count and checksum of a table, as the server computes them.
pub fn server_checksum(server: &Server, table: &str) -> Checksum {
    let rows = server.sql(&format!(
        "SELECT {} FROM {table}",
        testkit::CHECKSUM_COLUMNS
    ));
    Checksum {
        count: rows[0][0].parse().unwrap(),
        xor: rows[0][1].parse().unwrap(),
    }
}
