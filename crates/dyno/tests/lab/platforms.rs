//! The papers' studies of platforms and of devices, made small: a quota of CPU time that
//! holds, data that is where the study says, and what the reports tell of both.

use std::collections::BTreeSet;
use std::fs::{Permissions, read_dir, read_to_string};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{
    Cache, Finished, Program, Table, can_make_volumes, cases, entries, give_to_nobody, has_program,
    is_whole, tables, wait_until,
};
use measure::summary::TrialSummary;
use rustix::process::Signal;
use tempfile::TempDir;

/// What makes a study take seconds.
const SMALL: &str = "--set data.tables=1 --set data.rows=500 --set load.warmup=0s \
                     --set load.repeats=2 --set server.config.innodb_flush_log_at_trx_commit=0";

/// A directory for data on the file system that holds `above`.
fn place(above: &str) -> TempDir {
    tempfile::Builder::new()
        .prefix("dyno-disk-")
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(above)
        .unwrap()
}

/// Whether servers can be limited here; records a skipped test where not.
pub(crate) fn can_limit(cache: &Cache) -> bool {
    // Refused in any case, before anything starts: for the quota, or then for the disk.
    let huge = "--set data.rows=2000000000 --set data.tables=100";
    let program = Program::shipped("p1-two-platforms").args(huge);
    let refused = program.cache(cache).run();
    if refused.stderr.contains("cannot enforce site.cpus") {
        // Only where the host gives nobody the right.
        refused.fails(2, &["p1-two-platforms.toml:", "site.cpus"]);
        testkit::skip("no control groups can be made here");
        return false;
    }
    refused.fails(2, &["of disk"]);
    true
}

fn run(name: &str, words: &str, cache: &Cache) -> Finished {
    let program = Program::shipped(name).args(SMALL).args(words);
    let done = program.cache(cache).succeeds();
    cache.assert_nothing_left();
    done.all_completed();
    done
}

fn variant(trial: &TrialSummary) -> &str {
    trial.setup.planned.point["variant"].as_text().unwrap()
}

/// Each round of repeats has every point once.
#[track_caller]
fn assert_blocks(trials: &[TrialSummary], points: usize) {
    for (round, block) in (1..).zip(trials.chunks(points)) {
        let planned = block.iter().map(|trial| &trial.setup.planned);
        let labels = planned
            .clone()
            .map(|planned| format!("{:?}", planned.point));
        let labels: BTreeSet<_> = labels.collect();
        assert_eq!(labels.len(), points, "{labels:?}");
        assert!(planned.clone().all(|planned| planned.repeat == round));
    }
}

/// The table of a page whose first column has these words in its first row.
#[track_caller]
fn table_with(page: &str, first: &str) -> Table {
    let mut found = tables(page).into_iter();
    let found = found.find(|table| table.rows.iter().any(|row| row[0] == first));
    found.unwrap_or_else(|| panic!("no table with {first} in\n{page}"))
}

const PAPERS_ROW: &str = "tps delta % (Virtualizing MySQL)";

#[test]
fn p1_holds_a_server_to_its_quota_and_shows_what_that_costs() {
    let cache = Cache::kept();
    if !can_limit(&cache) {
        return;
    }
    let words = "--set load.time=2s --set sweep.load.threads=[2,8] \
                 --set variant.quota.site.cpus=0.2 \
                 --set variant.quota.server.config.sync_binlog=1";
    let done = run("p1-two-platforms", words, &cache);
    let trials = done.result().trials;
    assert_eq!(trials.len(), 2 * 2 * 2);
    assert_blocks(&trials, 4);
    let mut held_back = 0.0;
    for trial in &trials {
        let limits = &trial.setup.planned.topology.node.site.limits;
        let cpus = limits.cpus.as_ref().unwrap().value;
        let label = &trial.setup.planned.label;
        // A period's quota more than the rule, and the kernel counts in hundredths.
        let used_pct = trial.metrics["server[1].cpu"].mean;
        let most_pct = 100.0 * cpus * 1.05 + 3.0;
        assert!(used_pct <= most_pct, "{label}: {used_pct} %");
        if variant(trial) == "quota" {
            held_back += trial.metrics["server[1].throttled"].mean;
        }
    }
    assert!(held_back > 0.0, "the quota was never used up");

    // The paper's table, in the report and by itself.
    let compared = done.compared("").file("compare.md");
    for page in [done.file("report.md"), compared.clone()] {
        let table = table_with(&page, PAPERS_ROW);
        assert_eq!(table.heads, ["threads", "2", "8"]);
        assert_eq!(
            (&*table.rows[0][0], &*table.rows[1][0]),
            ("two cores tps", "quota tps")
        );
    }
    let expected = [
        ["setup", "CPUs per server", "at most 2", "at most 0.2"],
        ["server", "sync_binlog", "default", "1"],
    ];
    assert_eq!(table_with(&compared, "setup").rows, expected);
    let words = "dyno recorded no other differences.";
    assert!(compared.contains(words), "{compared}");
}

