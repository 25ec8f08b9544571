//! Loading into real servers: the same rows however they get there, and the tables that sysbench
//! makes.

use std::iter;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use engine::data::{Listener, Mode, Prepared, Progress, Wanted};
use engine::{Access, Database, Exit, Failure, Sql};
use testkit::{MariaDb, MySql, Postgres, PostgresServer, Proxy, Server};
use workload::name::WorkloadName;
use workload::options::Options;
use workload::rows::{Checksum, TableRows};

/// A whole part, and one of a single row.
const ROWS: u64 = 50_001;
const SEED: u64 = 42;
/// More than is sent before the first rows, and far less than a part.
const SOME_BYTES: u64 = 1 << 20;
/// Long enough for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(300);
/// Commits do not wait for the disk: no test is about its speed.
const LAZY_DISK: &str = "--innodb-flush-log-at-trx-commit=0";

type Text = Vec<Vec<String>>;

/// A server that data is loaded into.
trait Loaded {
    /// Queries the session that builds an index.
    const INDEXING: &'static str;
    /// Queries the index of a table, `#` being its number.
    const INDEX: &'static str;
    /// Takes the lock of a preparation of `sbtest`.
    const LOCK: &'static str;

    fn port(&self) -> u16;

    fn url(&self) -> String;

    fn sql(&self, text: &str) -> Text;

    /// Count and checksum of the rows that are stored.
    fn stored(&self, table: u32) -> Checksum;

    fn url_through(&self, proxy: &Proxy) -> String {
        let [server, proxy] = [self.port(), proxy.port()].map(|port| format!(":{port}/"));
        self.url().replace(&server, &proxy)
    }

    /// Prepares the database to the end; also what was reported.
    fn load(&self, wanted: &Wanted<'_>) -> (Prepared, Vec<Progress>) {
        let mut reported = Vec::new();
        let prepared = prepare(&self.url(), wanted, &mut |news| reported.push(news));
        (prepared.unwrap(), reported)
    }

    fn refuses(&self, wanted: &Wanted<'_>) -> Failure {
        prepare(&self.url(), wanted, &mut |_| {}).unwrap_err()
    }

    /// What dyno wrote down about a table: its state and checksum.
    fn marked(&self, table: u32) -> (String, Checksum) {
        let query = "SELECT state, row_count, checksum FROM dyno_tables WHERE name = ";
        let cells = self.sql(&format!("{query}'sbtest{table}'")).concat();
        (cells[0].clone(), checksum(&cells[1..]))
    }

    fn assert_whole(&self, options: &Options) {
        for table in 1..=options.data.tables {
            let expected = expected(options, table);
            assert_eq!(self.stored(table), expected, "sbtest{table}");
            assert_eq!(self.marked(table), ("ready".to_owned(), expected));
            let index = Self::INDEX.replace('#', &table.to_string());
            assert_eq!(self.sql(&index).len(), 1, "{index}");
        }
    }
}

impl Loaded for Server {
    const INDEXING: &'static str =
        "SELECT id FROM information_schema.processlist WHERE info LIKE 'CREATE INDEX%'";
    const INDEX: &'static str = "SHOW INDEX FROM sbtest# WHERE key_name = 'k_#'";
    const LOCK: &'static str = "SELECT GET_LOCK('dyno prepares sbtest', 0)";

    fn port(&self) -> u16 {
        self.port()
    }

    fn url(&self) -> String {
        self.url("sbtest")
    }

    fn sql(&self, text: &str) -> Text {
        self.sql(text)
    }

    fn stored(&self, table: u32) -> Checksum {
        let columns = testkit::CHECKSUM_COLUMNS;
        checksum(
            &self
                .sql(&format!("SELECT {columns} FROM sbtest{table}"))
                .concat(),
        )
    }
}

impl Loaded for PostgresServer {
    const INDEXING: &'static str =
        "SELECT pid FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE%' AND state = 'active'";
    const INDEX: &'static str = "SELECT indexname FROM pg_indexes WHERE indexname = 'k_#'";
    const LOCK: &'static str = "SELECT pg_advisory_lock(1685679727, 1)";

    fn port(&self) -> u16 {
        self.port()
    }

    fn url(&self) -> String {
        self.url("sbtest")
    }

    fn sql(&self, text: &str) -> Text {
        self.sql(text)
    }

    fn stored(&self, table: u32) -> Checksum {
        let mut checksum = Checksum::default();
        for row in self.sql(&format!("SELECT id, k, c, pad FROM sbtest{table}")) {
            // CHAR pads with a space.
            let columns = row.iter().map(|column| column.trim_end());
            let crc = crc32fast::hash(columns.collect::<Vec<_>>().join(",").as_bytes());
            checksum.merge(Checksum { count: 1, xor: crc });
        }
        checksum
    }
}

