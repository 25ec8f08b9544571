//! Clusters over several hosts, which are namespaces of this one with an SSH server each.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::common::{
    Cache, Finished, Program, assert_idle, in_time, shown, wait_for_idle, wait_until,
};
use measure::summary::TrialSummary;
use rustix::process::Signal;
use testkit::Hosts;

const LOAD: &str = "[data]\nrows = 500\n[load]\nworkload = \"oltp_update_non_index\"\nthreads = 2\nthink = \"20ms\"\nwarmup = \"0s\"\n";

fn site(hosts: &Hosts) -> String {
    let config = hosts.config();
    format!(
        "[site]\nhosts = {}\nssh_config = \"{}\"\n",
        hosts.list(),
        config.display()
    )
}

fn is_healed(done: &Finished) -> bool {
    let mut faults = done.result().trials.into_iter().flat_map(|one| one.faults);
    faults.all(|fault| fault.healed_s.is_some())
}

#[test]
fn a_cluster_spreads_over_hosts_and_survives_what_happens_to_them() {
    let Some(hosts) = Hosts::start(3) else { return };
    let cache = Cache::kept();
    let faults = "[[fault]]\nat = \"1s\"\nsilence = \"replica\"\nheal = \"2s\"\n\
                  [[fault]]\nat = \"6s\"\nfail_host = \"replica\"\nheal = \"2s\"\n";
    let run = |time: &str| {
        let study = format!(
            "title = \"t\"\nserver.engine = \"postgres\"\n\
             topology = {{ cluster = \"quorum\", members = 3 }}\nledger = {{ rate = 20 }}\n\
             {}{LOAD}time = \"{time}\"\n{faults}",
            site(&hosts)
        );
        Program::study(&study).cache(&cache).succeeds()
    };
    let done = in_time(&["14s", "60s"], run, is_healed);
    let trial = done.completed();
    let text = shown(&trial);
    assert!(trial.ledgers[0].is_intact(), "{text}");
    for fault in &trial.faults {
        assert!(fault.error.is_none() && fault.effect_s.is_some(), "{text}");
    }
    assert_idle(&hosts, 1..=3);
    cache.assert_nothing_left();
}

/// A host's time of day is off by 2 s; what happens there is reported at the right time, and the time of
/// day with how far it is off.
#[test]
fn a_host_whose_clock_is_wrong_is_measured_not_believed() {
    let library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
    // Programs that root runs see another time; servers, whose user cannot read the copy, do not.
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("libfaketime.so");
    if std::fs::copy(library, &copy).is_err() {
        return testkit::skip("faketime is not installed (scripts/install-servers.sh ssh)");
    }
    std::fs::set_permissions(&copy, Permissions::from_mode(0o600)).unwrap();
    let wrong = |number| match number {
        2 => format!(
            "SetEnv LD_PRELOAD={} FAKETIME=+2s FAKETIME_DONT_FAKE_MONOTONIC=1\n",
            copy.display()
        ),
        _ => String::new(),
    };
    let Some(hosts) = Hosts::start_with(2, wrong) else {
        return;
    };
    let cache = Cache::kept();
    let fault = "[[fault]]\nat = \"1s\"\nkill = 2\nheal = \"500ms\"\n";
    let run = |time: &str| {
        let study = format!(
            "title = \"t\"\nserver.engine = \"mariadb\"\ntopology.instances = 2\n{}{LOAD}time = \"{time}\"\n{fault}",
            site(&hosts)
        );
        Program::study(&study).cache(&cache).succeeds()
    };
    let off_s = |trial: &TrialSummary| {
        let ahead = trial.setup.clocks.iter().zip([0.0, 2.0]);
        let off = ahead.map(|(clock, ahead_s)| (clock.ahead_s - ahead_s).abs());
        off.collect::<Vec<f64>>()
    };
    // A busy machine may answer late.
    let is_near = |trial: &TrialSummary| {
        let kill = &trial.faults[0];
        let late_s = kill.effect_s.map(|effect_s| effect_s - kill.asked_s);
        let is_in_time = late_s.is_some_and(|late_s| (0.0..1.0).contains(&late_s));
        is_in_time && off_s(trial).iter().all(|off_s| *off_s <= 0.002)
    };
    let is_over = |done: &Finished| is_healed(done) && is_near(&done.trial());
    let done = in_time(&["4s", "5s", "60s"], run, is_over);
    let trial = done.completed();
    let clocks = &trial.setup.clocks;
    let names: Vec<&str> = clocks.iter().map(|clock| clock.host.as_str()).collect();
    assert_eq!(names, ["host1", "host2"]);
    for (clock, off_s) in clocks.iter().zip(off_s(&trial)) {
        assert!(off_s <= clock.bound_s + 0.0005, "{clock:?}");
    }
    assert!(is_near(&trial), "{clocks:?} {}", shown(&trial));
    let report = done.file("report.md");
    assert!(report.contains("Clocks of the servers' hosts"), "{report}");
}

