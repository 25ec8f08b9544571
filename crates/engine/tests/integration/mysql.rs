//! Loading into real servers: the same rows however they get there.

use engine::Failure;
use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use client::mysql::{Connection, Target, TlsOptions};
use client::reactor::Reactor;
use engine::data::{Listener, Mode, Progress};
use testkit::{MariaDb, MySql, Proxy, Server};
use workload::options::Options;
use workload::rows::Checksum;

use crate::common::{
    PATIENCE, ROWS, SOME_BYTES, assert_a_hanging_server_ends_the_load,
    assert_bulk_inserts_drop_no_foreign_table, assert_missing_tables_are_added,
    assert_one_prepares_after_the_other, checksum, expected, has_rows, holding, load, marked,
    options, prepare, wanted,
};

/// Commits do not wait for the disk: no test is about its speed.
const LAZY_DISK: &str = "--innodb-flush-log-at-trx-commit=0";

fn target(server: &Server) -> Target {
    Target::parse(&server.url("sbtest"), None, "root", &TlsOptions::default()).unwrap()
}

/// What the server has.
fn stored(server: &Server, table: u32) -> Checksum {
    let sql = format!("SELECT {} FROM sbtest{table}", testkit::CHECKSUM_COLUMNS);
    checksum(&server.sql(&sql).concat())
}

fn assert_whole(server: &Server, options: &Options) {
    for table in 1..=options.data.tables {
        let expected = expected(options, table);
        assert_eq!(stored(server, table), expected, "sbtest{table}");
        let marked = marked(|sql| server.sql(sql), table);
        assert_eq!(marked, ("ready".to_owned(), expected));
        let index = format!("SHOW INDEX FROM sbtest{table} WHERE Key_name = 'k_{table}'");
        assert_eq!(server.sql(&index).len(), 1);
    }
}

fn loads_of_statements(server: &Server, name: &str) -> i64 {
    let rows = server.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    rows[0][1].parse().unwrap()
}

#[test]
fn any_number_of_connections_loads_the_same_rows_by_load_data() {
    let server = MariaDb::start(&["--local-infile=1", LAZY_DISK]);
    let options = options(ROWS);
    for connections in [1, 2, 5] {
        let wanted = wanted(&options, Mode::Always, connections);
        let (prepared, _) = load(&server.url("sbtest"), &wanted);
        assert_eq!((prepared.loaded, prepared.rows), (2, 2 * ROWS));
        assert_whole(&server, &options);
    }
    assert_eq!(loads_of_statements(&server, "Com_load"), 3 * 2 * 2);
    assert_eq!(loads_of_statements(&server, "Com_insert"), 0);
}

#[test]
fn a_server_that_takes_no_files_gets_the_same_rows_by_insert() {
    let server = MySql::start(&["--skip-log-bin", LAZY_DISK]);
    let options = options(ROWS);
    for connections in [1, 5] {
        let wanted = wanted(&options, Mode::Always, connections);
        load(&server.url("sbtest"), &wanted);
        assert_whole(&server, &options);
    }
    assert!(loads_of_statements(&server, "Com_insert") > 0);
    server.sql("SET GLOBAL local_infile = 1");
    load(&server.url("sbtest"), &wanted(&options, Mode::Always, 2));
    assert_whole(&server, &options);
    assert!(loads_of_statements(&server, "Com_load") > 0);
}

#[test]
fn an_interrupted_load_is_never_taken_for_data() {
    let server = MariaDb::start(&["--local-infile=1", LAZY_DISK]);
    // One part more than there are connections.
    let mut options = options(2 * ROWS);
    options.data.tables = 1;
    let proxy = holding(server.port());
    let interrupted = AtomicBool::new(false);
    let listener = Listener {
        tell: &mut |news| {
            // Rows are counted when they are sent, and the proxy may be holding them back.
            if has_rows(&news) || proxy.is_holding() {
                interrupted.store(true, Ordering::Relaxed);
                proxy.release();
            }
        },
        interrupted: &interrupted,
    };
    let url = format!("mysql://root@127.0.0.1:{}/sbtest", proxy.port());
    let stopped = prepare(&url, &wanted(&options, Mode::Missing, 2), listener);
    let is_interrupted = stopped.as_ref().is_err_and(Failure::is_interrupted);
    assert!(is_interrupted, "{stopped:?}");
    assert_eq!(marked(|sql| server.sql(sql), 1).0, "loading");
    let (prepared, told) = load(&server.url("sbtest"), &wanted(&options, Mode::Missing, 2));
    assert!(prepared.loaded > 0);
    let said = |news: &Progress| matches!(news, Progress::Note(text) if text.contains("interrupted; it is rebuilt"));
    assert!(told.iter().any(said), "{told:?}");
    assert_whole(&server, &options);
}

