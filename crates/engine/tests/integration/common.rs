//! What the tests of loading share.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use engine::data::{Listener, Mode, Prepared, Progress, Wanted};
use engine::{Access, Exit, Failure};
use testkit::Proxy;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::rows::{Checksum, DataSpec, TableRows};

/// A whole part, and one of a single row.
pub(crate) const ROWS: u64 = 50_001;
const SEED: u64 = 42;
/// More than is sent before the first rows, and far less than a part.
pub(crate) const SOME_BYTES: u64 = 1 << 20;
/// Long enough for a machine that is busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) fn options(rows: u64) -> Options {
    let mut options = Options::default();
    (options.data.tables, options.data.rows) = (2, rows);
    options
}

pub(crate) fn wanted(options: &Options, mode: Mode, connections: u32) -> Wanted<'_> {
    Wanted {
        workload: WorkloadName::OltpReadWrite,
        options,
        seed: SEED,
        users: 1,
        mode,
        connections,
        stall_limit: PATIENCE,
    }
}

/// Prepares the database at `url`.
pub(crate) fn prepare(
    url: &str,
    wanted: &Wanted<'_>,
    listener: Listener<'_>,
) -> Result<Prepared, Failure> {
    let engine = engine::of_url(url).unwrap();
    let database = engine.open(url, &Access::default(), None).unwrap();
    database.prepare(wanted, listener)
}

/// Prepares it to the end; also what was reported.
pub(crate) fn load(url: &str, wanted: &Wanted<'_>) -> (Prepared, Vec<Progress>) {
    let mut reported = Vec::new();
    let listener = Listener {
        tell: &mut |news| reported.push(news),
        interrupted: &AtomicBool::new(false),
    };
    let prepared = prepare(url, wanted, listener).unwrap();
    (prepared, reported)
}

/// What the rows are, computed here.
pub(crate) fn expected(options: &Options, table: u32) -> Checksum {
    let data = DataSpec {
        seed: SEED,
        rows: options.data.rows,
        distribution: options.distribution,
    };
    let rows = TableRows::new(&data, table).unwrap();
    let mut checksum = Checksum::default();
    (1..=options.data.rows).for_each(|key| checksum.add(&rows.row(key)));
    checksum
}

/// A checksum from its two cells.
pub(crate) fn checksum(cells: &[String]) -> Checksum {
    Checksum {
        count: cells[0].parse().unwrap(),
        xor: cells[1].parse().unwrap(),
    }
}

/// What dyno wrote down about a table: its state and checksum.
pub(crate) fn marked(sql: impl Fn(&str) -> Vec<Vec<String>>, table: u32) -> (String, Checksum) {
    let cells = sql(&format!(
        "SELECT state, row_count, checksum FROM dyno_tables WHERE name = 'sbtest{table}'"
    ))
    .concat();
    (cells[0].clone(), checksum(&cells[1..]))
}

/// Prepares it; what is told is lost.
pub(crate) fn refused(url: &str, wanted: &Wanted<'_>) -> Failure {
    let listener = Listener {
        tell: &mut |_| {},
        interrupted: &AtomicBool::new(false),
    };
    prepare(url, wanted, listener).unwrap_err()
}

/// Loads two tables, loses one, and loads again.
pub(crate) fn assert_missing_tables_are_added(
    url: &str,
    sql: impl Fn(&str),
    assert_whole: impl Fn(&Options),
) {
    let options = options(500);
    let wanted = wanted(&options, Mode::Missing, 2);
    load(url, &wanted);
    sql("DROP TABLE sbtest2");
    let (prepared, _) = load(url, &wanted);
    assert_eq!((prepared.found, prepared.loaded), (1, 1));
    assert_whole(&options);
    let (prepared, told) = load(url, &wanted);
    assert_eq!((prepared.found, prepared.loaded), (2, 0));
    assert!(told.is_empty(), "{told:?}");
}

/// A `sbtest1` of somebody who only uses the name.
pub(crate) fn assert_bulk_inserts_drop_no_foreign_table(
    url: &str,
    sql: impl Fn(&str) -> Vec<Vec<String>>,
) {
    sql("CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT)");
    sql("INSERT INTO sbtest1 VALUES (7, 7)");
    let options = options(10);
    let mut bulk = wanted(&options, Mode::Missing, 1);
    bulk.workload = WorkloadName::BulkInsert;
    let refused = refused(url, &bulk);
    assert_eq!(refused.exit, Exit::Usage, "{refused}");
    assert_eq!(sql("SELECT id FROM sbtest1"), [["7"]]);
}

/// Two dynos wait for the lock of a database, which `release` releases; the second uses what
/// the first has loaded.
pub(crate) fn assert_one_prepares_after_the_other(
    url: &str,
    options: &Options,
    release: impl FnOnce(),
) {
    let none = AtomicBool::new(false);
    let (waits, waiting) = channel();
    let prepare = |waits: Sender<Progress>| {
        let listener = Listener {
            tell: &mut |news| drop(waits.send(news)),
            interrupted: &none,
        };
        prepare(url, &wanted(options, Mode::Missing, 2), listener).unwrap()
    };
    let done = std::thread::scope(|scope| {
        let threads = [waits.clone(), waits].map(|waits| scope.spawn(|| prepare(waits)));
        // Both wait before either looks at a table.
        for _ in 0..2 {
            let news = waiting.recv_timeout(PATIENCE).unwrap();
            assert!(matches!(&news, Progress::Note(note) if note.contains("waiting for it")));
        }
        release();
        threads.map(|thread| thread.join().unwrap())
    });
    let mut loaded = done.map(|done| (done.loaded, done.found));
    loaded.sort_unstable();
    assert_eq!(loaded, [(0, 2), (2, 0)]);
}

/// A proxy to a server that lets some rows through, and holds everything after that.
pub(crate) fn holding(server: u16) -> Proxy {
    Proxy::holding(std::iter::repeat(server), SOME_BYTES)
}

/// Whether a load has begun to send rows.
pub(crate) fn has_rows(news: &Progress) -> bool {
    !matches!(news, Progress::Note(_) | Progress::Loading { rows: 0, .. })
}

/// Loads through a proxy that holds everything once rows have arrived.
pub(crate) fn assert_a_hanging_server_ends_the_load(server: u16, url: impl Fn(u16) -> String) {
    let options = options(3 * ROWS);
    let mut wanted = wanted(&options, Mode::Missing, 2);
    wanted.stall_limit = Duration::from_secs(1);
    let proxy = holding(server);
    let failure = refused(&url(proxy.port()), &wanted);
    assert!(failure.to_string().contains(" hangs: "), "{failure}");
}