#[test]
fn p1_compares_containers_with_processes_and_limits() {
    let cache = Cache::kept();
    if !can_limit(&cache) {
        return;
    }
    let words = "--set load.time=1s --set load.think=20ms --set sweep.load.threads=[2]";
    let done = run("p1-containers", words, &cache);
    let trials = done.result().trials;
    assert_eq!(trials.len(), 3 * 2);
    assert_blocks(&trials, 3);
    for trial in &trials {
        let kind = trial.setup.planned.topology.node.site.kind.value;
        assert_eq!(variant(trial), kind.name());
        let is_container = kind == plan::SiteKind::Container;
        assert_eq!(trial.setup.platform.is_some(), is_container);
        let reset = trial.reset.as_ref().unwrap();
        assert!(reset.startup_s.is_some_and(|s| s > 0.0), "{reset:?}");
        let is_counted = trial.metrics.contains_key("server.group_cpu");
        assert_eq!(is_counted, kind != plan::SiteKind::Process, "{kind}");
    }
    let report = done.file("report.md");
    let mut platforms = trials.iter().filter_map(|one| one.setup.platform.as_ref());
    let platform = platforms.next().unwrap();
    let is_podmans = platform.starts_with("podman ");
    assert_eq!(is_podmans, has_program("podman"), "{platform}");
    for words in [platform, "at most 4.0 GiB"] {
        assert!(report.contains(words), "{report}");
    }
    let page = done
        .compared("--base process --new container")
        .file("compare.md");
    let rows = table_with(&page, PAPERS_ROW).rows;
    assert_eq!(
        (&*rows[0][0], &*rows[1][0]),
        ("process tps", "container tps")
    );
    let meant = table_with(&page, "setup").rows;
    let names: Vec<&str> = meant.iter().map(|row| row[1].as_str()).collect();
    assert_eq!(names, ["Site", "CPUs per server", "Memory per server"]);
}

