//! Loading into PostgreSQL: the same rows however they get there, and the tables that sysbench
//! makes.

use engine::Failure;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use client::postgres::{Connection, Target};
use client::reactor::Reactor;
use engine::Access;
use engine::data::{Listener, Mode};
use testkit::{Postgres, PostgresServer};
use workload::options::Options;
use workload::rows::Checksum;

use crate::common::{
    PATIENCE, ROWS, assert_a_hanging_server_ends_the_load,
    assert_bulk_inserts_drop_no_foreign_table, assert_missing_tables_are_added,
    assert_one_prepares_after_the_other, expected, has_rows, holding, load, marked, options,
    prepare, refused, wanted,
};

/// The database `name` of a server, which the tests share.
fn fresh(server: &PostgresServer, name: &str) -> String {
    server.sql(&format!("CREATE DATABASE {name}"));
    server.url(name)
}

fn open(url: &str) -> (Reactor, Connection) {
    let target = Target::parse(url, None, "root", &client::TlsOptions::default()).unwrap();
    let reactor = Reactor::new().unwrap();
    let opened = reactor.block_on(Connection::open(&target)).unwrap();
    (reactor, opened.unwrap())
}

fn sql(url: &str, text: &str) -> Vec<Vec<String>> {
    let (reactor, mut connection) = open(url);
    let rows = reactor.block_on(connection.rows(text)).unwrap().unwrap();
    let text = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect();
    rows.into_iter().map(text).collect()
}

/// The rows that are stored, in dyno's form.
fn stored(url: &str, table: u32) -> Checksum {
    let rows = sql(url, &format!("SELECT id, k, c, pad FROM sbtest{table}"));
    let mut checksum = Checksum::default();
    for row in rows {
        // CHAR pads with a space.
        let columns = row.iter().map(|column| column.trim_end());
        let crc = crc32fast::hash(columns.collect::<Vec<_>>().join(",").as_bytes());
        checksum.merge(Checksum { count: 1, xor: crc });
    }
    checksum
}

fn assert_whole(url: &str, options: &Options) {
    for table in 1..=options.data.tables {
        let expected = expected(options, table);
        assert_eq!(stored(url, table), expected, "sbtest{table}");
        let marked = marked(|text| sql(url, text), table);
        assert_eq!(marked, ("ready".to_owned(), expected));
    }
}

#[test]
fn any_number_of_connections_loads_the_same_rows() {
    let server = Postgres::start(&[]);
    let url = server.url("sbtest");
    let options = options(ROWS);
    for connections in [1, 5] {
        let (prepared, _) = load(&url, &wanted(&options, Mode::Always, connections));
        assert_eq!((prepared.loaded, prepared.rows), (2, 2 * ROWS));
        assert_whole(&url, &options);
    }
    // The next id, the statistics and the visibility map are there.
    let next = sql(&url, "INSERT INTO sbtest1 (k) VALUES (1) RETURNING id");
    assert_eq!(next, [[(ROWS + 1).to_string()]]);
    let settled = "SELECT reltuples, relallvisible > 0 FROM pg_class WHERE relname = 'sbtest2'";
    assert_eq!(sql(&url, settled), [[ROWS.to_string(), "t".to_owned()]]);
}

#[test]
fn what_is_whole_is_kept_and_what_is_missing_is_added() {
    let server = Postgres::start(&[]);
    let url = fresh(&server, "kept");
    let text = |text: &str| drop(sql(&url, text));
    let whole = |options: &Options| assert_whole(&url, options);
    assert_missing_tables_are_added(&url, text, whole);
    // Tables that are not dyno's: of another schema, and in another's way.
    let url = fresh(&server, "others");
    sql(&url, "CREATE TABLE sbtest1 (name TEXT)");
    for mode in [Mode::Missing, Mode::Always] {
        let refused = refused(&url, &wanted(&options(500), mode, 1));
        assert!(refused.to_string().contains("(name)"), "{refused}");
    }
    sql(&url, "DROP TABLE sbtest1");
    assert_bulk_inserts_drop_no_foreign_table(&url, |text| sql(&url, text));
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
    let (ours, theirs) = (fresh(&server, "ours"), fresh(&server, "theirs"));
    let options = options(500);
    load(&ours, &wanted(&options, Mode::Missing, 2));
    sysbench(&server, "theirs", &["oltp_read_write", "prepare"]);
    for catalog in CATALOG {
        assert_eq!(sql(&ours, catalog), sql(&theirs, catalog));
    }
    let (prepared, notes) = load(&theirs, &wanted(&options, Mode::Missing, 2));
    assert_eq!((prepared.found, prepared.loaded), (2, 0));
    assert_eq!(notes.len(), 2, "{notes:?}");
    let events = ["--events=20", "--time=0", "--threads=2"];
    let run = [&events[..], &["oltp_read_write", "run"]].concat();
    sysbench(&server, "ours", &run);
    sysbench(&server, "ours", &["--events=20", "oltp_insert", "run"]);
}

