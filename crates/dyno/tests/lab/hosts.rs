//! A study whose servers run on another host: an SSH server of the test's own stands for it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{Cache, Finished, Program, assert_idle, entries, in_time, updates};
use tempfile::TempDir;
use testkit::{Hosts, SshHost};

const VARIANTS: &str = r#"
[[variant]]
name = "here"

[[variant]]
name = "there"
"#;

const FAULT: &str = r#"
[[fault]]
at = "1s"
kill = "primary"
heal = "300ms"
"#;

/// The study with its second variant on this host.
fn program(host: &SshHost, below: &Path, time: &str) -> Program {
    let site = format!(
        "site.host = \"{}\"\nsite.ssh_config = \"{}\"\nsite.directory = \"{}\"\n",
        SshHost::NAME,
        host.config().display(),
        below.display()
    );
    let study = updates("The same load here and there", time);
    Program::study(&format!("{study}{VARIANTS}{site}{FAULT}"))
}

fn directory() -> TempDir {
    let open = Permissions::from_mode(0o755);
    tempfile::Builder::new()
        .permissions(open)
        .tempdir()
        .unwrap()
}

#[test]
fn a_server_on_another_host_is_driven_sampled_broken_and_gone() {
    let (cache, host, below) = (Cache::kept(), SshHost::start(), directory());
    let run = |time: &str| program(&host, below.path(), time).cache(&cache).succeeds();
    let is_healed = |done: &Finished| {
        let mut faults = done.result().trials.into_iter().flat_map(|one| one.faults);
        faults.all(|fault| fault.healed_s.is_some())
    };
    let done = in_time(&["5s", "60s"], run, is_healed);
    let [here, there] = <[_; 2]>::try_from(done.all_completed()).unwrap();
    for trial in [&here, &there] {
        let is_seen = trial.metrics.contains_key("server[1].rss_bytes");
        assert!(is_seen, "{trial:?}");
    }
    assert!(!here.metrics.contains_key("site[1].cpu.idle") && here.setup.platform.is_none());
    assert!(there.metrics.contains_key("site[1].cpu.idle"));
    let metrics = &there.metrics;
    assert_eq!(metrics["site[1].cpu.user"], metrics["site.cpu.user"]);
    let platform = there.setup.platform.unwrap();
    let is_told = platform.starts_with("elsewhere, ") && platform.contains("Linux");
    assert!(is_told, "{platform}");
    let log = done.kept(2, "1/error.log");
    assert_eq!(log.matches("ready for connections").count(), 2, "{log}");
    let config = done.kept(2, "1/my.cnf");
    let cache_there = below.path().join("dyno-cache");
    let data = format!("datadir = {}/run/", cache_there.display());
    assert!(config.contains(&data), "{config}");
    assert_eq!(entries(below.path()), [cache_there]);
    cache.assert_nothing_left();
}

#[test]
fn a_host_that_does_not_answer_is_refused_before_the_first_trial() {
    let (cache, host, below) = (Cache::kept(), SshHost::start(), directory());
    fs::write(host.authorized_keys(), "").unwrap();
    let refused = program(&host, below.path(), "5s").cache(&cache).run();
    let texts = ["study.toml:", "host elsewhere", "none of this user's keys"];
    refused.fails(3, &texts);
    cache.assert_nothing_left();
}

/// A test that fails here restarts the machine that it runs on: `machine::site::far::reboot` has the first one.
#[test]
fn the_machine_that_dyno_runs_on_is_not_restarted() {
    let (cache, host, below) = (Cache::kept(), SshHost::start(), directory());
    let name = SshHost::NAME;
    let site = format!(
        "[site]\nhost = \"{name}\"\nallow_reboot = [\"{name}\"]\nssh_config = \"{}\"\ndirectory = \"{}\"\n",
        host.config().display(),
        below.path().display()
    );
    let study = format!(
        "title = \"t\"\nserver.engine = \"mariadb\"\n{site}[data]\nrows = 500\n[load]\ntime = \"60s\"\n\
         [[fault]]\nat = \"20s\"\nreboot = 1\n"
    );
    let refused = Program::study(&study).cache(&cache).run();
    refused.fails(
        2,
        &["study.toml:", "on host elsewhere", "dyno itself runs on it"],
    );
    assert!(entries(&below.path().join("dyno-cache/run")).is_empty());
    cache.assert_nothing_left();
}

/// A study with two servers on hosts of namespaces.
fn on(hosts: &Hosts, cache: &Cache, more: &str) -> Program {
    let site = format!(
        "site.hosts = {}\nsite.ssh_config = \"{}\"\n",
        hosts.list(),
        hosts.config().display()
    );
    let load = "[load]\nthreads = 2\nthink = \"20ms\"\nwarmup = \"0s\"\ntime = \"3s\"\n";
    let server = "title = \"t\"\nserver.engine = \"mariadb\"\ntopology.instances = 2\n";
    Program::study(&format!("{server}{site}{more}\n[data]\nrows = 500\n{load}")).cache(cache)
}