/// docker is what a study asks for, or what there is if podman does not work.
#[test]
fn docker_runs_containers_on_this_host() {
    let cache = Cache::kept();
    if !can_limit(&cache) {
        return;
    }
    let (daemon, dir) = (testkit::DockerDaemon::start(), place("/tmp"));
    let path = broken(dir.path(), "podman");
    let lasting = |words: &str, docker: &str, time_s: u32| {
        let rest = format!(
            "[site]; kind = 'container'; [ledger]; \
             [[fault]]; at = '500ms'; kill = 'primary'; heal = '500ms'; \
             [[fault]]; at = '{}ms'; restart = 'primary'",
            time_s * 600
        );
        let users = "workload = 'oltp_update_non_index'; threads = 2; think = '20ms'";
        let load = format!("{users}; warmup = '0s'; time = '{time_s}s'");
        let program = Program::private("postgres", &load, &rest).args(words);
        let program = program.env("DOCKER_HOST", docker).env("PATH", &path);
        program.cache(&cache).run()
    };
    let run = |words: &str, docker: &str| lasting(words, docker, 4);
    for words in ["--set site.runtime=docker --set site.memory=1G", ""] {
        // A server that is slow to start needs more time.
        let run = |time_s| lasting(words, &daemon.host(), time_s).succeeds().trial();
        let mut trials = [15, 60, 160].into_iter().map(run);
        let trial = trials
            .find(|trial| trial.faults.iter().all(is_whole))
            .unwrap();
        let platform = trial.setup.platform.unwrap();
        let is_dockers = platform.starts_with("docker ") && platform.ends_with(" with runc");
        assert!(is_dockers, "{platform}");
        assert!(trial.metrics["server.group_memory_bytes"].max > 0.0);
        let ledger = &trial.ledgers[0];
        assert!(ledger.acknowledged > 0 && ledger.is_intact(), "{ledger:?}");
        assert_eq!(daemon.ask(&["ps", "--all", "--quiet"]), "");
        assert_eq!(daemon.ask(&["images", "--all", "--quiet"]), "");
        cache.assert_nothing_left();
    }

    let asked = "--set site.runtime=docker";
    let elsewhere = "tcp://127.0.0.1:1";
    run(asked, elsewhere).fails(2, &["docker's daemon is elsewhere", elsewhere, "runtime"]);
    let nobody = format!("unix://{}/socket", dir.path().display());
    let texts = ["cannot set up a container", "Is the docker daemon running?"];
    run(asked, &nobody).fails(2, &texts);
    let cluster = "--set topology.cluster=asynchronous --set topology.network=namespaces";
    let texts = [
        "docker's containers cannot be in the network namespaces",
        "\"podman\"",
    ];
    run(&format!("{asked} {cluster}"), &daemon.host()).fails(2, &texts);
    assert!(cache.runs().is_empty(), "{:?}", cache.in_runs());
}

/// A program that does not work, in PATH before the real one; returns PATH.
fn broken(dir: &Path, name: &str) -> String {
    let program = dir.join(name);
    std::fs::write(&program, "#!/bin/sh\necho it is broken >&2\nexit 125\n").unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", dir.display(), std::env::var("PATH").unwrap())
}

#[test]
fn limits_that_cannot_be_are_refused_where_they_were_named() {
    let cache = Cache::kept();
    if !can_limit(&cache) {
        return;
    }
    let refused = "
        --set site.cpuset=0-4000 => this host has no CPU
        --set site.memory=64M => a server needs";
    for (set, words) in cases(refused) {
        let program = Program::shipped("quickstart").args("--set server.engine=mariadb");
        let texts = ["cannot enforce", set, words[0]];
        program.args(set).cache(&cache).fails(2, &texts);
    }
}

/// One variant on a real disk, the others on loop devices that are as slow as they should be.
#[test]
fn p3_ranks_devices_by_what_they_are_limited_to() {
    let cache = Cache::kept();
    if !can_make_volumes() || !can_limit(&cache) {
        return;
    }
    let disk = place("/var/tmp");
    let words = format!(
        "--set load.time=2s --set load.threads=4 --set load.repeats=1 \
         --set variant.pcie.volume.filesystem=none --set variant.pcie.volume.directory={} \
         --set variant.pcie.volume.read_iops=1_000_000_000 \
         --set variant.pcie.volume.write_iops=1_000_000_000 --set variant.pcie.name=real",
        disk.path().display()
    );
    let done = run("p3-devices", &words, &cache);
    let result = done.result();
    assert_eq!(result.trials.len(), 4);
    let dirs = store::trial_dirs(&done.out()).unwrap();
    for (trial, dir) in result.trials.iter().zip(dirs) {
        let volume = &trial.setup.planned.topology.node.volume;
        let is_real = variant(trial) == "real";
        assert_eq!(volume.file_system.is_some(), !is_real);
        let my_cnf = read_to_string(dir.join("servers/1/my.cnf")).unwrap();
        let datadir = format!("datadir = {}/dyno-", disk.path().display());
        assert_eq!(my_cnf.contains(&datadir), is_real, "{my_cnf}");
        if is_real {
            continue;
        }
        let limits = [volume.limits.read_iops, volume.limits.write_iops];
        for (metric, limit) in ["read_iops", "write_iops"].into_iter().zip(limits) {
            let most = 1.1 * limit.unwrap() as f64;
            let mean = trial.metrics[&format!("disk.{metric}")].mean;
            assert!(mean <= most, "{}: {metric} {mean}", variant(trial));
        }
    }
    assert!(entries(disk.path()).is_empty());
    let known = &result.environment.places;
    let path = disk.path().display().to_string();
    let of_disk = known.iter().find(|place| place.path == path).unwrap();
    assert!(of_disk.options.is_some());
    assert!(done.file("report.md").contains(&path));

    let ranked = Program::new().arg("rank").arg(done.out()).args("--out out");
    let ranked = ranked.succeeds();
    let [board] = tables(&ranked.file("rank.md")).try_into().unwrap();
    let mut names: Vec<&str> = board.rows.iter().map(|row| row[1].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["consumer", "read-optimized", "real", "sata"]);
}