/// The same files that run on one host run on several with one more setting.
#[test]
fn studies_of_papers_spread_over_hosts() {
    let Some(hosts) = Hosts::start(4) else { return };
    let run = |name: &str, hosts: &Hosts, count: usize, words: &str| {
        let cache = Cache::kept();
        let list: Vec<String> = (1..=count)
            .map(|number| format!("\"host{number}\""))
            .collect();
        let program = Program::shipped(name).cache(&cache).args(words);
        let program = program.args(
            "--set data.tables=2 --set data.rows=500 --set load.think=50ms --set load.warmup=0s",
        );
        let program = program
            .arg("--set")
            .arg(format!("site.hosts=[{}]", list.join(", ")));
        let config = format!("site.ssh_config={}", hosts.config().display());
        let done = program.arg("--set").arg(config).succeeds();
        cache.assert_nothing_left();
        done.all_completed()
    };
    let spread = run("p2-scale-out", &hosts, 4, "--set load.time=2s");
    assert_eq!(
        spread
            .iter()
            .map(|trial| trial.setup.clocks.len())
            .collect::<Vec<_>>(),
        [1, 2, 4]
    );
    let groups = run(
        "p5-group-replication",
        &hosts,
        4,
        "--set load.time=3s --set sweep.topology.members=[4]",
    );
    assert_eq!(
        groups
            .iter()
            .map(|trial| trial.setup.clocks.len())
            .collect::<Vec<_>>(),
        [4]
    );
    // Two of five members are on the host that fails.
    let failed = run(
        "p5-host-failure",
        &hosts,
        3,
        "--set load.time=60s --set load.threads=2 --set site.cpus=1",
    );
    let text = shown(&failed[0]);
    assert!(failed[0].ledgers[0].is_intact(), "{text}");
    let fault = &failed[0].faults[0];
    assert!(fault.effect_s.is_some() && fault.error.is_none(), "{text}");
    assert_idle(&hosts, 1..=4);
}

#[test]
fn hosts_that_cannot_fall_silent_are_named_before_anything_runs() {
    let Some(hosts) = Hosts::start(2) else { return };
    let cache = Cache::kept();
    for number in 1..=2 {
        hosts.hide(number, std::path::Path::new("/usr/sbin/nft"));
    }
    let fault = "[[fault]]\nat = \"1s\"\nsilence = 1\nheal = \"1s\"\n";
    let study = format!(
        "title = \"t\"\nserver.engine = \"mariadb\"\ntopology.instances = 2\n{}{LOAD}time = \"5s\"\n{fault}",
        site(&hosts)
    );
    let refused = Program::study(&study).cache(&cache).run();
    refused.fails(
        3,
        &[
            "study.toml:",
            "on host host1: ",
            "on host host2: ",
            "cannot fall silent",
            "nftables",
        ],
    );
    assert_idle(&hosts, 1..=2);
    cache.assert_nothing_left();
}

