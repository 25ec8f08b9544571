//! A study whose servers run on another host: an SSH server of the test's own stands for it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{Cache, Finished, Program, entries, in_time};
use tempfile::TempDir;
use testkit::SshHost;

const STUDY: &str = r#"
title = "The same load here and there"

[server]
engine = "mariadb"
config.innodb_buffer_pool_size = "32M"

[data]
rows = 500

[load]
workload = "oltp_update_non_index"
threads = 2
think = "20ms"
warmup = "0s"
time = "TIME"

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
    let study = STUDY.replace("TIME", time);
    Program::study(&format!("{study}{site}{FAULT}"))
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
    let data = format!("datadir = {}/dyno-", below.path().display());
    assert!(config.contains(&data), "{config}");
    assert!(entries(below.path()).is_empty());
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
