//! Members that are killed or far away.

use testkit::{MariaDb, Proxy};

use super::*;
use crate::Exit;

#[test]
fn a_primary_that_is_far_away_is_found_and_the_search_can_be_interrupted() {
    let mut server = MariaDb::start(&[]);
    server.sql("CREATE DATABASE far");
    let delay = Duration::from_millis(300);
    let proxies = [(); 2].map(|()| Proxy::delaying(server.port(), delay));
    let [one, other] = proxies.each_ref().map(Proxy::port);
    let url = format!("mysql://root@127.0.0.1:{one},127.0.0.1:{other}/far");
    let engine = engine::of_url(&url).unwrap();
    let database = engine.open(&url, &engine::Access::default(), None).unwrap();
    let cluster = Cluster::found(&database, 1);
    find_primary(&cluster, &AtomicBool::new(false)).unwrap();

    server.kill();
    let begun = Instant::now();
    let failure = find_primary(&cluster, &AtomicBool::new(true)).unwrap_err();
    assert_eq!(failure.exit, Exit::Interrupted, "{failure:?}");
    assert!(begun.elapsed() < FIND_LIMIT);
}

#[test]
fn a_single_server_accepts_writes_until_it_is_killed() {
    let keep = tempfile::tempdir().unwrap();
    let node = crate::for_tests::node(keep.path());
    let cluster = Cluster::of(vec![node], &AtomicBool::new(false)).unwrap();
    create_table(&cluster).unwrap();
    let mut probe = MemberProbe::new(&cluster, cluster.primary());
    // On a busy machine, the first probe may miss its limit.
    assert!((0..10).any(|_| probe.accepts_writes()));
    cluster.primary().lock().unwrap().kill();
    assert!(probe.write().is_err());
}
