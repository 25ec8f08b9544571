//! The studies of failures, made shorter: each breaks its servers, measures how they recover, and checks
//! what became of acknowledged commits.

use crate::common::{Finished, Program, each, in_time, is_whole, primaries, shown};
use crate::quorum::said_s;
use measure::fault::FaultRecord;

/// How often a study that shows a loss may be repeated until it does: whether one happens depends on
/// which process is quicker.
const ATTEMPTS: u32 = 3;

/// Whether a run was refused because of what this user may do.
fn is_refused(done: &Finished) -> bool {
    let refusals = ["CAP_NET_ADMIN", "cannot set up the volume"];
    refusals.iter().any(|refusal| done.stderr.contains(refusal))
}

/// Whether each fault took effect before its load ended.
fn took_effect(fault: &FaultRecord) -> bool {
    fault.effect_s.is_some()
}

/// Whether writes were accepted again, too.
fn is_over(fault: &FaultRecord) -> bool {
    let recovery = fault.recovery.as_ref();
    recovery.is_some_and(|found| found.first_write_s.is_some())
}

/// Most studies only need users that write.
const LIGHT: (&str, &str) = (
    "workload = \"oltp_read_write\"",
    "workload = \"oltp_update_non_index\"",
);

/// Members of the paper's studies have small quotas of CPU time.
const UNLIMITED: (&str, &str) = ("kind = \"limited\"\ncpus = 0.3 ", "kind = \"process\"");

/// Runs a study in which each of these texts is replaced, for `time_s`, or longer if its faults are
/// not over by then; `None` if this user may not.
fn run_if_permitted(
    name: &str,
    time_s: u32,
    changes: &[(&str, &str)],
    is_enough: fn(&FaultRecord) -> bool,
) -> Option<Finished> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
    let mut text = std::fs::read_to_string(format!("{root}/{name}.toml")).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no {from:?}");
        text = text.replace(from, to);
    }
    let run = |time: &str| {
        // At full speed, members of a slow machine fall behind.
        let light = "--set load.think=50ms --set data.rows=1000 --set load.time=";
        let study = Program::study(&text).args(&format!("{light}{time}"));
        study.run_alone()
    };
    let is_whole = |done: &Finished| {
        is_refused(done) || {
            let mut trials = done.result().trials.into_iter();
            trials.all(|trial| trial.faults.iter().all(is_enough))
        }
    };
    let [short, long] = [time_s, 4 * time_s].map(|time_s| format!("{time_s}s"));
    let done = in_time(&[&short, &long], run, is_whole);
    if is_refused(&done) {
        return None;
    }
    let done = done.succeeds();
    for trial in &done.all_completed() {
        let shown = shown(trial);
        assert!(!trial.faults.is_empty(), "{shown}");
        assert!(trial.faults.iter().all(took_effect), "{shown}");
        assert!(trial.ledgers[0].acknowledged > 0, "{shown}");
    }
    Some(done)
}

#[test]
fn a_group_replaces_its_primary_and_users_follow() {
    let short = [
        ("at = \"15s\"", "at = \"3s\""),
        LIGHT,
        ("stop = ", "kill = "),
        ("heal = \"20s\"", "heal = \"28s\""),
        ("threads = 8", "threads = 4"),
        ("members = 5", "members = 3"),
        UNLIMITED,
    ];
    let done = run_if_permitted("p5-primary-failure", 45, &short, is_over).unwrap();
    let trial = done.trial();
    let shown = shown(&trial);
    assert!(trial.ledgers[0].is_intact(), "{shown}");
    let recovery = trial.faults[0].recovery.as_ref().unwrap();
    assert!(recovery.detected_s.is_some(), "{shown}");
    assert!(recovery.outage_s.is_some_and(|s| s > 1.0), "{shown}");
    let primaries = primaries(&trial);
    assert!(primaries.len() == 1 && primaries[0] != 1, "{shown}");
    let written_s = trial.faults[0].effect_s.unwrap() + recovery.first_write_s.unwrap();
    let has_followed = done.completes_after(written_s + 1.0);
    assert!(has_followed && trial.reconnects >= 4, "{:?}", done.series());
    let report = done.file("report.md");
    let words = "No acknowledged commit was lost";
    assert!(report.contains(words), "{report}");
}

