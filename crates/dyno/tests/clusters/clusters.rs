//! Servers that replicate: they form a cluster, are driven and watched, and leave nothing behind.

use crate::common::{Cache, Finished, Program, each};
use measure::metric::MonitorPoint;
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use measure::warning::Warning;

/// A study with two virtual users, and these lines.
fn study(engine: &str, time: &str, rest: &str) -> Program {
    Program::study(&format!(
        "title = \"t\"\n[server]\nengine = \"{engine}\"\n[data]\nrows = 100\n\
         [load]\nthreads = 2\nthink = \"20ms\"\nwarmup = \"1s\"\ntime = \"{time}\"\n{rest}\n"
    ))
}

fn monitored(done: &Finished, trial: usize) -> Vec<MonitorPoint> {
    store::read_monitors(&store::trial_dirs(&done.out()).unwrap()[trial]).unwrap()
}

/// The values of a metric, in order of time.
fn values(points: &[MonitorPoint], name: &str) -> Vec<f64> {
    let values = points.iter().filter_map(|point| point.values.get(name));
    values.copied().collect()
}

/// Settings that all members have, whatever their kind.
const WORDS: &str = "[topology]\ndurability = \"equal\"\nprofile = \"tuned\"\n";

/// The server that ran had every setting that these words stand for in a cluster of this kind.
fn assert_words_have_effect(trial: &TrialSummary, engine: &str, kind: &str) {
    let mut engines = engine::catalog().iter();
    let engine = engines.find(|known| known.name == engine).unwrap();
    let mut kinds = engine.clusters.iter();
    let conduct = kinds.find(|known| known.name == kind).unwrap().conduct;
    let settings = &trial.instances[0].settings;
    for (name, wanted) in conduct.durable.iter().chain(conduct.tuned) {
        let found = settings.iter().find(|(known, _)| known == name);
        // Settings that are as their defaults may be left out.
        let by_default = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("synchronous_commit", "on"),
            ("fsync", "on"),
        ];
        let has_effect = match found {
            None => by_default.contains(&(name, wanted)),
            Some((_, found)) => {
                let bytes = plan::parse_bytes(wanted).map(|bytes| bytes.to_string());
                found.eq_ignore_ascii_case(wanted)
                    || Some(found) == bytes.as_ref()
                    || (*wanted, found.as_str()) == ("on", "pglz")
            }
        };
        assert!(has_effect, "{kind}: {name} = {wanted}, but {found:?}");
    }
}

#[test]
fn standbys_apply_what_their_primary_writes() {
    let place = Cache::new();
    let kinds = ["asynchronous", "synchronous", "quorum"];
    let rest = format!("{WORDS}[sweep]\n\"topology.cluster\" = {kinds:?}\n");
    let done = study("postgres", "4s", &rest).cache(&place).succeeds();
    let trials = done.result().trials;
    assert_eq!(trials.len(), 3);
    for (index, trial) in trials.iter().enumerate() {
        assert_eq!(trial.outcome, Outcome::Completed);
        assert_eq!(trial.failures(), 0, "{:?}", trial.errors);
        assert_words_have_effect(trial, "postgres", kinds[index]);
        let points = monitored(&done, index);
        let replicas = values(&points, "server[1].replication.replicas");
        assert!(
            !replicas.is_empty() && replicas.iter().all(|n| *n == 2.0),
            "{replicas:?}"
        );
        for standby in [2, 3] {
            let applied = values(&points, &format!("server[{standby}].log.mb_per_s"));
            assert!(applied.iter().any(|mb| *mb > 0.0), "{standby}: {applied:?}");
            let queue = format!("server[{standby}].replication.apply_queue_bytes");
            assert!(!values(&points, &queue).is_empty());
            let log = done.kept(index + 1, &format!("{standby}/error.log"));
            assert!(log.contains("started streaming WAL from primary"), "{log}");
            let config = done.kept(index + 1, &format!("{standby}/postgresql.conf"));
            assert!(config.contains("primary_conninfo = '(hidden)'"), "{config}");
        }
        let waits = done
            .kept(index + 1, "1/error.log")
            .contains("synchronous_standby_names");
        assert_eq!(
            waits,
            index > 0,
            "the primary reports that the setting changed"
        );
    }
    place.assert_nothing_left();
}