#[test]
fn instances_run_on_several_hosts_and_leave_nothing() {
    let Some(hosts) = Hosts::start(2) else { return };
    let cache = Cache::kept();
    let limits = "site.memory = \"512M\"\n[volume]\nfilesystem = \"ext4\"\ndevice_size = \"512M\"";
    let done = on(&hosts, &cache, limits).succeeds();
    let report = fs::read_to_string(done.out().join("report.md")).unwrap();
    assert!(
        report.contains("of mariadb on host1, mariadb on host2"),
        "{done}"
    );
    let trial = done.completed();
    assert_idle(&hosts, 1..=2);
    for number in 1..=2_u8 {
        let name = format!("server[{number}].rss_bytes");
        assert!(trial.metrics.contains_key(name.as_str()), "{trial:?}");
        let mounted = hosts.run(number, &["cat", "/proc/mounts"]);
        assert!(!mounted.contains("dyno-cache/run"), "{mounted}");
    }
    cache.assert_nothing_left();
}

/// Why hosts cannot be used is said of all of them at once, before anything runs.
#[test]
fn hosts_that_cannot_be_used_are_named_together() {
    let Some(mut hosts) = Hosts::start(4) else {
        return;
    };
    let cache = Cache::kept();
    let refused = |hosts: &Hosts, texts: &[&str]| {
        let run = on(hosts, &cache, "")
            .args("--set topology.instances=4")
            .run();
        run.fails(3, texts);
        cache.assert_nothing_left();
    };
    // Another name of the first host.
    let config = fs::read_to_string(hosts.config()).unwrap();
    let first = config.split("Host ").nth(1).unwrap();
    let again = first.replace("host1\n", "again\n");
    let both = TempDir::new().unwrap();
    let file = both.path().join("ssh_config");
    fs::write(&file, format!("{config}Host {again}")).unwrap();
    let twice = on(&hosts, &cache, "").args("--set site.hosts=host1,again");
    let twice = twice
        .arg("--set")
        .arg(format!("site.ssh_config={}", file.display()));
    twice.run().fails(
        3,
        &["--set site.hosts", "it is ", "ssh reaches both at 100.127."],
    );
    // The data has a disk of its own.
    let small = ["mount", "-t", "tmpfs", "-o", "size=450M", "tmpfs", "/mnt"];
    hosts.run(1, &small);
    let port = "--set site.directory=/mnt --set volume.directory=/var/tmp --set topology.instances=1 \
                --set server.port=2222";
    let taken = on(&hosts, &cache, "").args(port).run();
    taken.fails(3, &["on host host1: port 2222 is taken by "]);
    let volume =
        "--set volume.filesystem=ext4 --set volume.device_size=128M --set data.rows=400000";
    let large = on(&hosts, &cache, "").args(volume).run();
    large.fails(
        2,
        &[
            "volume.filesystem",
            "each server needs ",
            "its file system has ",
        ],
    );
    for number in 3..=4 {
        hosts.hide(number, Path::new("/usr/sbin/mariadbd"));
    }
    refused(
        &hosts,
        &[
            "study.toml:",
            "on host host3: no MariaDB server was found",
            "on host host4: ",
        ],
    );
    fs::write(hosts.ssh(2).authorized_keys(), "").unwrap();
    fs::write(hosts.ssh(3).known_hosts(), "").unwrap();
    hosts.change_key(4);
    let keys = [
        "host host2",
        "none of this user's keys",
        "host host3",
        "is not known",
        "host host4",
        "has changed",
    ];
    refused(&hosts, &keys);
    hosts.kill(4);
    refused(&hosts, &["host host4", "timed out", "host host2"]);
    assert_idle(&hosts, 1..=3);
}

/// So are those of hosts that the first trial does not need.
#[test]
fn hosts_that_only_a_later_trial_needs_are_checked_before_the_first_one() {
    let Some(hosts) = Hosts::start(2) else { return };
    let cache = Cache::kept();
    hosts.hide(2, Path::new("/usr/sbin/mariadbd"));
    let sweep = "--set sweep.topology.instances=[1,2,3] --set site.hosts=host1,host2,host0";
    let refused = on(&hosts, &cache, "").args(sweep).run();
    assert!(!refused.out().exists(), "{refused}");
    let texts = ["host host0 cannot be used: ", "on host host2: "];
    refused.fails(3, &texts);
    assert_idle(&hosts, 1..=2);
    cache.assert_nothing_left();
}

#[test]
fn a_host_that_dies_while_it_gets_its_data_leaves_nothing_elsewhere() {
    let Some(mut hosts) = Hosts::start(2) else {
        return;
    };
    let cache = Cache::kept();
    let mut running = on(&hosts, &cache, "").start();
    let run = hosts.own(2).join("dyno-cache/run");
    running.comes_to("data on its way", || {
        // Besides the program's own files.
        let has_data = |run: &PathBuf| entries(run).len() > 3;
        entries(&run).iter().any(has_data)
    });
    hosts.kill(2);
    running.wait().fails(3, &["host host2 cannot be used: "]);
    assert_idle(&hosts, [1]);
    cache.wait_for_no_process();
    // What was on it is removed once it answers again.
    hosts.restart(2);
    on(&hosts, &cache, "").succeeds();
    assert_idle(&hosts, [2]);
    cache.assert_nothing_left();
}