/// The others elect another member beside it, which follows that one when its manager returns.
#[test]
fn patroni_loses_what_a_primary_without_its_manager_accepts() {
    let short = [
        LIGHT,
        ("at = \"20s\"", "at = \"3s\""),
        ("at = \"75s\"", "at = \"22s\""),
        ("heal = \"25s\"", "heal = \"14s\""),
        ("at = \"140s\"", "at = \"48s\""),
        ("heal = \"20s\"", "heal = \"8s\""),
        ("threads = 8", "threads = 4"),
    ];
    // The second fault is that of the manager.
    let is_enough =
        |fault: &FaultRecord| took_effect(fault) && (fault.number != 2 || is_whole(fault));
    let mut runs = (1..=ATTEMPTS).map(|attempt| {
        let done = run_if_permitted("patroni-failure", 60, &short, is_enough).unwrap();
        let lost = done.trial().ledgers[0].lost;
        println!(
            "attempt {attempt}: {lost} lost, old primary follows: {}",
            follows(&done)
        );
        done
    });
    let has_lost = |done: &Finished| done.trial().ledgers[0].lost > 0 && follows(done);
    let done = runs
        .find(has_lost)
        .expect("a loss, and a primary that follows");
    let manager = &done.trial().faults[1];
    assert!(is_whole(manager), "{manager:?}");
    let report = done.file("report.md");
    assert!(report.contains("LOST: "), "{report}");
}

/// Whether the primary that the second fault left without its manager follows one that was elected since.
fn follows(done: &Finished) -> bool {
    let manager = &done.trial().faults[1];
    let (replaced, effect_s) = (manager.node.unwrap(), manager.effect_s.unwrap());
    let says = |server: u32, words: &str| {
        said_s(done, server, words)
            .iter()
            .any(|at_s| *at_s > effect_s)
    };
    let mut others = (1..=3).filter(|number| *number != replaced);
    others.any(|other| says(other, "promoted self to leader"))
        && says(replaced, "started streaming WAL from primary")
}

#[test]
fn only_an_asynchronous_primary_loses_what_a_slow_link_keeps_from_its_replicas() {
    let short = [
        ("repeats = 3", "repeats = 1"),
        ("\"synchronous\", \"quorum\"", "\"quorum\""),
        ("at = \"12s\"", "at = \"2s\""),
        ("at = \"15s\"", "at = \"5s\""),
    ];
    let Some(done) = run_if_permitted("async-loss", 9, &short, took_effect) else {
        return testkit::skip("this user may not make network namespaces");
    };
    for trial in &done.result().trials {
        let shown = shown(trial);
        let ledger = &trial.ledgers[0];
        let cluster = trial.setup.planned.topology.cluster.as_ref().unwrap();
        match cluster.kind.as_str() {
            "asynchronous" => assert!(ledger.lost > 0, "{shown}"),
            _ => assert!(ledger.is_intact(), "{shown}"),
        }
        let promotion = trial.faults[1].promotion.as_ref().unwrap();
        assert!(promotion.done_s.is_some(), "{shown}");
    }
    let report = done.file("report.md");
    assert!(report.contains("LOST: "), "{report}");
}