#[test]
fn a_directory_that_cannot_be_is_refused_where_it_was_named() {
    for words in ["run", "plan", "doctor --study"] {
        let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/p3-devices.toml");
        let program = Program::new().args(words).arg(study);
        let done = program
            .args("--set variant.consumer.volume.directory=/there/is/none")
            .run();
        let place = "--set variant.consumer.volume.directory";
        match words {
            // It tells of what can be looked at.
            "doctor --study" => done.succeeds(),
            _ => done.fails(2, &[place, "/there/is/none does not exist"]),
        };
    }
}

/// All control groups of this dyno.
fn groups(run: &Path) -> Vec<PathBuf> {
    let name = format!("dyno-{}-", run.file_name().unwrap().to_str().unwrap());
    let mut todo = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    while let Some(dir) = todo.pop() {
        for entry in read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let is_its = entry.file_name().to_string_lossy().starts_with(&name);
                found.extend(is_its.then(|| entry.path()));
                todo.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn a_killed_study_leaves_neither_groups_nor_data_behind_a_clean() {
    let (cache, disk) = (Cache::kept(), place("/dev/shm"));
    if !can_limit(&cache) {
        return;
    }
    let directory = format!("--set volume.directory={}", disk.path().display());
    let program = Program::shipped("p1-two-platforms").args(SMALL);
    let dyno = program.args(&directory).cache(&cache).start();
    wait_until("a server with a quota and data elsewhere", || {
        let own = entries(disk.path());
        let has_data = own.iter().any(|dir| dir.join("data/ibdata1").exists());
        has_data && cache.runs().iter().any(|run| !groups(run).is_empty())
    });
    let [run] = cache.runs().try_into().unwrap();
    dyno.signal(Signal::KILL);
    assert_eq!(dyno.wait().code(), None);
    cache.wait_for_no_process();
    assert!(!groups(&run).is_empty() && !entries(disk.path()).is_empty());
    cache.clean().prints(&["freed"]);
    assert_eq!(groups(&run), [] as [PathBuf; 0]);
    assert_eq!(entries(disk.path()), [] as [PathBuf; 0]);
    cache.assert_nothing_left();
}

#[test]
fn a_missing_right_or_program_is_reported_with_its_remedy() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can run dyno as somebody else");
    }
    let cache = Cache::kept();
    let study = "title = \"t\"\nserver.engine = \"mariadb\"\ndata.rows = 10\n";
    let refused = "
        --set site.cpus=1 => cannot enforce site.cpus & run dyno as root
        --set site.memory=1G => cannot enforce site.memory & run dyno as root
        --set site.kind=container => cannot set up a container & run dyno as root";
    for (words, mut texts) in cases(refused) {
        texts.push(words);
        let own = Cache::new();
        let program = Program::as_nobody().with_study(study).cache(&own);
        give_to_nobody(own.path());
        give_to_nobody(program.dir());
        let program = program.args("run study.toml --out out").args(words);
        program.fails(2, &texts);
    }

    // podman that does not work: an error only where the study insists on it.
    let dir = place("/tmp");
    let path = broken(dir.path(), "podman");
    let run = |words: &str| {
        let program = Program::study(study).args("--set site.kind=container");
        let program = program.args(words).cache(&cache).env("PATH", &path);
        let refused = program.run();
        assert!(cache.runs().is_empty(), "{:?}", cache.in_runs());
        refused
    };
    run("--set site.runtime=podman")
        .fails(2, &["container: it is broken", "runtime = \"namespaces\""]);
    run("--set data.rows=2000000000 --set data.tables=100").fails(2, &["of disk"]);
}
