//! The ledger beside a load on a real server whose commits are lost, made up, or doubled.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::data::{Listener, Mode};
use measure::ledger::LedgerSummary;

use crate::for_tests::{Silent, run_of, trial};
use crate::{Cluster, Database, Instance, Rig, drive};

/// The result of the ledger beside a load, while `during` manipulates the server.
fn judged(time_s: u64, during: impl FnOnce(&Cluster) + Send) -> LedgerSummary {
    let keep = tempfile::tempdir().unwrap();
    let (node, never) = (crate::for_tests::node(keep.path()), AtomicBool::new(false));
    let mut trial = trial();
    trial.planned.load.time = Duration::from_secs(time_s);
    trial.planned.load.think = Duration::from_millis(20);
    trial.planned.ledger = Some(plan::Ledger {
        rate: 100.0,
        replica_reads: 0.0,
    });
    let cluster = Cluster::of(vec![node], &never).unwrap();
    let rig = Rig {
        instances: vec![Instance::on(cluster).unwrap()],
        reset: None,
        reuse_key: None,
    };
    let listener = Listener {
        tell: &mut |_| {},
        interrupted: &never,
    };
    let database = rig.databases().next().unwrap();
    let wanted = trial.wanted(Mode::Missing);
    database.prepare(&wanted, listener).unwrap();
    let mut observer = Silent {
        ledger: keep.path().join("ledger"),
        ..Silent::default()
    };
    let mut run = run_of(&mut observer, &never);
    let mut ledgers = super::open(&trial, &rig, &mut run).unwrap();
    std::thread::scope(|scope| {
        let cluster = &rig.instances[0].cluster;
        scope.spawn(|| during(cluster));
        drive::drive(&trial, &rig, &ledgers, None, &mut run).unwrap();
    });
    let (summary, _) = ledgers.remove(0).verify(&mut [], &mut run);
    rig.end(&mut observer);
    summary
}

fn database(cluster: &Cluster) -> &Database {
    &cluster.primary().database
}

/// The number of transfers in the table.
fn transfers(cluster: &Cluster) -> usize {
    let limit = Duration::from_secs(60);
    let mut sql = database(cluster).connect(limit).unwrap();
    sql.rows("SELECT id FROM dyno_transfers", limit)
        .unwrap()
        .len()
}

fn wait_for_transfers(cluster: &Cluster, count: usize) {
    let began = Instant::now();
    while transfers(cluster) < count {
        assert!(began.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The ledger of a server that is killed and restarts, and the number of transfers just after that.
fn after_a_restart(time_s: u64) -> (LedgerSummary, usize) {
    let mut kept = 0;
    let summary = judged(time_s, |cluster| {
        wait_for_transfers(cluster, 20);
        let mut node = cluster.primary().lock().unwrap();
        node.kill();
        node.start_again(false, &AtomicBool::new(false)).unwrap();
        kept = transfers(cluster);
    });
    (summary, kept)
}

#[test]
fn a_killed_server_that_restarts_loses_no_acknowledged_commit() {
    // A short load may end before the restart on a busy machine.
    let mut runs = [4, 60].into_iter().map(after_a_restart);
    let goes_on = |(summary, kept): &(LedgerSummary, usize)| summary.acknowledged > *kept as u64;
    let (summary, _) = runs.find(goes_on).expect("a commit after the restart");
    assert!(summary.is_intact(), "{summary:?}");
    assert!(summary.failed + summary.unknown > 0, "{summary:?}");
    assert_eq!((summary.checked, summary.unchecked), (vec![1], vec![]));
}

#[test]
fn commits_that_vanish_or_are_doubled_or_made_up_are_found() {
    let summary = judged(4, |cluster| {
        wait_for_transfers(cluster, 10);
        let limit = Duration::from_secs(60);
        let mut sql = database(cluster).connect(limit).unwrap();
        for statement in [
            "DELETE FROM dyno_transfers WHERE id IN (2, 3)",
            "INSERT INTO dyno_transfers (user_id, sequence, from_id, to_id, amount) \
             SELECT user_id, sequence, from_id, to_id, amount FROM dyno_transfers WHERE id IN (4, 5, 6)",
            "INSERT INTO dyno_transfers (user_id, sequence, from_id, to_id, amount) \
             VALUES (9, 1, 1, 2, 3)",
        ] {
            sql.rows(statement, limit).unwrap();
        }
    });
    let found = (summary.lost, summary.duplicated, summary.phantom);
    assert_eq!(found, (2, 3, 1), "{summary:?}");
    assert_eq!((summary.unbalanced, summary.diverged), (1, 0));
}

#[test]
fn a_load_that_does_not_start_leaves_no_tables_on_a_server_that_stays() {
    let keep = tempfile::tempdir().unwrap();
    let (node, interrupted) = (crate::for_tests::node(keep.path()), AtomicBool::new(true));
    let mut trial = trial();
    trial.planned.load.preload = false;
    trial.planned.ledger = Some(plan::Ledger {
        rate: 100.0,
        replica_reads: 0.0,
    });
    let database = node.open(crate::setup::template::DATABASE).unwrap();
    let rig = Rig {
        instances: vec![Instance::found(database.clone(), 1)],
        reset: None,
        reuse_key: None,
    };
    let mut observer = Silent {
        ledger: keep.path().join("ledger"),
        ..Silent::default()
    };
    let mut run = run_of(&mut observer, &interrupted);
    crate::run_trial::run_on(&trial, &rig, &mut run).unwrap_err();
    let mut sql = database.connect(Duration::from_secs(60)).unwrap();
    let left = sql.rows("SHOW TABLES LIKE 'dyno_a%'", Duration::from_secs(60));
    assert_eq!(left.unwrap(), Vec::<Vec<Option<String>>>::new());
}
