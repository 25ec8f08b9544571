//! The papers' studies, made small: each builds its servers, drives all of them at
//! once, and keeps what a report needs to be believed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::markdown::files_of;
use crate::common::{Cache, Finished, Program, can_make_volumes, cases, in_time};
use measure::instance::ResetHow;
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use study::Study;

/// What makes a study take seconds.
const SMALL: &str = "--set data.tables=2 --set data.rows=500 --set load.think=50ms \
                     --set load.warmup=0s --set server.config.innodb_flush_log_at_trx_commit=0 \
                     --set server.config.postgres.fsync=off";

/// Runs a study in a place of its own, and looks at everything that it leaves.
fn run(name: &str, words: &str) -> Finished {
    run_in(&Cache::kept(), name, words)
}

fn run_in(cache: &Cache, name: &str, words: &str) -> Finished {
    let run = |time: &str| {
        let program = Program::shipped(name).args(SMALL).args(words);
        let program = program.arg("--set").arg(format!("load.time={time}"));
        program.cache(cache).succeeds()
    };
    let done = in_time(&["1s", "5s"], run, has_enough);
    cache.assert_nothing_left();
    let result = done.result();
    assert_eq!(result.trials.len(), result.design.trials as usize);
    let dirs = store::trial_dirs(&done.out()).unwrap();
    assert_eq!(dirs.len(), result.trials.len());
    for (trial, dir) in result.trials.iter().zip(&dirs) {
        assert_eq!(store::read_trial(dir).unwrap().as_ref(), Some(trial));
        look_at(trial, dir);
    }
    done
}

/// Whether a slow machine has completed transactions on each server, and sampled it.
fn has_enough(done: &Finished) -> bool {
    let trials = done.result().trials;
    trials.iter().all(|trial| {
        let mut instances = trial.instances.iter();
        let is_sampled = |name: String| trial.metrics.contains_key(&name);
        // A sample of a busy machine may show no writes.
        let has_volume = trial
            .setup
            .planned
            .topology
            .node
            .volume
            .file_system
            .is_some();
        let of_volume = has_volume.then(|| "write_amplification".to_owned());
        instances.all(|one| one.transactions.count > 0)
            && watched(trial).into_iter().chain(of_volume).all(is_sampled)
    })
}

fn look_at(trial: &TrialSummary, dir: &Path) {
    let label = &trial.setup.planned.label;
    assert_eq!(trial.outcome, Outcome::Completed, "{label}");
    assert!(trial.verdict.is_some(), "{label}");
    let reset = trial.reset.as_ref().unwrap();
    let is_copy = [ResetHow::Copied, ResetHow::BuiltAndCopied].contains(&reset.how);
    assert!(is_copy && reset.bytes > 0, "{reset:?}");
    assert!(reset.settle_s.is_some_and(|s| s > 0.0), "{reset:?}");
    let planned = trial.setup.planned.topology.instances;
    assert_eq!(trial.instances.len(), planned as usize);
    for (number, instance) in (1..).zip(&trial.instances) {
        let ended = (instance.number, &instance.outcome);
        assert_eq!(ended, (number, &Outcome::Completed));
        assert!(instance.transactions.count > 0, "{instance:?}");
        let kept = dir.join(format!("servers/{number}"));
        let (file, line) = match is_postgres(trial) {
            true => ("postgresql.conf", "listen_addresses = '127.0.0.1'"),
            false => ("my.cnf", "bind_address = 127.0.0.1"),
        };
        for (file, text) in [(file, line), ("error.log", "ready ")] {
            let kept = std::fs::read_to_string(kept.join(file)).unwrap();
            assert!(kept.contains(text), "{kept}");
        }
    }
    let counts = trial.instances.iter().map(|i| i.transactions.count);
    assert_eq!(counts.sum::<u64>(), trial.transactions.count);
    let errors = trial.errors.iter().map(|error| error.count);
    let of_instances = trial.instances.iter().map(|one| one.errors);
    assert_eq!(of_instances.sum::<u64>(), errors.sum::<u64>());
    assert_is_watched(trial, dir);
}

fn is_postgres(trial: &TrialSummary) -> bool {
    trial.setup.engine.starts_with("PostgreSQL")
}

/// What each trial samples.
fn watched(trial: &TrialSummary) -> Vec<String> {
    let mut names = vec!["cpu.user".to_owned(), "generator.cpu".to_owned()];
    for number in 1..=trial.setup.planned.topology.instances {
        names.push(format!("server[{number}].cpu"));
        // PostgreSQL's sessions report their reads once a second, which may be too late.
        names.push(match is_postgres(trial) {
            true => format!("server[{number}].transactions.commits_per_s"),
            false => format!("server[{number}].cache.hit_pct"),
        });
    }
    names
}

