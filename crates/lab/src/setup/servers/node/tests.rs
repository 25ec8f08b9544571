//! Members that restart, of engines whose members keep notes of their own about the cluster.

mod intruders;

use std::path::Path;

use engine::Server;
use workload::session::FailureKind;

use super::*;
use crate::failure::Exit;
use crate::for_tests;
use crate::setup::template::DATABASE;
use crate::site::ThisHost;

static NEVER: AtomicBool = AtomicBool::new(false);

fn members(count: usize, keep: &Path, options: &str) -> Vec<Node> {
    let config = [
        ("innodb_buffer_pool_size", "64M"),
        ("innodb_flush_log_at_trx_commit", "2"),
        ("wsrep_provider_options", options),
    ];
    cluster(engine::MARIADB, "galera", count, &config, keep)
}

/// The members of a new cluster.
fn cluster(
    engine: &'static dyn Server,
    kind: &str,
    count: usize,
    config: &[(&str, &str)],
    keep: &Path,
) -> Vec<Node> {
    let sites = vec![Arc::new(ThisHost::default()) as Arc<dyn Site>; count];
    let home = for_tests::home();
    for_tests::nodes(&home, engine, Some(kind), &sites, config, keep)
}

const LIMIT: Duration = Duration::from_secs(60);

fn connect(node: &Node) -> Box<dyn engine::Sql> {
    node.open(DATABASE).unwrap().connect(LIMIT).unwrap()
}

/// The first cell of the reply; runs in database `sbtest`.
fn ask(node: &Node, sql: &str) -> String {
    first_cell(&mut *connect(node), sql)
}

fn first_cell(connection: &mut dyn engine::Sql, sql: &str) -> String {
    let rows = connection.rows(sql, LIMIT).unwrap();
    rows.into_iter()
        .flatten()
        .flatten()
        .next()
        .unwrap_or_default()
}

/// Repeats a write until the members have agreed on who is left.
fn write_to_group(node: &Node, sql: &str) {
    let deadline = Instant::now() + LIMIT;
    loop {
        match connect(node).rows(sql, LIMIT) {
            Err(error) if error.kind == FailureKind::Away && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            written => return drop(written.unwrap()),
        }
    }
}

/// What the server has written to its log since its last start.
fn last_run(node: &Node) -> String {
    let log = std::fs::read_to_string(node.log_path()).unwrap();
    let (_, last) = log.rsplit_once("Starting MariaDB").unwrap();
    last.to_owned()
}

/// Asserts that the member takes part again and has the rows that were written meanwhile.
fn assert_back(node: &mut Node, rows: &str) {
    node.wait_until_it_replicates(LIMIT, &NEVER).unwrap();
    let mut connection = connect(node);
    // A member in sync may still have to apply what another one committed just now.
    let wait = "SET SESSION wsrep_sync_wait = 1";
    connection.rows(wait, LIMIT).unwrap();
    let counted = first_cell(&mut *connection, "SELECT COUNT(*) FROM t");
    assert_eq!(counted, rows, "{}", last_run(node));
}

#[test]
fn a_member_that_starts_again_gets_what_it_missed() {
    let keep = tempfile::tempdir().unwrap();
    let mut nodes = members(3, keep.path(), "gcache.size=1M; gcache.page_size=1M");
    for node in &mut nodes {
        node.wait_until_it_replicates(LIMIT, &NEVER).unwrap();
        let log = last_run(node);
        assert!(log.contains("state transfer needed: no"), "{log}");
    }
    intruders::cannot_join_galera(&mut nodes, keep.path());
    let [first, second, third] = nodes.as_mut_slice() else {
        panic!("three members");
    };
    ask(first, "CREATE TABLE t (id INT PRIMARY KEY, c LONGTEXT)");

    // It shuts down cleanly and misses little.
    second.stop_process(&NEVER).unwrap();
    ask(first, "INSERT INTO t VALUES (1, '')");
    second.restart(&NEVER).unwrap();
    assert_back(second, "1");
    let log = last_run(second);
    assert!(log.contains("rsync IST completed on joiner"), "{log}");

    // It misses more than the other members keep.
    second.stop_process(&NEVER).unwrap();
    ask(
        first,
        "BEGIN NOT ATOMIC FOR i IN 2..500 DO INSERT INTO t VALUES (i, REPEAT('x', 10000)); \
         END FOR; END",
    );
    second.restart(&NEVER).unwrap();
    assert_back(second, "500");
    let log = last_run(second);
    assert!(log.contains("rsync SST completed on joiner"), "{log}");

    // It is killed, and starts while the others still wait for it.
    third.kill();
    third.restart(&NEVER).unwrap();
    write_to_group(first, "INSERT INTO t VALUES (501, '')");
    assert_back(third, "501");
    let log = last_run(third);
    assert!(!log.contains("SST completed"), "{log}");

    // All members stop. The last one has the most data and bootstraps the cluster.
    for node in [&mut *first, &mut *third, &mut *second] {
        assert!(node.group_size().unwrap().is_some());
        node.stop_process(&NEVER).unwrap();
        assert_eq!(node.group_size().unwrap(), None);
    }
    let position = |node: &mut Node| node.position(&NEVER).unwrap().unwrap();
    assert!(position(second) > position(first));
    second.start_again(true, &NEVER).unwrap();
    first.restart(&NEVER).unwrap();
    assert_back(second, "501");
    assert_back(first, "501");

    // If a member ends while dyno waits for it, its log is reported.
    let pid = i32::try_from(first.pid().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let error = first.wait_until_it_replicates(LIMIT, &NEVER).unwrap_err();
    assert_eq!(error.exit, Exit::Server, "{error}");
}
