//! The papers' studies, made small: each builds its servers, drives all of them at
//! once, and keeps what a report needs to be believed.

use std::path::{Path, PathBuf};

use crate::common::{Cache, Finished, Program, csv, in_time, is_rounded, tables};
use measure::instance::{InstanceSummary, ResetHow};
use measure::latency::Latency;
use measure::setup::Outcome;
use measure::slice::Phase;
use measure::summary::TrialSummary;

/// What makes a study take seconds.
const SMALL: &str = "--set data.tables=2 --set data.rows=500 --set load.think=5ms \
                     --set load.warmup=0s --set server.config.innodb_flush_log_at_trx_commit=0 \
                     --set server.config.postgres.fsync=off";

/// Runs a study in a place of its own, and looks at everything that it leaves.
fn run(name: &str, words: &str) -> Finished {
    run_in(&Cache::new(), name, words)
}

fn run_in(cache: &Cache, name: &str, words: &str) -> Finished {
    let run = |time: &str| {
        let program = Program::shipped(name).args(SMALL).args(words);
        let program = program.arg("--set").arg(&format!("load.time={time}"));
        program.cache(cache).run().succeeds()
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
    // Variants share a table, side by side.
    if !result.design.axes.contains(&"variant".to_owned()) {
        assert_tables_are_the_numbers(&done);
    }
    done
}

/// Whether a slow machine has completed transactions on each server, and sampled it.
fn has_enough(done: &Finished) -> bool {
    let trials = done.result().trials;
    trials.iter().all(|trial| {
        let mut instances = trial.instances.iter();
        let is_sampled = |name: String| trial.metrics.contains_key(&name);
        instances.all(|one| one.transactions.count > 0)
            && watched(trial).into_iter().all(is_sampled)
    })
}

fn look_at(trial: &TrialSummary, dir: &Path) {
    assert_eq!(
        trial.outcome,
        Outcome::Completed,
        "{}",
        trial.setup.planned.label
    );
    assert!(trial.verdict.is_some(), "{}", trial.setup.planned.label);
    let reset = trial.reset.as_ref().unwrap();
    let is_copy = [ResetHow::Copied, ResetHow::BuiltAndCopied].contains(&reset.how);
    assert!(is_copy && reset.bytes > 0, "{reset:?}");
    assert!(reset.settle_s.is_some_and(|s| s > 0.0), "{reset:?}");
    assert_eq!(
        trial.instances.len(),
        trial.setup.planned.topology.instances as usize
    );
    for (number, instance) in (1..).zip(&trial.instances) {
        assert_eq!(
            (instance.number, &instance.outcome),
            (number, &Outcome::Completed)
        );
        assert!(instance.transactions.count > 0, "{instance:?}");
        let kept = dir.join(format!("servers/{number}"));
        let (file, line, ready) = match is_postgres(trial) {
            true => (
                "postgresql.conf",
                "listen_addresses = '127.0.0.1'",
                "ready to accept connections",
            ),
            false => (
                "my.cnf",
                "bind_address = 127.0.0.1",
                "ready for connections",
            ),
        };
        let config = std::fs::read_to_string(kept.join(file)).unwrap();
        assert!(config.contains(line), "{config}");
        let log = std::fs::read_to_string(kept.join("error.log")).unwrap();
        assert!(log.contains(ready), "{log}");
    }
    let counts = trial.instances.iter().map(|i| i.transactions.count);
    assert_eq!(counts.sum::<u64>(), trial.transactions.count);
    let rates = trial
        .instances
        .iter()
        .map(|i| i.transactions.per_s.unwrap().value);
    let over_sum = trial.transactions.per_s.unwrap().value / rates.sum::<f64>();
    // A second's ends lie some milliseconds apart; merge.rs is tested with longer ones.
    assert!((0.98..1.02).contains(&over_sum), "{over_sum}");
    let errors: u64 = trial.errors.iter().map(|error| error.count).sum();
    assert_eq!(
        trial.instances.iter().map(|i| i.errors).sum::<u64>(),
        errors
    );
    assert_times_are_merged(trial, dir);
    assert_is_watched(trial, dir);
}

fn is_postgres(trial: &TrialSummary) -> bool {
    trial.setup.engine.starts_with("PostgreSQL")
}

/// The times of all servers together are those of each, merged as histograms.
fn assert_times_are_merged(trial: &TrialSummary, dir: &Path) {
    let parts: Vec<PathBuf> = match trial.setup.planned.topology.instances {
        1 => vec![dir.to_owned()],
        many => (1..=many)
            .map(|n| dir.join(format!("servers/{n}")))
            .collect(),
    };
    let mut all = Latency::new();
    for part in parts {
        store::read_intervals(&part, |second| {
            if second.phase == Phase::Measure {
                all.merge(&second.response.decode().unwrap());
            }
        })
        .unwrap();
    }
    assert_eq!(all.count(), trial.transactions.count);
    let ms = |quantile| all.quantile_ns(quantile).unwrap() as f64 / 1e6;
    let times = trial.response_ms.unwrap();
    assert_eq!((times.p50, times.p99), (ms(0.5), ms(0.99)));
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
    let points = store::read_monitors(dir).unwrap();
    for name in watched(trial) {
        assert!(
            trial.metrics.contains_key(&name),
            "{name}: {:?}",
            trial.metrics
        );
        assert!(
            points.iter().any(|p| p.values.contains_key(&name)),
            "{name}"
        );
    }
}

/// The study's own tables, which stand first, show what `results.csv` has.
fn assert_tables_are_the_numbers(done: &Finished) {
    let design = done.result().design;
    let read = |name: &str| std::fs::read_to_string(done.out().join(name)).unwrap();
    let lines = csv(&read("results.csv"));
    let page = read("report.md");
    let page = &page[page.find("## Results").unwrap()..];
    let mut shown = tables(page).into_iter();
    for table in &design.tables {
        let others: Vec<&String> = design.axes.iter().filter(|a| **a != table.rows).collect();
        let mut left: Vec<_> = lines.iter().collect();
        while let Some(first) = left.first().copied() {
            // One table for each combination of the other axes.
            let (of_this, rest): (Vec<_>, Vec<_>) = left
                .into_iter()
                .partition(|line| others.iter().all(|a| line[*a] == first[*a]));
            left = rest;
            let shown = shown.next().unwrap();
            assert_eq!(shown.rows.len(), of_this.len(), "{shown:?}");
            for (row, line) in shown.rows.iter().zip(of_this) {
                assert_eq!(row[0], line[&table.rows]);
                for (cell, column) in row[1..].iter().zip(&table.columns) {
                    let number = line.get(column).map_or("", String::as_str);
                    assert!(is_rounded(cell, number), "{column}: {cell:?}, {number:?}");
                }
            }
        }
    }
}

/// A setting that is not the default, as the server itself tells it.
fn told<'a>(instance: &'a InstanceSummary, name: &str) -> Option<&'a str> {
    let mut settings = instance.settings.iter();
    let found = settings.find(|(known, _)| known == name)?;
    Some(found.1.as_str())
}

