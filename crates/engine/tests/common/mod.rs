//! What the tests of loading share.
#![allow(dead_code, reason = "each test uses some of it")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::Access;
use engine::data::{Listener, Mode, PrepareError, Prepared, Progress, Wanted};
use workload::name::WorkloadName;
use workload::options::Options;
use workload::rows::{Checksum, DataSpec, TableRows};

/// A whole part, and one of a single row.
pub(crate) const ROWS: u64 = 50_001;
const SEED: u64 = 42;

pub(crate) fn options(rows: u64) -> Options {
    Options {
        tables: 2,
        rows,
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
        stall_limit: Duration::from_secs(60),
    }
}

/// Prepares the database at `url`.
pub(crate) fn prepare(
    url: &str,
    wanted: &Wanted<'_>,
    listener: Listener<'_>,
) -> Result<Prepared, PrepareError> {
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
        rows: options.rows,
        distribution: options.distribution,
    };
    let rows = TableRows::new(&data, table).unwrap();
    let mut checksum = Checksum::default();
    (1..=options.rows).for_each(|key| checksum.add(&rows.row(key)));
    checksum
}

/// A port that leads to a server until `holds`, and from then on takes everything and
/// gives nothing.
pub(crate) fn swallowing(server: u16, holds: &Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let holds = Arc::clone(holds);
    let lead = move || {
        for near in listener.incoming().map_while(Result::ok) {
            let far = TcpStream::connect(("127.0.0.1", server)).unwrap();
            let ways = [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far, near),
            ];
            for (mut from, mut to) in ways {
                let holds = Arc::clone(&holds);
                std::thread::spawn(move || {
                    let mut bytes = [0; 64 * 1024];
                    while let Ok(count @ 1..) = from.read(&mut bytes) {
                        if !holds.load(Ordering::Relaxed) && to.write_all(&bytes[..count]).is_err()
                        {
                            return;
                        }
                    }
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    };
    std::thread::spawn(lead);
    port
}

/// Loads through a port that hangs once rows have arrived.
pub(crate) fn assert_a_hanging_server_ends_the_load(server: u16, url: impl Fn(u16) -> String) {
    let options = options(20_000_000);
    let wanted = Wanted {
        stall_limit: Duration::from_secs(1),
        ..wanted(&options, Mode::Missing, 2)
    };
    let holds = Arc::new(AtomicBool::new(false));
    let listener = Listener {
        tell: &mut |news| {
            if matches!(news, Progress::Loading { rows: 1.., .. }) {
                holds.store(true, Ordering::Relaxed);
            }
        },
        interrupted: &AtomicBool::new(false),
    };
    let begun = Instant::now();
    let failure = prepare(&url(swallowing(server, &holds)), &wanted, listener).unwrap_err();
    assert!(failure.to_string().contains(" hangs: "), "{failure}");
    assert!(begun.elapsed() < Duration::from_secs(90), "{begun:?}");
}