fn options(rows: u64) -> Options {
    let mut options = Options::default();
    (options.data.tables, options.data.rows) = (2, rows);
    options
}

fn wanted(options: &Options, mode: Mode, connections: u32) -> Wanted<'_> {
    Wanted {
        workload: WorkloadName::OltpReadWrite,
        script: None,
        options,
        seed: SEED,
        users: 1,
        mode,
        connections,
        stall_limit: PATIENCE,
    }
}

fn open(url: &str) -> std::sync::Arc<dyn Database> {
    let engine = engine::of_url(url).unwrap();
    engine.open(url, &Access::default(), None).unwrap()
}

fn session(url: &str) -> Box<dyn Sql> {
    open(url).connect(PATIENCE).unwrap()
}

fn prepare(
    url: &str,
    wanted: &Wanted<'_>,
    tell: &mut dyn FnMut(Progress),
) -> Result<Prepared, Failure> {
    let interrupted = &AtomicBool::new(false);
    open(url).prepare(wanted, Listener { tell, interrupted })
}

/// Prepares the database until `tell` says that the user interrupts it.
fn interrupt(url: &str, wanted: &Wanted<'_>, mut tell: impl FnMut(Progress) -> bool) {
    let interrupted = AtomicBool::new(false);
    let listener = Listener {
        tell: &mut |news| {
            interrupted.fetch_or(tell(news), Ordering::Relaxed);
        },
        interrupted: &interrupted,
    };
    let stopped = open(url).prepare(wanted, listener);
    let is_interrupted = stopped.as_ref().is_err_and(Failure::is_interrupted);
    assert!(is_interrupted, "{stopped:?}");
}

/// What the rows are, computed here.
fn expected(options: &Options, table: u32) -> Checksum {
    let rows = TableRows::new(SEED, table, options.data.rows, &options.distribution).unwrap();
    let mut checksum = Checksum::default();
    (1..=options.data.rows).for_each(|key| checksum.add(&rows.row(key)));
    checksum
}

/// A checksum from its two cells.
fn checksum(cells: &[String]) -> Checksum {
    Checksum {
        count: cells[0].parse().unwrap(),
        xor: cells[1].parse().unwrap(),
    }
}

/// A proxy to a server that lets some rows through, and holds everything after that.
fn holding(server: &impl Loaded) -> Proxy {
    Proxy::holding(iter::repeat(server.port()), SOME_BYTES)
}

/// Whether a load has begun to send rows.
fn has_rows(news: &Progress) -> bool {
    !matches!(news, Progress::Note(_) | Progress::Loading { rows: 0, .. })
}

fn count_of(server: &Server, name: &str) -> i64 {
    let rows = server.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    rows[0][1].parse().unwrap()
}

#[test]
fn any_number_of_connections_loads_the_same_rows_by_load_data() {
    let server = MariaDb::start(&["--local-infile=1", LAZY_DISK]);
    let options = options(ROWS);
    for connections in [1, 5] {
        let (prepared, _) = server.load(&wanted(&options, Mode::Always, connections));
        assert_eq!((prepared.loaded, prepared.rows), (2, 2 * ROWS));
        server.assert_whole(&options);
    }
    assert_eq!(count_of(&server, "Com_load"), 2 * 2 * 2);
    assert_eq!(count_of(&server, "Com_insert"), 0);
}

#[test]
fn any_number_of_connections_loads_the_same_rows_by_copy() {
    let server = Postgres::start(&[]);
    let options = options(ROWS);
    for connections in [1, 5] {
        let (prepared, _) = server.load(&wanted(&options, Mode::Always, connections));
        assert_eq!((prepared.loaded, prepared.rows), (2, 2 * ROWS));
        server.assert_whole(&options);
    }
    let next = server.sql("INSERT INTO sbtest1 (k) VALUES (1) RETURNING id");
    assert_eq!(next, [[(ROWS + 1).to_string()]]);
}

