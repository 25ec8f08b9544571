//! Random faults on clusters: whatever happens, the trial ends in its time, every acknowledged commit is
//! kept, and nothing is left behind.

use std::time::Duration;

use crate::common::{Program, shown};

/// How many schedules there are, in all tests of this file; `./test --all` sets it.
const SCHEDULES: &str = "DYNO_TEST_SCHEDULES";
/// How long a trial of 25 s may take in all: to form clusters, to recover, and to verify the ledger, on
/// a machine that is slow and busy with other things.
const LIMIT: Duration = Duration::from_secs(400);

/// Clusters whose kinds lose no acknowledged commit.
const CLUSTERS: [(&str, &str); 3] = [
    ("postgres", "cluster = 'quorum'; failover = '1s'"),
    ("mariadb", "cluster = 'galera'"),
    ("mysql", "cluster = 'group-replication'"),
];

/// Runs the schedules of one of [`CLUSTERS`].
fn survives(index: usize) {
    let all = std::env::var(SCHEDULES).ok();
    let all: usize = all.map_or(CLUSTERS.len(), |number| number.parse().unwrap());
    for seed in (index + 1..=all).step_by(CLUSTERS.len()) {
        survives_schedule(CLUSTERS[index], seed);
    }
}

fn survives_schedule((engine, cluster): (&str, &str), seed: usize) {
    println!("{engine}, {cluster:?}: seed {seed}");
    let load = "workload = 'oltp_update_non_index'; threads = 4; think = '50ms'; warmup = '2s'; \
                time = '25s'";
    let chaos = format!("[chaos]; faults = 'any'; rate = '1 per 6s'; seed = {seed}");
    let study = Program::private(engine, load, &format!("[topology]; {cluster}; {chaos}"));
    let done = study.args("--set data.rows=1000").run_alone().succeeds();
    let trial = done.completed();
    let shown = shown(&trial);
    assert!(done.took < LIMIT, "{:?}", done.took);
    // On a slow machine, the servers may not have recovered in time for a further one.
    let struck = trial.faults.iter().filter(|fault| fault.effect_s.is_some());
    let struck: Vec<_> = struck.collect();
    assert!(!struck.is_empty(), "{shown}");
    assert!(struck.iter().all(|fault| fault.error.is_none()), "{shown}");
    // A fault that was delayed still lasts as long as planned.
    for fault in struck {
        let planned = &trial.setup.planned.topology.faults[fault.number as usize - 1];
        if let (Some(heal), Some(asked_s)) = (planned.heal, fault.heal_asked_s) {
            let lasted_s = asked_s - fault.asked_s;
            assert!(lasted_s > heal.as_secs_f64() - 0.5, "{fault:?}");
        }
    }
    let ledger = &trial.ledgers[0];
    assert!(ledger.acknowledged > 0 && ledger.is_intact(), "{shown}");
}

#[test]
fn a_quorum_of_standbys_survives_random_faults() {
    survives(0);
}

#[test]
fn galera_survives_random_faults() {
    survives(1);
}

#[test]
fn group_replication_survives_random_faults() {
    survives(2);
}
