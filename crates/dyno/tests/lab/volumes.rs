//! Studies whose servers have file systems of their own for their data and their log.

use crate::common::{Finished, Program, cases, in_time};
use measure::instance::ResetHow;
use measure::summary::TrialSummary;

/// Runs a study of small trials whose servers have file systems of their own, with additional lines
/// and arguments, for the first of these times that suffices; `None` where dyno cannot make file
/// systems: the error says why.
fn run(engine: &str, load: &str, rest: &str, words: &str, times: &[&str]) -> Option<Finished> {
    let volumes = "[volume]; filesystem = 'ext4'; device_size = '512M'; \
                   [log_volume]; filesystem = 'ext4'; device_size = '512M'";
    let run = |time: &str| {
        let program = Program::private(engine, load, &format!("{volumes}; {rest}"));
        program
            .args(&format!("{words} --set load.time={time}"))
            .run_alone()
    };
    let is_enough = |done: &Finished| {
        let is_whole = |trial: &TrialSummary| {
            trial.transactions.count > 0
                && trial.faults.iter().all(|fault| fault.healed_s.is_some())
        };
        done.code() != Some(0) || done.result().trials.iter().all(is_whole)
    };
    let done = in_time(times, run, is_enough);
    if done.stderr.contains("cannot set up the volume") {
        done.fails(2, &["study.toml:", "filesystem"]);
        testkit::skip("no file systems can be made here");
        return None;
    }
    let done = done.succeeds();
    done.all_completed();
    Some(done)
}

/// The means of a metric of each device of a trial.
fn of_devices(trial: &TrialSummary, metric: &str) -> Vec<f64> {
    let suffix = format!("].{metric}");
    let is_its = |name: &str| name.starts_with("disk[") && name.ends_with(&suffix);
    let metrics = trial.metrics.iter().filter(|(name, _)| is_its(name));
    metrics.map(|(_, metric)| metric.mean).collect()
}

/// Also where only the container's own mounts are seen.
#[test]
fn nothing_is_lost_when_a_server_with_a_log_apart_is_killed() {
    let load = "threads = 2; think = '20ms'; warmup = '1s'";
    let rest = "[site]; kind = 'container'; [ledger]; rate = 50; \
                [[fault]]; at = '2s'; kill = 1; heal = '1s'";
    let Some(done) = run("mariadb", load, rest, "", &["6s", "60s"]) else {
        return;
    };
    let trial = done.trial();
    assert!(trial.faults[0].healed_s.is_some(), "{:?}", trial.faults);
    assert!(trial.ledgers[0].is_intact() && trial.ledgers[0].acknowledged > 10);
    // Both volumes count.
    let written = of_devices(&trial, "write_mb_per_s");
    assert_eq!(written.len(), 2);
    assert!(written.iter().all(|mb| *mb > 0.0), "{written:?}");
    assert!(trial.metrics["write_amplification"].mean > 0.0);
    assert!(trial.space.unwrap().used_bytes.is_some());
    let report = done.file("report.md");
    assert!(report.contains("Log volume"), "{report}");
}

#[test]
fn a_log_apart_stays_with_its_data_from_trial_to_trial() {
    let words = "--set server.reset=none --set server.config.max_wal_size=96MB";
    let rest = "[sweep]; 'load.threads' = [1, 2]";
    let load = "think = '20ms'; warmup = '0s'";
    let Some(done) = run("postgres", load, rest, words, &["1s", "10s"]) else {
        return;
    };
    let trials = done.result().trials;
    let how = trials.iter().map(|trial| trial.reset.as_ref().unwrap().how);
    let how: Vec<ResetHow> = how.collect();
    assert_eq!(how.len(), 2);
    assert_eq!(how[1], ResetHow::Kept);
}

/// How fast a device is below its limit is up to the host.
#[test]
fn no_device_does_more_than_its_limit() {
    let load = "warmup = '2s'; threads = 8; distribution = 'uniform'";
    let rest = "read_iops = 200; write_iops = 40; \
        [server.config]; innodb_buffer_pool_size = '8M'; innodb_flush_method = 'O_DIRECT'; \
        [[variant]]; name = 'reads'; load.workload = 'oltp_point_select'; \
        [[variant]]; name = 'writes'; load.workload = 'oltp_update_non_index'";
    let words = "--set data.rows=60000 --set volume.read_iops=200 --set volume.write_iops=40";
    let Some(done) = run("mariadb", load, rest, words, &["4s", "20s"]) else {
        return;
    };
    let limited = [("read_iops", 200.0), ("write_iops", 40.0)];
    for (trial, (metric, limit)) in done.result().trials.iter().zip(limited) {
        let each = of_devices(trial, metric);
        assert!(each.iter().any(|iops| *iops > 0.0), "{metric}: {each:?}");
        let is_below = each.iter().all(|iops| *iops <= limit * 1.1);
        assert!(is_below, "{metric}: {each:?}");
    }
}

#[test]
fn a_volume_that_cannot_be_is_refused_where_it_was_named() {
    let study = "title = \"t\"\nserver.engine = \"mariadb\"\n[load]\ntime = \"1s\"\n\
                 [log_volume]\nfilesystem = \"xfs\"\n";
    let plan = |program: Program, words: &str| {
        let program = program.with_study(study).args("plan study.toml");
        program.args(words).run()
    };
    if !rustix::process::geteuid().is_root() {
        plan(Program::new(), "").fails(2, &["study.toml:6:14", "only root", "run dyno as root"]);
        return testkit::skip("only root can make a file system");
    }
    let nobody = plan(Program::as_nobody(), "");
    nobody.fails(2, &["study.toml:6:14", "only root", "run dyno as root"]);
    let hidden = Program::new().env("PATH", "/nowhere");
    let missing = "the program mkfs.xfs is missing";
    plan(hidden, "").fails(2, &["study.toml:6:14", missing, "xfsprogs"]);
    let refused = "
        --set log_volume.device_size=60T => (sparse files of loop devices may grow to 60.0 TiB) & a smaller device_size
        --set log_volume.device=/dev/null --set log_volume.allow_format=[\"/dev/null\"] => /dev/null is no block device & lsblk";
    for (words, texts) in cases(refused) {
        plan(Program::new(), words).fails(2, &texts);
    }
    let set = "log_volume.scheduler=cfq";
    let refused = Program::study(study).args("--set").arg(set).run_alone();
    refused.fails(2, &[set, "has no IO scheduler cfq", "use one that it has"]);
}
