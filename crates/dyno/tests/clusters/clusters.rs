//! Servers that replicate: they form a cluster, are driven and watched, and leave nothing behind.

use crate::common::{Finished, Program, each, in_time};
use measure::metric::MonitorPoint;
use measure::series::SeriesPoint;
use measure::summary::TrialSummary;
use measure::warning::Warning;

/// A study with two virtual users, and these sections.
fn study(engine: &str, time: &str, rest: &str) -> Program {
    let load = format!("threads = 2; think = '50ms'; warmup = '1s'; time = '{time}'");
    Program::private(engine, &load, rest)
}

fn monitored(done: &Finished, trial: usize) -> Vec<MonitorPoint> {
    store::read_monitors(&store::trial_dirs(&done.out()).unwrap()[trial], usize::MAX).unwrap()
}

/// The values of a metric, in order of time.
fn values(points: &[MonitorPoint], name: &str) -> Vec<f64> {
    let values = points.iter().filter_map(|point| point.values.get(name));
    values.copied().collect()
}

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

/// Clusters of these kinds form with the settings that the study's words stand for, and every
/// replica applies rows that the load wrote to the primary.
fn replicates(engine: &str, kinds: &[&str], check: impl Fn(&Finished, usize, &[MonitorPoint])) {
    let rest = format!(
        "[topology]; durability = 'equal'; profile = 'tuned'; [sweep]; 'topology.cluster' = {kinds:?}"
    );
    let done = study(engine, "5s", &rest).run_alone().succeeds();
    let trials = done.all_completed();
    assert_eq!(trials.len(), kinds.len());
    // InnoDB logs a little without transactions, too.
    let least_mb = if engine == "postgres" { 0.0 } else { 0.01 };
    for (index, (trial, kind)) in trials.iter().zip(kinds).enumerate() {
        assert_eq!(trial.failures(), 0, "{kind}: {:?}", trial.errors);
        assert_words_have_effect(trial, engine, kind);
        let is_strange = |warning: &Warning| matches!(warning, Warning::Strangers { .. });
        let warnings = &trial.warnings;
        assert!(!warnings.iter().any(is_strange), "{kind}: {warnings:?}");
        let points = monitored(&done, index);
        for replica in [2, 3] {
            let applied = values(&points, &format!("server[{replica}].log.mb_per_s"));
            let has_applied = applied.iter().any(|mb| *mb > least_mb);
            assert!(has_applied, "{kind}, {replica}: {applied:?}");
        }
        check(&done, index, &points);
    }
}

#[test]
fn standbys_apply_what_their_primary_writes() {
    let kinds = ["asynchronous", "synchronous", "quorum"];
    replicates("postgres", &kinds, |done, index, points| {
        let replicas = values(points, "server[1].replication.replicas");
        let has_two = !replicas.is_empty() && replicas.iter().all(|n| *n == 2.0);
        assert!(has_two, "{replicas:?}");
        let kept = |file: &str| done.kept(index + 1, file);
        for standby in [2, 3] {
            let queue = format!("server[{standby}].replication.apply_queue_bytes");
            assert!(!values(points, &queue).is_empty());
            let log = kept(&format!("{standby}/error.log"));
            assert!(log.contains("started streaming WAL from primary"), "{log}");
            let config = kept(&format!("{standby}/postgresql.conf"));
            assert!(config.contains("primary_conninfo = '(hidden)'"), "{config}");
        }
        // The primary reports that the setting changed.
        let waits = kept("1/error.log").contains("synchronous_standby_names");
        assert_eq!(waits, index > 0);
    });
}

fn members_apply(engine: &str, kinds: &[&str]) {
    replicates(engine, kinds, |_, index, points| {
        let is_galera = kinds[index] == "galera";
        let of = |server: u32, name: &str| {
            values(points, &format!("server[{server}].replication.{name}"))
        };
        for member in [1, 2, 3] {
            let expected = f64::from(u8::from(member == 1 || is_galera));
            let primary = of(member, "is_primary");
            let is_as_expected = !primary.is_empty() && primary.iter().all(|one| *one == expected);
            assert!(is_as_expected, "{kinds:?}, {index}, {member}: {primary:?}");
        }
        for replica in [2, 3] {
            assert!(!of(replica, "apply_queue_transactions").is_empty());
            // Galera's members do not say how old a transaction is that they apply.
            let lag = of(replica, "lag_s");
            assert_eq!(lag.is_empty(), is_galera, "{lag:?}");
            assert!(lag.iter().all(|seconds| *seconds < 60.0), "{lag:?}");
            assert_eq!(of(replica, "flow_control_pct").is_empty(), !is_galera);
        }
    });
}

#[test]
fn members_of_mysql_clusters_apply_what_their_primary_writes() {
    let kinds = ["asynchronous", "semi-synchronous", "group-replication"];
    members_apply("mysql", &kinds);
}

#[test]
fn members_of_mariadb_clusters_apply_what_their_primary_writes() {
    members_apply("mariadb", &["asynchronous", "semi-synchronous", "galera"]);
}

#[test]
fn a_replica_that_returns_catches_up() {
    let rest = "[topology]; cluster = 'synchronous'; members = 2; \
         [[fault]]; at = '2s'; kill = 'replica'; heal = '2s'; expect_outage = true";
    let run = |time: &str| study("postgres", time, rest).run_alone().succeeds();
    let replicas = |done: &Finished| {
        let replicas = values(&monitored(done, 0), "server[1].replication.replicas");
        replicas.last().copied()
    };
    let is_back = |done: &Finished| {
        let healed_s = done.trial().faults[0].healed_s;
        healed_s.is_some_and(|at_s| done.completes_after(at_s)) && replicas(done) == Some(1.0)
    };
    // A slow machine needs more time until it is back.
    let done = in_time(&["12s", "40s", "150s"], run, is_back);
    assert!(is_back(&done), "{:?}", done.series());
    let trial = done.completed();
    let [fault] = each(&trial.faults);
    assert_eq!((fault.node, &*fault.target), (Some(2), "replica"));
    // The only standby that commits wait for was away.
    let (gone_s, asked_s) = (fault.effect_s.unwrap(), fault.heal_asked_s.unwrap());
    let mut stalled = done.series();
    stalled.retain(|second| second.t_s > gone_s + 1.0 && second.t_s + 1.0 < asked_s);
    let is_still = |second: &SeriesPoint| second.tps.unwrap_or(0.0) == 0.0;
    assert!(stalled.iter().all(is_still), "{stalled:?}");
}
