//! What the tests of loading share.

use engine::Failure;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Access;
use engine::data::{Listener, Mode, Prepared, Progress, Wanted};
use testkit::Proxy;
use workload::name::WorkloadName;
use workload::options::{Data, Options};
use workload::rows::{Checksum, DataSpec, TableRows};

/// A whole part, and one of a single row.
pub(crate) const ROWS: u64 = 50_001;
const SEED: u64 = 42;
/// More than is sent before the first rows, and far less than a part.
pub(crate) const SOME_BYTES: u64 = 1 << 20;
/// Long enough for a machine that is busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) fn options(rows: u64) -> Options {
    Options {
        data: Data {
            tables: 2,
            rows,
            ..Data::default()
        },
        ..Options::default()
    }
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
    let wanted = Wanted {
        stall_limit: Duration::from_secs(1),
        ..wanted(&options, Mode::Missing, 2)
    };
    let listener = Listener {
        tell: &mut |_| {},
        interrupted: &AtomicBool::new(false),
    };
    let proxy = holding(server);
    let failure = prepare(&url(proxy.port()), &wanted, listener).unwrap_err();
    assert!(failure.to_string().contains(" hangs: "), "{failure}");
}