/// A connection that still works on another table has a snapshot, which would keep rows that are
/// loaded later from being visible to all, whatever VACUUM does.
#[test]
fn tables_are_vacuumed_when_no_connection_loads_any_more() {
    let server = Postgres::start(&[]);
    let options = options(2000);
    let again = wanted(&options, Mode::Always, 2);
    server.load(&again);
    let wait_for = |condition: &str| {
        let deadline = Instant::now() + PATIENCE;
        while server.sql(condition) != [["t"]] {
            assert!(Instant::now() < deadline, "{condition}");
        }
    };
    // Neither table can be dropped and loaded again before its reader ends.
    let [first, second] = ["sbtest1", "sbtest2"].map(|table| {
        let mut reader = session(&server.url("sbtest"));
        for sql in ["BEGIN", &format!("SELECT id FROM {table} LIMIT 1")] {
            reader.rows(sql, PATIENCE).unwrap();
        }
        reader
    });
    std::thread::scope(|scope| {
        scope.spawn(|| server.load(&again));
        wait_for(
            "SELECT count(*) = 2 FROM pg_stat_activity \
             WHERE query LIKE 'DROP TABLE%' AND wait_event_type = 'Lock'",
        );
        drop(first);
        wait_for("SELECT state <> 'loading' FROM dyno_tables WHERE name = 'sbtest1'");
        drop(second);
    });
    server.assert_whole(&options);
    let left = "SELECT relname, relpages - relallvisible FROM pg_class \
         WHERE relname IN ('sbtest1', 'sbtest2') ORDER BY 1";
    assert_eq!(server.sql(left), [["sbtest1", "0"], ["sbtest2", "0"]]);
}

#[test]
fn a_server_that_takes_no_files_gets_the_same_rows_by_insert() {
    let server = MySql::start(&["--skip-log-bin", LAZY_DISK]);
    let options = options(ROWS);
    server.load(&wanted(&options, Mode::Always, 5));
    server.assert_whole(&options);
    assert!(count_of(&server, "Com_insert") > 0);
    server.sql("SET GLOBAL local_infile = 1");
    server.load(&wanted(&options, Mode::Always, 2));
    server.assert_whole(&options);
    assert!(count_of(&server, "Com_load") > 0);
}

#[test]
fn an_interrupted_load_is_never_taken_for_data() {
    let server = MariaDb::start(&["--local-infile=1", LAZY_DISK]);
    // One part more than there are connections.
    let mut options = options(2 * ROWS);
    options.data.tables = 1;
    let wanted = wanted(&options, Mode::Missing, 2);
    let proxy = holding(&server);
    interrupt(&server.url_through(&proxy), &wanted, |news| {
        // Rows are counted when they are sent, and the proxy may be holding them back.
        let stops = has_rows(&news) || proxy.is_holding();
        if stops {
            proxy.release();
        }
        stops
    });
    assert_eq!(server.marked(1).0, "loading");
    let (prepared, told) = server.load(&wanted);
    assert!(prepared.loaded > 0);
    let said = |news: &Progress| matches!(news, Progress::Note(text) if text.contains("interrupted; it is rebuilt"));
    assert!(told.iter().any(said), "{told:?}");
    server.assert_whole(&options);
}

/// Interrupts a load of a server while it builds an index, which waits for whoever has read
/// the table: by default for a day. The load does not get so far before the session that is
/// returned has. `at` is told the session that builds the index.
fn interrupt_index<T: Loaded>(
    server: &T,
    proxy: &Proxy,
    mut at: impl FnMut(&str),
) -> Option<Box<dyn Sql>> {
    let mut options = options(ROWS);
    options.data.tables = 1;
    let mut reader = None;
    let wanted = wanted(&options, Mode::Missing, 1);
    interrupt(&server.url_through(proxy), &wanted, |news| {
        if reader.is_none() && has_rows(&news) {
            let reader = reader.insert(session(&server.url()));
            for sql in ["BEGIN", "SELECT id FROM sbtest1 LIMIT 1"] {
                reader.rows(sql, PATIENCE).unwrap();
            }
            proxy.release();
        }
        let indexing = server.sql(T::INDEXING).concat();
        indexing.iter().for_each(|id| at(id));
        !indexing.is_empty()
    });
    reader
}

fn an_interrupted_index_is_left_by(server: &impl Loaded) {
    let reader = interrupt_index(server, &holding(server), |_| ());
    wait_for_no_index(server);
    drop(reader);
    assert_eq!(server.marked(1).0, "loading");
    let options = options(ROWS);
    let (prepared, notes) = server.load(&wanted(&options, Mode::Missing, 2));
    assert_eq!((prepared.loaded, notes.is_empty()), (2, false));
    server.assert_whole(&options);
}

/// A server hears of an interrupt at once, and may need a moment to leave.
fn wait_for_no_index<T: Loaded>(server: &T) {
    let deadline = Instant::now() + PATIENCE;
    while !server.sql(T::INDEXING).is_empty() {
        assert!(Instant::now() < deadline, "the index is still being built");
    }
}