#[test]
fn clusters_are_ranked_by_their_recovery() {
    let variant = |name: &str, engine: &str, topology: &str| {
        let head = format!("[[variant]]\nname = \"{name}\"\nserver.engine = \"{engine}\"\n");
        format!("{head}topology{topology}\n")
    };
    let group = ".cluster = \"group-replication\"\nload.time = \"40s\"";
    let patroni = ".cluster = \"patroni\"\nload.time = \"50s\"";
    let asynchronous = " = { cluster = \"asynchronous\", failover = \"2s\" }";
    // All of them are tested on their own; two make a ranking.
    let others = [
        variant("Galera", "mariadb", ".cluster = \"galera\""),
        variant("Group Replication", "mysql", group),
        variant("MariaDB asynchronous", "mariadb", asynchronous),
        variant("PostgreSQL asynchronous", "postgres", asynchronous),
        variant("Patroni", "postgres", patroni),
    ];
    let [galera, group, mariadb, postgres, patroni] = others.each_ref().map(String::as_str);
    let short = [
        LIGHT,
        ("at = \"5s\"", "at = \"3s\""),
        // A replica that has fallen behind on a busy machine is promoted late.
        ("threads = 8", "threads = 1"),
        ("rate = 100", "rate = 20"),
        (galera, ""),
        (group, ""),
        (mariadb, ""),
        (postgres, ""),
        (patroni, ""),
    ];
    let done = run_if_permitted("failover-ranking", 16, &short, is_over).unwrap();
    let report = done.file("report.md");
    for trial in &done.result().trials {
        let shown = shown(trial);
        let variant = trial.setup.planned.variant().unwrap();
        assert!(report.contains(variant), "{variant} in {report}");
        let cluster = trial.setup.planned.topology.cluster.as_ref().unwrap();
        for words in [&cluster.detector, &cluster.acknowledged] {
            assert!(!words.is_empty() && report.contains(words), "{report}");
        }
        let recovery = trial.faults[0].recovery.as_ref().unwrap();
        assert!(recovery.first_write_s.is_some(), "{shown}");
    }
}

#[test]
fn a_group_goes_on_without_the_host_of_its_primary() {
    let short = [
        ("at = \"15s\"", "at = \"2s\""),
        LIGHT,
        ("fail_host = \"replica\"", "fail_host = \"primary\""),
        ("threads = 8", "threads = 4"),
        ("members = 5", "members = 3"),
        UNLIMITED,
    ];
    let Some(done) = run_if_permitted("p5-host-failure", 50, &short, is_over) else {
        return testkit::skip("this user may not make network namespaces");
    };
    let trial = done.trial();
    let shown = shown(&trial);
    assert!(trial.ledgers[0].is_intact(), "{shown}");
    let recovery = trial.faults[0].recovery.as_ref().unwrap();
    // A connection that ends is noticed at once, one that is silent only after a timeout.
    assert!(
        recovery.outage_s.is_some_and(|s| s > 3.0) && recovery.first_write_s.is_some(),
        "{shown}"
    );
}

/// That a server ends without copies is tested in `lab/disks.rs`.
#[test]
fn copies_survive_the_loss_of_disks() {
    let variant = |name: &str, more: &str| format!("[[variant]]\nname = \"{name}\"\n{more}\n");
    let parity = variant("RAID 5", "volume.profile = \"raid5\"");
    let stripe = "volume.profile = \"raid0\"\nlog_volume.profile = \"raid0\"";
    let stripe = variant("RAID 0", stripe);
    let short = [
        LIGHT,
        (&*parity, ""),
        (&*stripe, ""),
        ("threads = 8", "threads = 4"),
        ("device_size = \"4G\"", "device_size = \"1G\""),
        ("warmup = \"5s\"", "warmup = \"1s\""),
        ("heal = \"10s\"", "heal = \"2s\""),
        ("at = \"15s\"", "at = \"1s\""),
        ("at = \"40s\"", "at = \"7s\""),
        ("at = \"65s\"", "at = \"14s\""),
        ("at = \"80s\"", "at = \"17s\""),
        ("at = \"95s\"", "at = \"19s\""),
    ];
    let Some(done) = run_if_permitted("p5-disk-failure", 30, &short, took_effect) else {
        return testkit::skip("this user may not make volumes, or their tools are missing");
    };
    let trial = done.trial();
    let shown = shown(&trial);
    let [_, _, replaced, scrubbed, log] = each(&trial.faults);
    assert_eq!(
        log.words(),
        "fail_device of server 1 (primary), log, device 2"
    );
    let mut faults = trial.faults.iter();
    assert!(faults.all(|fault| fault.crash.is_none()), "{shown}");
    assert!(replaced.healed_s.is_some(), "{shown}");
    let found = scrubbed.scrub.unwrap();
    assert_eq!(found.uncorrectable, 0, "{shown}");
    assert!(trial.ledgers[0].is_intact(), "{shown}");
}