/// All members on a host end with it, and return together with what they had.
#[test]
fn a_host_restarts_under_load_and_its_servers_return_with_their_data() {
    let Some(hosts) = Hosts::start(2) else { return };
    let cache = Cache::kept();
    let first = (1..=2).map(|number| hosts.init(number));
    let first: Vec<_> = first.collect();
    let run = |time: &str| {
        let study = format!(
            "title = \"t\"\nserver.engine = \"postgres\"\n\
             topology = {{ cluster = \"asynchronous\", members_on = [\"host1\", \"host2\", \"host2\"] }}\n\
             ledger = {{ rate = 20 }}\n{}allow_reboot = [\"host2\"]\ncpus = 1\n{LOAD}time = \"{time}\"\n\
             [[fault]]\nat = \"1s\"\nreboot = 2\nheal = \"1s\"\nexpect_outage = true\n",
            site(&hosts)
        );
        Program::study(&study).cache(&cache).succeeds()
    };
    let done = in_time(&["10s", "60s"], run, is_healed);
    let trial = done.completed();
    let text = shown(&trial);
    let fault = &trial.faults[0];
    assert!(fault.error.is_none() && fault.effect_s.is_some(), "{text}");
    assert!(trial.ledgers[0].is_intact(), "{text}");
    for number in [2, 3] {
        let log = done.kept(1, &format!("{number}/error.log"));
        let starts = log.matches("ready to accept").count();
        assert_eq!(starts, 2, "{log}");
    }
    let now: Vec<_> = (1..=2).map(|number| hosts.init(number)).collect();
    assert!(now[0] == first[0] && now[1] != first[1]);
    assert_idle(&hosts, 1..=2);
    cache.assert_nothing_left();
}

/// It is waited for, so that nothing stays there.
#[test]
fn a_host_that_is_not_healed_is_cleaned_up() {
    let Some(hosts) = Hosts::start(2) else { return };
    let cache = Cache::kept();
    let study = format!(
        "title = \"t\"\nserver.engine = \"mariadb\"\ntopology.instances = 2\n\
         {}allow_reboot = {}\n{LOAD}time = \"4s\"\n\
         [[fault]]\nat = \"1s\"\nreboot = 2\nheal = \"never\"\n",
        site(&hosts),
        hosts.list()
    );
    let program = || Program::study(&study).cache(&cache);
    let done = program().succeeds();
    let fault = &done.completed().faults[0];
    assert!(
        fault.effect_s.is_some() && fault.healed_s.is_none(),
        "{fault:?}"
    );
    assert_idle(&hosts, 1..=2);
    let mut running = program().start();
    running.says("reboot of server 2");
    running.signal(Signal::INT);
    running.wait().fails(4, &[]);
    assert_idle(&hosts, 1..=2);
    cache.assert_nothing_left();
}

/// A silent host hears neither of dyno's death nor of anything else, and is heard again nevertheless.
#[test]
fn a_host_is_heard_again_although_dyno_is_killed() {
    let Some(hosts) = Hosts::start(1) else { return };
    let cache = Cache::kept();
    let fault = "[[fault]]\nat = \"1s\"\nsilence = 1\nheal = \"200s\"\n";
    let study = format!(
        "title = \"t\"\nserver.engine = \"mariadb\"\n{}{LOAD}time = \"300s\"\n{fault}",
        site(&hosts)
    );
    let mut running = Program::study(&study).cache(&cache).start();
    running.says("silence of server 1");
    let tables = hosts.run(1, &["nft", "list", "ruleset"]);
    assert!(tables.contains("expires"), "{tables}");
    let knocks =
        || std::net::TcpStream::connect_timeout(&hosts.ssh(1).address(), Duration::from_secs(1));
    assert!(knocks().is_err());
    running.signal(Signal::KILL);
    wait_until("the host to be heard", || knocks().is_ok());
    wait_for_idle(&hosts, [1]);
    cache.clean().succeeds();
    assert_idle(&hosts, [1]);
    cache.assert_nothing_left();
}