#[test]
fn an_interrupted_index_is_left_by_every_server_too() {
    let options = ["--local-infile=1", "--skip-log-bin", LAZY_DISK];
    an_interrupted_index_is_left_by(&MariaDb::start(&options));
    an_interrupted_index_is_left_by(&MySql::start(&options));
    an_interrupted_index_is_left_by(&Postgres::start(&[]));
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
        met.get_or_insert_with(|| stranger(id.parse().unwrap(), &other));
    });
    let alive = met.unwrap().rows("SELECT 1", PATIENCE);
    assert!(alive.is_ok(), "somebody else's session was ended");
    drop(reader);
}

/// A session with this number that does something else on the server.
fn stranger(id: u32, server: &Server) -> Box<dyn Sql> {
    let database = open(&server.url("sbtest"));
    loop {
        let mut session = database.connect(PATIENCE).unwrap();
        let own = session.rows("SELECT CONNECTION_ID()", PATIENCE).unwrap();
        let own: u32 = own[0][0].as_deref().unwrap().parse().unwrap();
        // Otherwise more have been here than where it loads.
        assert!(own <= id, "{own}");
        if own == id {
            return session;
        }
    }
}

/// Loads two tables, loses one, and loads again; then meets tables of somebody who only uses the
/// name.
fn keeps_what_is_whole_and_foreign(server: &impl Loaded) {
    let options = options(500);
    let missing = wanted(&options, Mode::Missing, 2);
    server.load(&missing);
    server.sql("DROP TABLE sbtest2");
    let (prepared, _) = server.load(&missing);
    assert_eq!((prepared.found, prepared.loaded), (1, 1));
    server.assert_whole(&options);
    let (prepared, told) = server.load(&missing);
    assert_eq!((prepared.found, prepared.loaded), (2, 0));
    assert!(told.is_empty(), "{told:?}");

    server.sql("DROP TABLE sbtest1, dyno_tables");
    server.sql("CREATE TABLE sbtest1 (name VARCHAR(9))");
    for mode in [Mode::Missing, Mode::Always] {
        let refused = server.refuses(&wanted(&options, mode, 1));
        assert!(refused.to_string().contains("(name)"), "{refused}");
    }
    server.sql("DROP TABLE sbtest1");
    server.sql("CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT)");
    server.sql("INSERT INTO sbtest1 VALUES (7, 7)");
    let mut bulk = wanted(&options, Mode::Missing, 1);
    bulk.workload = WorkloadName::BulkInsert;
    let refused = server.refuses(&bulk);
    assert_eq!(refused.exit, Exit::Usage, "{refused}");
    assert_eq!(server.sql("SELECT id FROM sbtest1"), [["7"]]);
}

#[test]
fn what_is_whole_is_kept_and_what_is_missing_is_added() {
    keeps_what_is_whole_and_foreign(&MariaDb::start(&["--local-infile=1", LAZY_DISK]));
    keeps_what_is_whole_and_foreign(&Postgres::start(&[]));
}

/// Two dynos wait for the lock of a database; the second uses what the first has loaded.
fn is_prepared_by_one_after_the_other<T: Loaded>(server: &T) {
    let options = options(2000);
    let mut holder = session(&server.url());
    holder.rows(T::LOCK, PATIENCE).unwrap();
    let (waits, waiting) = channel();
    let url = server.url();
    let prepare = |waits: Sender<Progress>| {
        let wanted = wanted(&options, Mode::Missing, 2);
        prepare(&url, &wanted, &mut |news| drop(waits.send(news))).unwrap()
    };
    let done = std::thread::scope(|scope| {
        let threads = [waits.clone(), waits].map(|waits| scope.spawn(|| prepare(waits)));
        // Both wait before either looks at a table.
        for _ in 0..2 {
            let news = waiting.recv_timeout(PATIENCE).unwrap();
            assert!(matches!(&news, Progress::Note(note) if note.contains("waiting for it")));
        }
        drop(holder);
        threads.map(|thread| thread.join().unwrap())
    });
    let mut loaded = done.map(|done| (done.loaded, done.found));
    loaded.sort_unstable();
    assert_eq!(loaded, [(0, 2), (2, 0)]);
    server.assert_whole(&options);
}

#[test]
fn two_dynos_prepare_one_database_one_after_the_other() {
    let options = ["--local-infile=1", "--skip-log-bin", LAZY_DISK];
    is_prepared_by_one_after_the_other(&MariaDb::start(&options));
    is_prepared_by_one_after_the_other(&MySql::start(&options));
    is_prepared_by_one_after_the_other(&Postgres::start(&[]));
}