fn assert_is_watched(trial: &TrialSummary, dir: &Path) {
    let points = store::read_monitors(dir, usize::MAX).unwrap();
    for name in watched(trial) {
        assert!(trial.metrics.contains_key(&name), "{name}");
        let mut values = points.iter().map(|point| &point.values);
        assert!(values.any(|values| values.contains_key(&name)), "{name}");
    }
}

/// Settings that are not the defaults, as each server itself tells them.
#[track_caller]
fn assert_told(done: &Finished, settings: &[(&str, &str)]) {
    for trial in done.result().trials {
        for instance in &trial.instances {
            for (name, value) in settings {
                let wanted = ((*name).to_owned(), (*value).to_owned());
                assert!(
                    instance.settings.contains(&wanted),
                    "{name} of {instance:?}"
                );
            }
        }
    }
}

/// One server, and four at once, each with a port of its own.
#[test]
fn p2_on_mariadb() {
    if !can_make_volumes() {
        return;
    }
    let words = "--set sweep.topology.instances=[1,4] --set load.threads=2 \
                 --set server.config.innodb_buffer_pool_size=64M";
    let done = run("p2-scale-up", words);
    let trials = done.result().trials;
    let servers = trials.iter().map(|trial| {
        let servers = trial.instances.iter().map(|instance| &instance.server);
        servers.collect::<BTreeSet<_>>().len()
    });
    assert_eq!(servers.collect::<Vec<_>>(), [1, 4]);
    assert!(trials[0].setup.engine.starts_with("MariaDB"));
    assert_eq!(trials[1].unfinished.cancelled, 0);
    assert_told(&done, &[("innodb_buffer_pool_size", "67108864")]);
}

#[test]
fn p4_on_mariadb() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can limit servers, and make and mount a file system");
    }
    let words = "--set sizes=scheduler --set sweep.topology.instances=[2]";
    let done = run("p4-hypervisor", words);
    let result = done.result();
    let schedulers = result.trials.iter().map(|trial| {
        let planned = &trial.setup.planned;
        assert!(planned.load.preload);
        let node = &planned.topology.node;
        assert_eq!(node.site.kind.value, plan::SiteKind::Limited);
        assert!(trial.metrics.contains_key("server[2].group_cpu"));
        node.volume.scheduler.clone().unwrap().value
    });
    assert_eq!(schedulers.collect::<Vec<_>>(), ["none", "mq-deadline"]);
    let report = done.file("report.md");
    for words in ["mq-deadline", "ext4", "at most 1.0 GiB"] {
        assert!(report.contains(words), "{words}: {report}");
    }
    let told = [
        // The command line speaks instead of the study's 1.
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_log_buffer_size", "10485760"),
        ("innodb_log_file_size", "398458880"),
        ("max_connections", "900"),
    ];
    assert_told(&done, &told);
}

#[test]
fn p5_baseline_on_mariadb() {
    let done = run("p5-baseline", "--set sweep.load.threads=[1,4]");
    let told = [
        ("innodb_buffer_pool_size", "16777216"),
        ("innodb_flush_neighbors", "0"),
        ("innodb_read_io_threads", "16"),
        ("innodb_write_io_threads", "16"),
    ];
    assert_told(&done, &told);
    let metrics = &done.result().trials[0].metrics;
    assert!(metrics.contains_key("server.io.reads_per_s"));
}

#[test]
fn p5_group_replication_on_mysql() {
    if !can_make_volumes() {
        return;
    }
    let words = "--set sweep.topology.members=[1,3] --set load.threads=2";
    let done = run("p5-group-replication", words);
    let result = done.result();
    let trials = result.trials.iter();
    let members = trials.map(|trial| trial.setup.planned.topology.members());
    assert_eq!(members.collect::<Vec<_>>(), [1, 3]);
    assert!(result.trials[1].metrics.contains_key("server[3].cpu"));
    let report = done.file("report.md");
    assert!(report.contains("group-replication"), "{report}");
}

/// One point or two of each study; all share one cache, and so one new data directory.
#[test]
fn every_study_runs_on_postgresql() {
    const RUNS: &str = "
        quickstart => --set sweep.load.threads=[2,4] & -
        durability => --set load.repeats=1 & -
        p1-two-platforms => --set sweep.load.threads=[4] --set load.repeats=1 --set variant.quota.site.cpus=2 & 128MB
        p2-scale-up => --set sweep.topology.instances=[3] --set load.threads=4 & 128MB
        p4-hypervisor => --set sweep.topology.instances=[2] --set sweep.load.threads=[4] & 128MB
        p5-baseline => --set sweep.load.threads=[4] & 16MB
        p5-scale-out => --set sweep.topology.instances=[2] --set load.threads=4 & 16MB
        p5-group-replication => --set topology.cluster=quorum --set sweep.topology.members=[2] --set load.threads=4 & 16MB";
    if !can_make_volumes() {
        return;
    }
    let cache = Cache::kept();
    for (name, texts) in cases(RUNS) {
        let [words, buffers] = texts[..] else {
            panic!("{texts:?}")
        };
        let words = format!("--set server.engine=postgres {words}");
        let done = run_in(&cache, name, &words);
        for (number, trial) in (1..).zip(&done.result().trials) {
            assert!(is_postgres(trial), "{name}");
            let config = done.kept(number, "1/postgresql.conf");
            let line = format!("shared_buffers = '{buffers}'\n");
            assert!(buffers == "-" || config.contains(&line), "{config}");
        }
    }
}

