//! Servers that the tests of a file share, gone when no test uses them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use testkit::{Engine, MariaDb, MySql, Postgres, PostgresServer, Server};
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

/// What the tests of every protocol do with a server.
pub trait Served {
    const SCHEME: &'static str;
    fn url(&self, database: &str) -> String;
    fn port(&self) -> u16;
    fn ca_file(&self) -> PathBuf;
    /// Runs statements in a database.
    fn sql_in(&self, database: &str, sql: &str) -> Vec<Vec<String>>;
    /// An account that may do everything in this database.
    fn add_user(&self, name: &str, password: &str, database: &str);
}

/// What both kinds of servers have under the same names.
macro_rules! its_own {
    () => {
        fn url(&self, database: &str) -> String {
            Self::url(self, database)
        }
        fn port(&self) -> u16 {
            Self::port(self)
        }
        fn ca_file(&self) -> PathBuf {
            Self::ca_file(self)
        }
    };
}

impl Served for Server {
    const SCHEME: &'static str = "mysql";

    its_own!();

    fn sql_in(&self, database: &str, sql: &str) -> Vec<Vec<String>> {
        self.sql(&format!("USE {database}; {sql}"))
    }

    fn add_user(&self, name: &str, password: &str, _: &str) {
        let plugin = match self.engine() {
            Engine::MariaDb => "mysql_native_password",
            Engine::MySql => "caching_sha2_password",
        };
        self.sql(&format!("DROP USER IF EXISTS {name}@'%'"));
        self.create_user(name, password, plugin, false);
    }
}

impl Served for PostgresServer {
    const SCHEME: &'static str = "postgres";

    its_own!();

    fn sql_in(&self, database: &str, sql: &str) -> Vec<Vec<String>> {
        self.sql(&format!("\\c {database}\n{sql}"))
    }

    fn add_user(&self, name: &str, password: &str, database: &str) {
        self.create_user(name, password, "scram-sha-256");
        self.sql(&format!("ALTER DATABASE {database} OWNER TO {name}"));
    }
}

/// A new database for one test; gives its URL.
pub fn database(server: &impl Served, name: &str) -> String {
    let new = format!("DROP DATABASE IF EXISTS {name};\nCREATE DATABASE {name}");
    server.sql_in("sbtest", &new);
    server.url(name)
}

/// Row count and checksum of a table, as the server computes them.
pub fn server_checksum(server: &Server, table: &str) -> Checksum {
    let columns = testkit::CHECKSUM_COLUMNS;
    let rows = server.sql(&format!("SELECT {columns} FROM {table}"));
    Checksum {
        count: rows[0][0].parse().unwrap(),
        xor: rows[0][1].parse().unwrap(),
    }
}