#[test]
fn who_waits_for_another_dyno_can_be_interrupted() {
    let server = MariaDb::start(&[]);
    let mut holder = session(&server.url("sbtest"));
    holder.rows(Server::LOCK, PATIENCE).unwrap();
    let options = options(10);
    let wanted = wanted(&options, Mode::Missing, 1);
    interrupt(&server.url("sbtest"), &wanted, |_| true);
    assert_eq!(server.sql("SHOW TABLES"), Text::new());
}

/// Loads through a proxy that holds everything once rows have arrived.
fn ends_a_load_by_hanging(server: &impl Loaded) {
    let options = options(3 * ROWS);
    let mut wanted = wanted(&options, Mode::Missing, 2);
    wanted.stall_limit = Duration::from_secs(1);
    let refused = prepare(&server.url_through(&holding(server)), &wanted, &mut |_| {});
    let failure = refused.unwrap_err();
    assert!(failure.to_string().contains(" hangs: "), "{failure}");
}

#[test]
fn a_server_that_hangs_ends_the_loading_in_the_end() {
    ends_a_load_by_hanging(&MariaDb::start(&["--local-infile=1", LAZY_DISK]));
    ends_a_load_by_hanging(&Postgres::start(&[]));
}

/// The definitions of all columns, indexes, constraints and sequences.
const CATALOG: [&str; 4] = [
    "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, \
     pg_get_expr(d.adbin, d.adrelid) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
     WHERE c.relname LIKE 'sbtest_' AND a.attnum > 0 ORDER BY 1, a.attnum",
    "SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'sbtest_' ORDER BY 1",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conname LIKE 'sbtest%' ORDER BY 1",
    "SELECT sequencename, data_type, start_value FROM pg_sequences ORDER BY 1",
];

fn sysbench(server: &PostgresServer, database: &str, command: &[&str]) {
    let mut sysbench = Command::new("sysbench");
    sysbench.args(["--db-driver=pgsql", "--pgsql-host=127.0.0.1"]);
    sysbench.args(["--pgsql-user=root", "--tables=2", "--table-size=500"]);
    sysbench.arg(format!("--pgsql-port={}", server.port()));
    sysbench.arg(format!("--pgsql-db={database}")).args(command);
    let output = sysbench.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn tables_are_those_of_sysbench_and_either_drives_the_others() {
    let server = Postgres::start(&[]);
    server.sql("CREATE DATABASE theirs");
    let (options, theirs) = (options(500), server.url("theirs"));
    let wanted = wanted(&options, Mode::Missing, 2);
    server.load(&wanted);
    sysbench(&server, "theirs", &["oltp_read_write", "prepare"]);
    let [mut ours, mut other] = [&server.url("sbtest"), &theirs].map(|url| session(url));
    for catalog in CATALOG {
        let [ours, other] = [&mut ours, &mut other].map(|one| one.rows(catalog, PATIENCE));
        assert_eq!(ours.unwrap(), other.unwrap());
    }
    let mut notes = Vec::new();
    let prepared = prepare(&theirs, &wanted, &mut |note| notes.push(note)).unwrap();
    assert_eq!((prepared.found, prepared.loaded), (2, 0));
    assert_eq!(notes.len(), 2, "{notes:?}");
    let events = ["--events=20", "--time=0", "--threads=2"];
    let run = [&events[..], &["oltp_read_write", "run"]].concat();
    sysbench(&server, "sbtest", &run);
    sysbench(&server, "sbtest", &["--events=20", "oltp_insert", "run"]);
}

#[test]
fn every_row_and_index_entry_is_read_into_the_buffers() {
    // A table is more than a quarter of it.
    let mut server = Postgres::start(&["shared_buffers=32MB"]);
    let options = options(ROWS);
    server.load(&wanted(&options, Mode::Missing, 2));
    server.sql("CREATE EXTENSION pg_buffercache");
    server.stop();
    server.restart();
    let database = open(&server.url("sbtest"));
    let read = database.read_tables(&options, &AtomicBool::new(false));
    read.unwrap();
    let cold = "SELECT c.relname FROM pg_class c WHERE c.relname IN \
        ('sbtest1', 'sbtest2', 'sbtest1_pkey', 'sbtest2_pkey', 'k_1', 'k_2') \
        AND (SELECT count(*) FROM pg_buffercache b WHERE b.relfilenode = pg_relation_filenode(c.oid) \
             AND b.relforknumber = 0) < 0.9 * pg_relation_size(c.oid) / 8192";
    assert_eq!(server.sql(cold), Text::new());
}
