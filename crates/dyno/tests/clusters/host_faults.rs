//! Clusters over several hosts, which are namespaces of this one with an SSH server each.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Cache, Finished, Program, entries, in_time, shown, wait_until};
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

/// Nothing runs on a host, and it has only dyno's cache, in which no run has left anything.
fn assert_nothing_left(hosts: &Hosts, number: u8) {
    wait_until("the end of what runs there", || {
        hosts.processes(number).is_empty()
    });
    let own = hosts.own(number);
    let left: Vec<_> = entries(&own)
        .into_iter()
        .filter(|path| !path.ends_with("dyno-cache"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let runs = entries(&own.join("dyno-cache/run"));
    assert!(runs.is_empty(), "{runs:?}");
    assert_eq!(hosts.run(number, &["nft", "list", "tables"]), "");
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
    for number in 1..=3 {
        assert_nothing_left(&hosts, number);
    }
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
    let done = in_time(&["4s", "60s"], run, is_healed);
    let trial = done.completed();
    let clocks = &trial.setup.clocks;
    let names: Vec<&str> = clocks.iter().map(|clock| clock.host.as_str()).collect();
    assert_eq!(names, ["host1", "host2"]);
    for (clock, ahead_s) in clocks.iter().zip([0.0, 2.0]) {
        assert!((clock.ahead_s - ahead_s).abs() <= 0.002, "{clock:?}");
        assert!(
            (clock.ahead_s - ahead_s).abs() <= clock.bound_s + 0.0005,
            "{clock:?}"
        );
    }
    let kill = &trial.faults[0];
    let late = kill.effect_s.unwrap() - kill.asked_s;
    assert!((0.0..1.0).contains(&late), "{kill:?}");
    let report = done.file("report.md");
    assert!(report.contains("Clocks of the servers' hosts"), "{report}");
    eprintln!("{clocks:?}");
}