#[test]
fn p5_storage_policy_on_mariadb() {
    if !can_make_volumes() {
        return;
    }
    let words = "--set load.repeats=1 --set load.threads=2";
    let done = run("p5-storage-policy", words);
    let result = done.result();
    let of = |name: &str| {
        let mut trials = result.trials.iter();
        let is_its = |trial: &&TrialSummary| trial.setup.planned.label.starts_with(name);
        trials.find(is_its).unwrap()
    };
    for trial in &result.trials {
        let space = trial.space.unwrap();
        assert!(space.data_bytes > 1 << 20 && space.used_bytes.is_some());
        let amplification = trial.metrics.get("write_amplification").unwrap();
        assert!(amplification.mean > 0.0, "{amplification:?}");
    }
    let used = |name: &str| of(name).space.unwrap().used_bytes.unwrap();
    let saved = |name: &str| of(name).space.unwrap().savings_pct().unwrap();
    assert!(used("dedup") * 10 < used("baseline") * 9);
    assert!(used("RAID 5") < used("dedup"));
    assert!(saved("baseline") < 20.0 && saved("dedup") > 20.0);
    let is_a_disks = |name: &&String| name.starts_with("disk[") && name.ends_with("].write_iops");
    let disks = |name: &str| of(name).metrics.keys().filter(is_a_disks).count();
    assert_eq!((disks("baseline"), disks("stripe width 6")), (2, 12));
    let report = done.file("report.md");
    for words in [
        "used bytes change, %",
        "raid10 of 12 loop devices",
        "zstd:3, deduplicated",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
}

const STUDIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");

/// Every study can have its paper's sizes; a host that is too small for them says so.
#[test]
fn each_study_has_its_papers_sizes() {
    for (name, rows, label) in [
        (
            "p1-two-platforms",
            10_000_000,
            "two cores, threads=32, repeat 3",
        ),
        ("p2-scale-up", 25_000, "instances=8"),
        ("p3-devices", 10_000_000, "read-optimized, repeat 3"),
        ("p4-hypervisor", 1_000_000, "instances=6, threads=32"),
        ("p5-baseline", 250_000_000, "threads=32"),
        ("p5-scale-out", 250_000_000, "instances=4"),
        ("p5-disk-failure", 250_000_000, "two copies"),
        ("p5-host-failure", 250_000_000, "single"),
        ("p5-disk-loss", 250_000_000, "single"),
        ("p3-servers", 10_000_000, "instances=16"),
        ("p4-log-disk", 1_000_000, "log apart, repeat 2"),
    ] {
        let plan = plan(name, &[("sizes", "paper")]);
        let trial = plan.trials.iter().find(|trial| trial.label == label);
        assert_eq!(trial.unwrap().data.rows, rows, "{name}");
        let planned = Program::new()
            .args("plan")
            .arg(format!("{STUDIES}/{name}.toml"));
        let planned = planned.args("--set sizes=paper").run();
        planned.prints(&["sizes:  paper"]);
        assert!(planned.code() == Some(0) || planned.stderr.contains("the study needs"));
    }
    // A size may also set times of faults, and limits of single variants.
    let paper = |name: &str| plan(name, &[("sizes", "paper")]).trials;
    let faults = &paper("p5-disk-loss")[0].topology.faults;
    assert!(faults.iter().all(|fault| fault.at.as_secs() >= 15 * 60));
    let devices = paper("p3-devices");
    let mut limits = devices.iter().map(|one| one.topology.node.volume.limits);
    assert!(limits.any(|limits| limits.read_iops == Some(195_000)));
    let small = format!("plan {STUDIES}/p2-scale-up.toml");
    let small = Program::new().args(&small).succeeds();
    small.prints(&["--set sizes=paper"]);
}

fn plan(name: &str, overrides: &[(&str, &str)]) -> plan::Plan {
    let text = std::fs::read_to_string(format!("{STUDIES}/{name}.toml")).unwrap();
    let study = Study::parse_with_overrides(name, &text, overrides, engine::catalog());
    study.unwrap().plan()
}

/// Those that no test runs, too.
#[test]
fn every_study_can_be_planned() {
    for study in files_of("studies", "toml") {
        let name = study.file_stem().unwrap().to_str().unwrap();
        assert!(!plan(name, &[]).trials.is_empty(), "{name}");
    }
}