#[test]
fn every_row_and_index_entry_is_read_into_the_buffers() {
    // A table is more than a quarter of it.
    let mut server = Postgres::start(&["shared_buffers=32MB"]);
    let options = options(ROWS);
    load(&server.url("sbtest"), &wanted(&options, Mode::Missing, 2));
    let engine = engine::of_url("postgres://").unwrap();
    server.sql("CREATE EXTENSION pg_buffercache");
    server.stop("fast");
    server.restart();
    let opened = engine.open(&server.url("sbtest"), &Access::default(), None);
    let read = opened
        .unwrap()
        .read_tables(&options, &AtomicBool::new(false));
    read.unwrap();
    let cold = "SELECT c.relname FROM pg_class c WHERE c.relname IN \
        ('sbtest1', 'sbtest2', 'sbtest1_pkey', 'sbtest2_pkey', 'k_1', 'k_2') \
        AND (SELECT count(*) FROM pg_buffercache b WHERE b.relfilenode = pg_relation_filenode(c.oid) \
             AND b.relforknumber = 0) < 0.9 * pg_relation_size(c.oid) / 8192";
    assert_eq!(server.sql(cold), Vec::<Vec<String>>::new());
}

/// The index that is being built.
const INDEXING: &str =
    "SELECT pid FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE%' AND state = 'active'";

#[test]
fn an_interrupted_load_is_never_taken_for_data_and_left_by_the_server_too() {
    let server = Postgres::start(&[]);
    let url = server.url("sbtest");
    let mut options = options(ROWS);
    options.data.tables = 1;
    let proxy = holding(server.port());
    let interrupted = AtomicBool::new(false);
    let mut reader = None;
    let listener = Listener {
        tell: &mut |news| {
            if reader.is_none() && has_rows(&news) {
                // The index waits for whoever has read the table.
                let (reactor, mut connection) = open(&url);
                let read = "BEGIN; SELECT id FROM sbtest1 LIMIT 1";
                reactor.block_on(connection.run(read)).unwrap().unwrap();
                reader = Some((reactor, connection));
                proxy.release();
            }
            if !sql(&url, INDEXING).is_empty() {
                interrupted.store(true, Ordering::Relaxed);
            }
        },
        interrupted: &interrupted,
    };
    let held = format!("postgres://root@127.0.0.1:{}/sbtest", proxy.port());
    let stopped = prepare(&held, &wanted(&options, Mode::Missing, 1), listener);
    let is_interrupted = stopped.as_ref().is_err_and(Failure::is_interrupted);
    assert!(is_interrupted, "{stopped:?}");
    let deadline = Instant::now() + PATIENCE;
    while !sql(&url, INDEXING).is_empty() {
        assert!(Instant::now() < deadline, "the index is still being built");
    }
    drop(reader);
    assert_eq!(marked(|text| sql(&url, text), 1).0, "loading");
    let (prepared, notes) = load(&url, &wanted(&options, Mode::Missing, 2));
    assert_eq!((prepared.loaded, notes.is_empty()), (1, false));
    assert_whole(&url, &options);
}

#[test]
fn two_dynos_prepare_one_database_one_after_the_other() {
    let server = Postgres::start(&[]);
    let (url, options) = (server.url("sbtest"), options(2000));
    let (reactor, mut holder) = open(&url);
    let lock = "SELECT pg_advisory_lock(1685679727, 1)";
    reactor.block_on(holder.run(lock)).unwrap().unwrap();
    assert_one_prepares_after_the_other(&url, &options, || {
        reactor.block_on(holder.close()).unwrap();
    });
}

#[test]
fn a_server_that_hangs_ends_the_loading_in_the_end() {
    let server = Postgres::start(&[]);
    let url = |port| format!("postgres://root@127.0.0.1:{port}/sbtest");
    assert_a_hanging_server_ends_the_load(server.port(), url);
}