/// A connection that has read a table and does not end its transaction before it is dropped.
struct Reader {
    /// Ends it by being dropped.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    fn of(table: &str, target: Target) -> Self {
        let (ready, is_ready) = channel();
        let (running, over) = channel::<()>();
        let sql = format!("SELECT id FROM {table} LIMIT 1");
        let read = async move || {
            let mut connection = Connection::open(&target).await.unwrap();
            connection.run("START TRANSACTION").await.unwrap();
            connection.rows(&sql).await.unwrap();
            ready.send(()).unwrap();
            let _ = over.recv();
        };
        let thread = std::thread::spawn(move || Reactor::new().unwrap().block_on(read()).unwrap());
        is_ready.recv().unwrap();
        Self {
            running: Some(running),
            thread: Some(thread),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        drop(self.running.take());
        let _ = self.thread.take().unwrap().join();
    }
}

/// The index that is being built; none on a server where none is.
const INDEXING: &str =
    "SELECT id FROM information_schema.processlist WHERE info LIKE 'CREATE INDEX%'";

/// Interrupts a load of a server while it builds an index, which waits for whoever has read
/// the table: by default for a day. The load does not get so far before somebody has.
fn interrupt_index(server: &Server, proxy: &Proxy, mut at: impl FnMut(u32)) -> Option<Reader> {
    let mut options = options(ROWS);
    options.data.tables = 1;
    let interrupted = AtomicBool::new(false);
    let mut reader = None;
    let listener = Listener {
        tell: &mut |news| {
            if reader.is_none() && has_rows(&news) {
                reader = Some(Reader::of("sbtest1", target(server)));
                proxy.release();
            }
            if let Some([id]) = server.sql(INDEXING).first().map(Vec::as_slice) {
                at(id.parse().unwrap());
                interrupted.store(true, Ordering::Relaxed);
            }
        },
        interrupted: &interrupted,
    };
    let url = format!("mysql://root@127.0.0.1:{}/sbtest", proxy.port());
    let stopped = prepare(&url, &wanted(&options, Mode::Missing, 1), listener);
    let is_interrupted = stopped.as_ref().is_err_and(Failure::is_interrupted);
    assert!(is_interrupted, "{stopped:?}");
    reader
}

#[test]
fn an_interrupted_index_is_left_by_the_server_too() {
    for server in [
        MariaDb::start(&["--local-infile=1", LAZY_DISK]),
        MySql::start(&["--local-infile=1", "--skip-log-bin", LAZY_DISK]),
    ] {
        let _reader = interrupt_index(&server, &holding(server.port()), |_| ());
        // It hears of it at once, and may need a moment to leave.
        let deadline = Instant::now() + PATIENCE;
        while !server.sql(INDEXING).is_empty() {
            assert!(Instant::now() < deadline, "the index is still wanted");
        }
    }
}

/// A session with this number that does something else on the server: it runs a statement
/// when it is told to, and tells whether it could.
fn stranger(id: u32, target: Target) -> (Sender<()>, JoinHandle<bool>) {
    let (ready, is_ready) = channel();
    let (go_on, may_go_on) = channel::<()>();
    let work = async move || {
        let mut connection = Connection::open(&target).await.unwrap();
        while connection.id() < id {
            connection = Connection::open(&target).await.unwrap();
        }
        // Otherwise more have been here than where it loads.
        assert_eq!(connection.id(), id);
        ready.send(()).unwrap();
        let _ = may_go_on.recv();
        connection.rows("SELECT 1").await.is_ok()
    };
    let thread = std::thread::spawn(move || Reactor::new().unwrap().block_on(work()).unwrap());
    is_ready.recv().unwrap();
    (go_on, thread)
}