#[track_caller]
fn assert_told(done: &Finished, settings: &[(&str, &str)]) {
    for trial in done.result().trials {
        for instance in &trial.instances {
            for (name, value) in settings {
                assert_eq!(told(instance, name), Some(*value), "{name} of {instance:?}");
            }
        }
    }
}

#[test]
fn p2_on_mariadb() {
    let words = "--set sweep.topology.instances=[1,3] --set load.threads=4 \
                 --set server.config.innodb_buffer_pool_size=64M";
    let done = run("p2-scale-up", words);
    let result = done.result();
    let instances: Vec<u32> = result
        .trials
        .iter()
        .map(|t| t.setup.planned.topology.instances)
        .collect();
    assert_eq!(instances, [1, 3]);
    assert!(result.trials[0].setup.engine.starts_with("MariaDB"));
    assert_told(&done, &[("innodb_buffer_pool_size", "67108864")]);
}

#[test]
fn p2_on_mysql() {
    let words = "--set server.engine=mysql --set sweep.topology.instances=[2] \
                 --set load.threads=4 --set server.config.innodb_buffer_pool_size=64M";
    let done = run("p2-scale-up", words);
    assert!(
        done.result().trials[0]
            .setup
            .engine
            .starts_with("MySQL 9.7")
    );
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
    let report = std::fs::read_to_string(done.out().join("report.md")).unwrap();
    for words in ["mq-deadline", "ext4", "at most 1.0 GiB"] {
        assert!(report.contains(words), "{words}: {report}");
    }
    assert_told(
        &done,
        &[
            // The command line speaks instead of the study's 1.
            ("innodb_flush_log_at_trx_commit", "0"),
            ("innodb_log_buffer_size", "10485760"),
            ("innodb_log_file_size", "398458880"),
            ("max_connections", "900"),
        ],
    );
}

#[test]
fn p5_baseline_on_mariadb() {
    let done = run("p5-baseline", "--set sweep.load.threads=[1,4]");
    assert_told(
        &done,
        &[
            ("innodb_buffer_pool_size", "16777216"),
            ("innodb_flush_neighbors", "0"),
            ("innodb_read_io_threads", "16"),
            ("innodb_write_io_threads", "16"),
        ],
    );
    let metrics = &done.result().trials[0].metrics;
    assert!(metrics.contains_key("server.io.reads_per_s"));
}

#[test]
fn p5_group_replication_on_mysql() {
    let done = run(
        "p5-group-replication",
        "--set sweep.topology.members=[1,3] --set load.threads=2",
    );
    let result = done.result();
    let members: Vec<u32> = result
        .trials
        .iter()
        .map(|trial| trial.setup.planned.topology.members())
        .collect();
    assert_eq!(members, [1, 3]);
    assert!(result.trials[1].metrics.contains_key("server[3].cpu"));
    let report = std::fs::read_to_string(done.out().join("report.md")).unwrap();
    assert!(report.contains("group-replication"), "{report}");
}

