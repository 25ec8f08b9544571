//! Data that was not loaded in one go, or not by dyno.

use crate::common::{Program, Proxy, database, mariadb, server_checksum, sysbench, wait_until};
use rustix::process::Signal;
use workload::distribution::Distribution;
use workload::rows::{Checksum, TableRows};

/// Three parts.
const ROWS: u64 = 150_000;
/// Far less than a part, and more than is sent before the first rows.
const SOME_BYTES: u64 = 1 << 20;

fn expected(rows: u64, table: u32) -> Checksum {
    let made = TableRows::new(1, table, rows, &Distribution::default()).unwrap();
    let mut checksum = Checksum::default();
    (1..=rows).for_each(|key| checksum.add(&made.row(key)));
    checksum
}

fn prepare(url: &str) -> Program {
    let sizes = format!("--tables 1 --rows {ROWS} --threads 2 --prepare only");
    Program::bench(url).args(&sizes)
}

#[test]
fn a_load_that_was_killed_is_noticed_and_built_anew() {
    let server = mariadb();
    let url = database(&*server, "killed");
    let proxy = Proxy::holding(std::iter::repeat(server.port()), SOME_BYTES);
    let held = format!("mysql://root@127.0.0.1:{}/killed", proxy.port());
    let loading = prepare(&held).start();
    wait_until("the first rows", || proxy.is_holding());
    loading.signal(Signal::KILL);
    assert_eq!(loading.wait().code(), None);
    drop(proxy);
    let state = "SELECT state FROM killed.dyno_tables";
    assert_eq!(server.sql(state).concat(), ["loading"]);
    let again = prepare(&url).succeeds();
    again.tells(&["sbtest1: its load was interrupted; it is rebuilt"]);
    let found = server_checksum(&server, "killed.sbtest1");
    assert_eq!(found, expected(ROWS, 1));
    assert_eq!(server.sql(state).concat(), ["ready"]);
}

#[test]
fn dyno_drives_what_sysbench_has_loaded() {
    let server = mariadb();
    let url = database(&*server, "theirs");
    let words = "--tables=2 --table-size=1000 prepare";
    sysbench(&*server, "theirs", "oltp_read_write", words);
    let bench = |rows: u64| {
        Program::bench(&url)
            .args("--tables 2 --threads 3 --warmup 0s --events 200")
            .args(&format!("--rows {rows}"))
            .run()
    };
    let done = bench(1000).succeeds();
    done.tells(&["sbtest1 was not loaded by dyno"]);
    let trial = done.trial();
    assert_eq!(trial.transactions.count, 200);
    assert_eq!(trial.lookups.missed, 0, "{:?}", trial.lookups);
    bench(2000).fails(2, &["ends at id 1000", "--prepare always"]);
}
