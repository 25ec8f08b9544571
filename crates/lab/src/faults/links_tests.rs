use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Server;

use super::*;
use crate::for_tests;
use crate::home::Home;
use crate::site::{Switch, ThisHost};

static NEVER: AtomicBool = AtomicBool::new(false);
/// Sufficient even on a slow machine.
const LIMIT: Duration = Duration::from_secs(300);

/// `None`, and a skipped test, where this user may not create a switch.
fn switch(home: &Home) -> Option<Arc<Switch>> {
    match Switch::new(home) {
        Ok(switch) => Some(Arc::new(switch)),
        Err(error) => {
            let remedy = error.remedy.as_deref().unwrap();
            assert!(
                remedy.contains("root") || remedy.contains("iproute2"),
                "{error}"
            );
            testkit::skip(&error.to_string());
            None
        }
    }
}

/// Three servers with asynchronous replication, each in a network namespace of its own; `None`
/// where this user may not create namespaces.
fn cluster(
    home: &Home,
    engine: &'static dyn Server,
    settings: &[(&str, &str)],
    keep: &Path,
) -> Option<Cluster> {
    let switch = switch(home)?;
    let sites: [Arc<dyn Site>; 3] = [(); 3].map(|()| -> Arc<dyn Site> {
        Arc::new(ThisHost::new(home, &plan::Site::default(), false, Some(&switch)).unwrap())
    });
    let nodes = for_tests::nodes(home, engine, Some("asynchronous"), &sites, settings, keep);
    Some(Cluster::of(nodes, &NEVER).unwrap())
}

fn sql(cluster: &Cluster, index: usize, sql: &str) -> Vec<Vec<Option<String>>> {
    let database = &cluster.members()[index].database;
    let mut connection = database.connect(LIMIT).unwrap();
    connection.rows(sql, LIMIT).unwrap()
}

fn add_row(cluster: &Cluster) {
    sql(cluster, 0, "INSERT INTO t VALUES ('x')");
}

fn rows(cluster: &Cluster, index: usize) -> u32 {
    let has_table = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 't'";
    let count = |text: &str| -> u32 {
        let rows = sql(cluster, index, text);
        rows[0][0].as_deref().unwrap().parse().unwrap()
    };
    // The table itself is replicated, too.
    match count(has_table) {
        0 => 0,
        _ => count("SELECT COUNT(*) FROM t"),
    }
}

/// Waits until the replica has `expected` rows.
fn replicated(cluster: &Cluster, expected: u32) {
    replicated_to(cluster, 1, expected);
}

fn replicated_to(cluster: &Cluster, index: usize, expected: u32) {
    let deadline = Instant::now() + LIMIT;
    while rows(cluster, index) != expected {
        assert!(Instant::now() < deadline, "{} rows", rows(cluster, index));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Only members on the primary's side, and a bridge, receive what it writes.
fn has_sides(cluster: &Cluster, before: u32) {
    let all = || [1, 2].map(|index| replicated_to(cluster, index, rows(cluster, 0)));
    all();
    for (count, side, spared, reached) in [(1, &[0, 1][..], &[][..], 1), (2, &[0], &[2], 2)] {
        let cut = cluster.separate(side, spared, Lost::Both).unwrap();
        add_row(cluster);
        replicated_to(cluster, reached, before + count);
        assert_eq!(rows(cluster, 3 - reached), before + count - 1);
        cut.heal().unwrap();
        all();
    }
}

/// Writes to the primary do not reach the replicas, while clients on this host reach every member.
fn does_not_replicate(cluster: &Cluster, before: u32) {
    add_row(cluster);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(rows(cluster, 0), before + 1);
    assert_eq!(rows(cluster, 1), before);
}

fn breaks_and_heals(engine: &'static dyn Server, settings: &[(&str, &str)]) {
    let dir = tempfile::tempdir().unwrap();
    let home = for_tests::home();
    let Some(cluster) = cluster(&home, engine, settings, dir.path()) else {
        return;
    };
    sql(&cluster, 0, "CREATE TABLE t (c TEXT)");
    add_row(&cluster);
    replicated(&cluster, 1);
    let cut = cluster.separate(&[0], &[], Lost::Both).unwrap();
    does_not_replicate(&cluster, 1);
    cut.heal().unwrap();
    replicated(&cluster, 2);
    // Cut off twice: the member stays cut off until both cuts are healed.
    let [first, second] = [
        cluster.separate(&[1], &[], Lost::Both),
        cluster.separate(&[0], &[], Lost::Sent),
    ];
    first.unwrap().heal().unwrap();
    does_not_replicate(&cluster, 2);
    second.unwrap().heal().unwrap();
    replicated(&cluster, 3);
    // Packets to the replica still arrive.
    let cut = cluster.separate(&[1], &[], Lost::Sent).unwrap();
    add_row(&cluster);
    replicated(&cluster, 4);
    cut.heal().unwrap();
    let slow = SlowLink {
        bytes_per_s: Some(20_000),
        delay: Some(Duration::from_millis(300)),
        loss: None,
    };
    let slow = cluster.slow_down(0, &slow).unwrap();
    let begun = Instant::now();
    let row: String = (0..60_000_u64).map(letter).collect();
    sql(&cluster, 0, &format!("INSERT INTO t VALUES ('{row}')"));
    replicated(&cluster, 5);
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(1), "60 kB took {took:?}");
    slow.heal().unwrap();
    add_row(&cluster);
    replicated(&cluster, 6);
    has_sides(&cluster, 6);
    let is_whole = || cluster.members()[1].lock().unwrap().is_whole();
    assert!(is_whole());
    if engine.name() == engine::MARIADB.name() {
        sql(&cluster, 1, "STOP SLAVE");
        assert!(!is_whole());
    }
    let prefix = own_prefix(&home);
    assert_eq!(namespaces(&prefix), 4);
    for node in cluster.into_parts().0.into_iter().rev() {
        node.end().unwrap();
    }
    assert_eq!(namespaces(&prefix), 0);
}

/// A text of these letters compresses poorly.
fn letter(number: u64) -> char {
    let hash = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31);
    let hash = hash.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40;
    char::from_digit((hash % 36) as u32, 36).unwrap()
}

fn own_prefix(home: &Home) -> String {
    let run = home.run_dir().file_name().unwrap();
    format!("dyno-{}-", run.to_str().unwrap())
}

fn namespaces(prefix: &str) -> usize {
    let all = std::fs::read_dir("/run/netns").unwrap().flatten();
    all.filter(|entry| entry.file_name().to_str().unwrap().starts_with(prefix))
        .count()
}

#[test]
fn the_links_of_mariadb_members_break_and_heal() {
    breaks_and_heals(engine::MARIADB, &[]);
}

#[test]
fn the_links_of_postgresql_members_break_and_heal() {
    // A standby requires at least as many as the server that filled the empty data directory had.
    breaks_and_heals(engine::POSTGRES, &[("max_wal_senders", "10")]);
}

#[test]
fn members_that_share_an_interface_cannot_be_cut_off() {
    let keep = tempfile::tempdir().unwrap();
    let node = for_tests::node(keep.path());
    let cluster = Cluster::of(vec![node], &NEVER).unwrap();
    let error = cluster.separate(&[0], &[], Lost::Both).unwrap_err();
    assert!(
        error
            .remedy
            .as_deref()
            .unwrap()
            .contains("topology.network"),
        "{error}"
    );
}