/// One point or two of each study; all share one cache, and so one new data directory.
#[test]
fn every_study_runs_on_postgresql() {
    let cache = Cache::new();
    for (name, words, buffers) in [
        ("quickstart", "--set sweep.load.threads=[2,4]", None),
        ("durability", "--set load.repeats=1", None),
        (
            "p1-two-platforms",
            "--set sweep.load.threads=[4] --set load.repeats=1 --set variant.quota.site.cpus=2",
            Some("128MB"),
        ),
        (
            "p2-scale-up",
            "--set sweep.topology.instances=[3] --set load.threads=4",
            Some("128MB"),
        ),
        (
            "p4-hypervisor",
            "--set sweep.topology.instances=[2] --set sweep.load.threads=[4]",
            Some("128MB"),
        ),
        ("p5-baseline", "--set sweep.load.threads=[4]", Some("16MB")),
        (
            "p5-scale-out",
            "--set sweep.topology.instances=[2] --set load.threads=4",
            Some("16MB"),
        ),
        (
            "p5-group-replication",
            "--set topology.cluster=quorum --set sweep.topology.members=[2] --set load.threads=4",
            Some("64MB"),
        ),
    ] {
        let words = format!("--set server.engine=postgres {words}");
        let done = run_in(&cache, name, &words);
        for (trial, dir) in done
            .result()
            .trials
            .iter()
            .zip(store::trial_dirs(&done.out()).unwrap())
        {
            assert!(is_postgres(trial), "{name}");
            let config = std::fs::read_to_string(dir.join("servers/1/postgresql.conf")).unwrap();
            let set = buffers.map(|buffers| format!("shared_buffers = '{buffers}'\n"));
            assert!(
                set.is_none_or(|line| config.contains(&line)),
                "{name}: {config}"
            );
        }
    }
}

#[test]
fn p5_scale_out_on_mariadb() {
    let words = "--set sweep.topology.instances=[1,2] --set load.threads=4";
    let done = run("p5-scale-out", words);
    assert_told(&done, &[("innodb_buffer_pool_size", "16777216")]);
}

#[test]
fn p5_storage_policy_on_mariadb() {
    let has = |program: &str| {
        let run = std::process::Command::new(program)
            .arg("--version")
            .output();
        run.is_ok_and(|output| output.status.success())
    };
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can make and mount a file system");
    }
    if !has("mkfs.btrfs") || !has("duperemove") {
        return testkit::skip("the tools are missing: scripts/install-servers.sh storage");
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
    let disks = |name: &str| {
        let metrics = of(name).metrics.keys();
        metrics
            .filter(|name| name.ends_with("].write_iops") && name.starts_with("disk["))
            .count()
    };
    assert_eq!((disks("baseline"), disks("stripe width 6")), (2, 12));
    let report = std::fs::read_to_string(done.out().join("report.md")).unwrap();
    for words in [
        "tps change, %",
        "used bytes change, %",
        "space saved",
        "raid10 of 12 loop devices",
        "compression zstd:3, deduplicated",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
}

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
        ("p3-devices", 10_000_000, "hdd, repeat 3"),
        ("p4-hypervisor", 1_000_000, "instances=6, threads=32"),
        ("p5-baseline", 25_000_000, "threads=32"),
        ("p5-scale-out", 25_000_000, "instances=4"),
        ("p5-disk-failure", 25_000_000, "two copies"),
        ("p5-host-failure", 25_000_000, "single"),
    ] {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
        let text = std::fs::read_to_string(format!("{path}/{name}.toml")).unwrap();
        let study = study::Study::parse_with_overrides(
            name,
            &text,
            &[("sizes", "paper")],
            engine::catalog(),
        );
        let plan = study.unwrap().plan().unwrap();
        let trial = plan.trials.iter().find(|trial| trial.label == label);
        assert_eq!(trial.unwrap().data.rows, rows, "{name}");
        let planned = Program::new()
            .args(&format!("plan {path}/{name}.toml --set sizes=paper"))
            .run();
        assert!(
            planned.stdout.contains("sizes:  paper"),
            "{}",
            planned.shown()
        );
        assert!(planned.code() == Some(0) || planned.stderr.contains("the study needs"));
    }
    let small = Program::new()
        .args(concat!(
            "plan ",
            env!("CARGO_MANIFEST_DIR"),
            "/../../studies/p2-scale-up.toml"
        ))
        .run()
        .succeeds();
    assert!(
        small.stdout.contains("--set sizes=paper"),
        "{}",
        small.shown()
    );
}

#[test]
fn eight_servers_at_once() {
    let words = "--set sweep.topology.instances=[8] --set load.threads=2";
    let done = run("p2-scale-up", words);
    let trial = done.trial();
    assert_eq!(trial.instances.len(), 8);
    let mut servers: Vec<&String> = trial.instances.iter().map(|i| &i.server).collect();
    servers.sort();
    servers.dedup();
    assert_eq!(servers.len(), 8, "each has a port of its own");
    assert_eq!(trial.unfinished.cancelled, 0);
}
