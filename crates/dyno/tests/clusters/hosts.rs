//! Servers on several hosts, which are namespaces with an SSH server each: clusters with volumes and
//! limits there, and what is left when dyno or a host dies.

use std::path::PathBuf;

use crate::common::{
    Cache, Finished, Program, entries, in_time, is_whole, primaries, shown, updates, wait_until,
};
use rustix::process::Signal;
use testkit::Hosts;

const STUDY: &str = r#"
REST
[site]
hosts = HOSTS
ssh_config = "CONFIG"
"#;

const CLUSTER: &str = r#"
[topology]
cluster = "asynchronous"
members = 3
failover = "500ms"

[[fault]]
at = "2s"
kill = "primary"
heal = "2s"
"#;

fn program(hosts: &Hosts, time: &str, rest: &str) -> Program {
    let study = STUDY.replace("REST", rest).replace("HOSTS", &hosts.list());
    let study = study.replace("CONFIG", &hosts.config().display().to_string());
    Program::study(&(updates("Servers there", time) + &study))
}

/// The cache of a host, with what runs have left.
fn runs(hosts: &Hosts, number: u8) -> Vec<PathBuf> {
    entries(&hosts.own(number).join("dyno-cache/run"))
}

/// Only templates stay on the hosts.
fn assert_nothing_left(hosts: &Hosts, count: u8) {
    for number in 1..=count {
        let left = entries(&hosts.own(number));
        assert_eq!(left, [hosts.own(number).join("dyno-cache")], "{number}");
        assert!(runs(hosts, number).is_empty(), "{number}");
        let processes = hosts.processes(number);
        assert!(processes.is_empty(), "{number}: {processes:?}");
    }
}

#[test]
fn a_cluster_on_three_hosts_fails_over() {
    let Some(hosts) = Hosts::start(3) else { return };
    let cache = Cache::kept();
    let run = |time: &str| program(&hosts, time, CLUSTER).cache(&cache).succeeds();
    let is_healed = |done: &Finished| done.trial().faults.iter().all(is_whole);
    let done = in_time(&["8s", "60s"], run, is_healed);
    let trial = done.completed();
    // The replica that has received more.
    let promoted = primaries(&trial).first().copied();
    assert!(matches!(promoted, Some(2 | 3)), "{}", shown(&trial));
    for number in 1..=3 {
        let seen = format!("server[{number}].rss_bytes");
        assert!(trial.metrics.contains_key(&seen), "{seen}");
        let seen = format!("site[{number}].cpu.idle");
        assert!(trial.metrics.contains_key(&seen), "{seen}");
        let templates = entries(
            &hosts
                .own(u8::try_from(number).unwrap())
                .join("dyno-cache/templates"),
        );
        assert_eq!(templates.len(), 2, "{templates:?}");
    }
    let platform = trial.setup.platform.clone().unwrap();
    let findings = done.result().findings;
    for name in ["host1", "host3"] {
        assert!(platform.contains(name), "{platform}");
        let is_of = |of: &str| of.contains(&format!("host {name}"));
        assert!(findings.iter().any(|one| is_of(&one.of)), "{findings:?}");
    }
    let log = done.kept(1, "1/error.log");
    assert_eq!(log.matches("ready for connections").count(), 2, "{log}");
    assert_nothing_left(&hosts, 3);
    cache.assert_nothing_left();
}

#[test]
fn servers_there_have_volumes_and_limits() {
    let Some(hosts) = Hosts::start(2) else { return };
    if !crate::common::can_make_volumes() {
        return;
    }
    let rest = "[topology]\ninstances = 2\n[volume]\nfilesystem = \"ext4\"\ndevice_size = \"512M\"\n\
                [log_volume]\nfilesystem = \"ext4\"\ndevice_size = \"512M\"\n\
                [[fault]]\nat = \"1s\"\nfill_disk = \"primary\"\nheal = \"1s\"\n";
    let cache = Cache::kept();
    let limits = "--set site.cpus=0.5";
    let run = |time: &str| {
        program(&hosts, time, rest)
            .args(limits)
            .cache(&cache)
            .succeeds()
    };
    let is_healed = |done: &Finished| done.trial().faults.iter().all(is_whole);
    let done = in_time(&["4s", "60s"], run, is_healed);
    let trial = done.completed();
    assert_eq!(trial.faults.len(), 2, "{}", shown(&trial));
    for seen in ["server[1].group_cpu", "server[2].group_cpu"] {
        assert!(trial.metrics.contains_key(seen), "{seen}");
    }
    assert!(trial.space.is_some_and(|space| space.used_bytes.is_some()));
    let config = done.kept(1, "2/my.cnf");
    assert!(config.contains("/mounted/"), "{config}");
    assert_nothing_left(&hosts, 2);
}

#[test]
fn a_killed_dyno_leaves_nothing_on_its_hosts() {
    let Some(hosts) = Hosts::start(2) else { return };
    let cache = Cache::kept();
    let rest = "[topology]\ninstances = 2\n";
    let mut dyno = program(&hosts, "60s", rest).cache(&cache).start();
    dyno.comes_to_second(1, "measure");
    dyno.signal(Signal::KILL);
    assert_eq!(dyno.wait().code(), None);
    for number in 1..=2 {
        wait_until("the servers' end", || hosts.processes(number).is_empty());
        assert!(runs(&hosts, number).is_empty());
    }
    cache.clean().prints(&["freed"]);
    cache.assert_nothing_left();
    assert_nothing_left(&hosts, 2);
}

#[test]
fn a_host_that_dies_ends_the_trial_and_is_named() {
    let Some(mut hosts) = Hosts::start(2) else {
        return;
    };
    let cache = Cache::kept();
    let rest = "[topology]\ninstances = 2\n";
    let mut dyno = program(&hosts, "60s", rest).cache(&cache).start();
    dyno.comes_to_second(1, "measure");
    hosts.kill(2);
    dyno.wait().fails(3, &["host2", "connection was lost"]);
    assert!(runs(&hosts, 1).is_empty());
    wait_until("the other server's end", || hosts.processes(1).is_empty());
}

/// ssh keeps the connection to a host that hangs as long as its kernel answers.
#[test]
fn a_host_whose_program_hangs_is_lost_like_a_dead_one() {
    let Some(hosts) = Hosts::start(2) else { return };
    let cache = Cache::kept();
    let rest = "[topology]\ninstances = 2\n";
    let mut dyno = program(&hosts, "300s", rest).cache(&cache).start();
    dyno.comes_to_second(1, "measure");
    hosts.run(2, &["pkill", "-STOP", "-x", "program"]);
    dyno.wait().fails(3, &["host2", "connection was lost"]);
    cache.assert_nothing_left();
    hosts.run(2, &["pkill", "-CONT", "-x", "program"]);
    for number in 1..=2 {
        wait_until("the servers' end", || hosts.processes(number).is_empty());
        assert!(runs(&hosts, number).is_empty());
    }
}

#[test]
fn hosts_that_have_too_little_memory_are_named() {
    let Some(hosts) = Hosts::start(2) else { return };
    let rest = "[topology]\ninstances = 2\n";
    let huge = "--set server.config.innodb_buffer_pool_size=900G";
    let refused = program(&hosts, "1s", rest)
        .args(huge)
        .cache(&Cache::kept())
        .run();
    let texts = ["study.toml:", "host host1", "host host2", "of memory"];
    refused.fails(3, &texts);
    assert_nothing_left(&hosts, 2);
}