#[test]
fn an_interrupted_load_ends_no_session_of_another_server() {
    let server = MariaDb::start(&["--local-infile=1", LAZY_DISK]);
    let other = MariaDb::start(&[]);
    // So its sessions have numbers that the other server has still to give.
    (0..20).for_each(|_| drop(server.sql("SELECT 1")));
    // The version's connection, the lock's and the one that loads are to one server, all others to another.
    let ports = iter::repeat_n(server.port(), 3).chain(iter::repeat(other.port()));
    let proxy = Proxy::holding(ports, SOME_BYTES);
    let mut met = None;
    let reader = interrupt_index(&server, &proxy, |id| {
        met.get_or_insert_with(|| stranger(id, target(&other)));
    });
    let (go_on, stranger) = met.unwrap();
    go_on.send(()).unwrap();
    assert!(
        stranger.join().unwrap(),
        "somebody else's session was ended"
    );
    drop(reader);
}

#[test]
fn what_is_whole_is_kept_and_what_is_missing_is_added() {
    let server = MariaDb::start(&["--local-infile=1", LAZY_DISK]);
    let sql = |text: &str| drop(server.sql(text));
    let whole = |options: &Options| assert_whole(&server, options);
    assert_missing_tables_are_added(&server.url("sbtest"), sql, whole);
}

/// The database `name` of `server`, with the lock of a preparation held by somebody else
/// until the connection is dropped.
fn held(reactor: &Reactor, server: &Server) -> Connection {
    let target = target(server);
    let opened = reactor.block_on(async {
        let mut holder = Connection::open(&target).await.unwrap();
        let lock = "SELECT GET_LOCK('dyno prepares sbtest', 0)";
        let taken = holder.rows(lock).await;
        assert_eq!(taken.unwrap(), [[Some("1".to_owned())]]);
        holder
    });
    opened.unwrap()
}

#[test]
fn two_dynos_prepare_one_database_one_after_the_other() {
    for server in [
        MariaDb::start(&[LAZY_DISK]),
        MySql::start(&["--local-infile=1", "--skip-log-bin", LAZY_DISK]),
    ] {
        let (options, reactor) = (options(2000), Reactor::new().unwrap());
        let holder = held(&reactor, &server);
        assert_one_prepares_after_the_other(&server.url("sbtest"), &options, || {
            reactor.block_on(holder.close()).unwrap();
        });
        for table in 1..=2 {
            assert_eq!(stored(&server, table), expected(&options, table));
        }
    }
}

#[test]
fn who_waits_for_another_dyno_can_be_interrupted() {
    let server = MariaDb::start(&[]);
    let reactor = Reactor::new().unwrap();
    let _holder = held(&reactor, &server);
    let interrupted = AtomicBool::new(false);
    let listener = Listener {
        tell: &mut |_| interrupted.store(true, Ordering::Relaxed),
        interrupted: &interrupted,
    };
    let options = options(10);
    let wanted = wanted(&options, Mode::Missing, 1);
    let outcome = prepare(&server.url("sbtest"), &wanted, listener);
    assert!(outcome.as_ref().is_err_and(Failure::is_interrupted));
    assert_eq!(server.sql("SHOW TABLES"), Vec::<Vec<String>>::new());
}

#[test]
fn bulk_inserts_drop_no_table_that_is_not_dynos() {
    let server = MariaDb::start(&[]);
    assert_bulk_inserts_drop_no_foreign_table(&server.url("sbtest"), |sql| server.sql(sql));
}

#[test]
fn a_server_that_hangs_ends_the_loading_in_the_end() {
    let server = MariaDb::start(&["--local-infile=1", LAZY_DISK]);
    let url = |port| format!("mysql://root@127.0.0.1:{port}/sbtest");
    assert_a_hanging_server_ends_the_load(server.port(), url);
}