/// Clusters of these kinds form, and every replica applies rows that the load wrote to the primary.
fn replicates(engine: &str, kinds: &[&str]) {
    let place = Cache::new();
    let rest = format!("{WORDS}[sweep]\n\"topology.cluster\" = {kinds:?}\n");
    let done = study(engine, "5s", &rest).cache(&place).succeeds();
    let trials = done.result().trials;
    assert_eq!(trials.len(), kinds.len());
    for (index, (trial, kind)) in trials.iter().zip(kinds).enumerate() {
        assert_eq!(trial.outcome, Outcome::Completed, "{kind}");
        assert_eq!(trial.failures(), 0, "{kind}: {:?}", trial.errors);
        assert_words_have_effect(trial, engine, kind);
        let is_strange = |warning: &Warning| matches!(warning, Warning::Strangers { .. });
        let warnings = &trial.warnings;
        assert!(!warnings.iter().any(is_strange), "{kind}: {warnings:?}");
        let points = monitored(&done, index);
        for replica in [2, 3] {
            let applied = values(&points, &format!("server[{replica}].log.mb_per_s"));
            assert!(
                applied.iter().any(|mb| *mb > 0.01),
                "{kind}, {replica}: {applied:?}"
            );
            let of = |name: &str| values(&points, &format!("server[{replica}].replication.{name}"));
            let queue = of("apply_queue_transactions");
            assert!(!queue.is_empty(), "{kind}");
            let is_primary = of("is_primary");
            let expected = f64::from(u8::from(*kind == "galera"));
            assert!(
                !is_primary.is_empty() && is_primary.iter().all(|one| *one == expected),
                "{kind}: {is_primary:?}"
            );
            // Galera's members do not say how old a transaction is that they apply.
            let lag = of("lag_s");
            assert_eq!(lag.is_empty(), *kind == "galera", "{kind}: {lag:?}");
            assert!(lag.iter().all(|seconds| *seconds < 60.0), "{kind}: {lag:?}");
            let paused = of("flow_control_pct");
            assert_eq!(paused.is_empty(), *kind != "galera", "{kind}: {paused:?}");
        }
        let is_primary = values(&points, "server[1].replication.is_primary");
        assert!(
            !is_primary.is_empty() && is_primary.iter().all(|one| *one == 1.0),
            "{kind}: {is_primary:?}"
        );
    }
    place.assert_nothing_left();
}

#[test]
fn members_of_mysql_clusters_apply_what_their_primary_writes() {
    let kinds = ["asynchronous", "semi-synchronous", "group-replication"];
    replicates("mysql", &kinds);
}

#[test]
fn members_of_mariadb_clusters_apply_what_their_primary_writes() {
    replicates("mariadb", &["asynchronous", "semi-synchronous", "galera"]);
}

#[test]
fn a_replica_that_returns_catches_up() {
    let place = Cache::new();
    let rest = "[topology]\ncluster = \"synchronous\"\nmembers = 2\n\
         [[fault]]\nat = \"2s\"\nkill = \"replica\"\nheal = \"2s\"\nexpect_outage = true\n";
    let run = |time| study("postgres", time, rest).cache(&place).succeeds();
    let replicas = |done: &Finished| {
        let replicas = values(&monitored(done, 0), "server[1].replication.replicas");
        replicas.last().copied()
    };
    // A slow machine needs more time until it is back.
    let is_back = |done: &Finished| {
        let healed_s = done.trial().faults[0].healed_s;
        healed_s.is_some_and(|at_s| done.completes_after(at_s)) && replicas(done) == Some(1.0)
    };
    let done = ["12s", "40s"].into_iter().map(run).find(is_back);
    let done = done.unwrap_or_else(|| run("150s"));
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed);
    let [fault] = each(&trial.faults);
    assert_eq!((fault.node, &*fault.target), (Some(2), "replica"));
    // The only standby that commits wait for was away.
    let (gone_s, back_s) = (fault.effect_s.unwrap(), fault.healed_s.unwrap());
    let series = done.series();
    let waiting = |t: f64| t > gone_s + 1.0 && t + 1.0 < fault.heal_asked_s.unwrap();
    let stalled = series.iter().filter(|second| waiting(second.t_s));
    assert!(
        stalled
            .clone()
            .all(|second| second.tps.unwrap_or(0.0) == 0.0),
        "{series:?}"
    );
    assert!(done.completes_after(back_s), "{series:?}, {back_s}");
    assert_eq!(replicas(&done), Some(1.0));
    place.assert_nothing_left();
}
