//! PostgreSQL under Patroni: clusters form, are driven, fail over, and leave nothing behind.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{self, Cache, Finished, Program, each, in_time, is_whole};
use measure::fault::FaultRecord;
use measure::instance::NodeEventKind;
use measure::summary::TrialSummary;
use measure::warning::Warning;
use rustix::process::Signal;

/// Patroni's smallest time to live, so that it soon fails over.
const STUDY: &str = "title = \"t\"\n[server]\nengine = \"postgres\"\n\
     [server.config]\nwork_mem = \"5MB\"\nmax_worker_processes = 9\n[data]\nrows = 100\n\
     [load]\nworkload = \"oltp_update_non_index\"\nthreads = 2\nthink = \"50ms\"\nwarmup = \"1s\"\n\
     [topology]\ncluster = \"patroni\"\nttl = \"5s\"\n";

/// A member's configuration of Patroni, as the result keeps it.
fn configuration(out: &Path, number: u32) -> serde_json::Value {
    let dir = common::trial_dir(out, 1).unwrap();
    let text = std::fs::read(dir.join(format!("servers/{number}/patroni.yml")));
    serde_json::from_slice(&text.unwrap()).unwrap()
}

/// What etcd answers to a request for the configuration that decides which commands servers run, by
/// a client with these options.
fn asked_of_etcd(url: &str, options: &[String]) -> String {
    let output = Command::new("etcdctl")
        .env("ETCDCTL_API", "3")
        .arg(format!("--endpoints={url}"))
        .args(["--dial-timeout=5s", "--command-timeout=5s"])
        .args(options)
        .args(["get", "/service/dyno/config"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What Patroni answers to a request by a client with these options.
fn asked_of_patroni(address: &str, what: &str, options: &[String]) -> String {
    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-connect", address])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // One that is refused may be gone.
    let _ = write!(
        client.stdin.take().unwrap(),
        "{what} HTTP/1.0\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    let output = client.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Other users of this host change nothing: whoever writes to etcd has the servers run commands.
fn strangers_are_refused(place: &Cache, out: &Path) {
    let config = configuration(out, 1);
    let patroni = config["restapi"]["listen"].as_str().unwrap();
    let changes = "PATCH /config, PUT /config, POST /restart, POST /reinitialize, POST /failover, \
                   POST /switchover, POST /sigterm";
    for change in changes.split(", ") {
        assert_eq!(asked_of_patroni(patroni, change, &[]), "", "{change}");
    }
    let etcd = config["etcd3"]["hosts"].as_str().unwrap();
    let file = |name: &str| {
        let path = place.server_dir(1).unwrap().join(name);
        path.display().to_string()
    };
    let (cert, key) = (file("dyno-cert.pem"), file("dyno-key.pem"));
    let certificate = [
        format!("--cacert={}", file("dyno-ca.pem")),
        format!("--cert={cert}"),
        format!("--key={key}"),
    ];
    let own = ["-cert", &cert, "-key", &key].map(str::to_owned);
    let answer = asked_of_patroni(patroni, "GET /config", &own);
    assert!(answer.contains("max_worker_processes"), "{answer}");
    let (plain, encrypted) = (format!("http://{etcd}"), format!("https://{etcd}"));
    let answer = asked_of_etcd(&encrypted, &certificate);
    assert!(answer.contains("max_worker_processes"), "{answer}");
    assert!(!answer.contains("ignore_slots"), "{answer}");
    // A client tries again until its time is over.
    std::thread::scope(|scope| {
        for (url, options) in [(&plain, &[][..]), (&encrypted, &certificate[..1])] {
            scope.spawn(move || assert_eq!(asked_of_etcd(url, options), "", "{url} {options:?}"));
        }
    });
}

#[test]
fn members_form_a_cluster_with_the_settings_of_the_study() {
    // A replica whose manager dies serves on.
    let fault = "[[fault]]\nat = \"2s\"\nkill = 2\nprocess = \"manager\"\nheal = \"never\"\n";
    let run = |time: &str| {
        let words = format!("--set load.time={time} --set topology.profile=tuned");
        let program = Program::study(&format!("{STUDY}{fault}")).args(&words);
        program.run_alone().succeeds()
    };
    let is_over = |done: &Finished| done.trial().faults[0].effect_s.is_some();
    let done = in_time(&["5s", "40s"], run, is_over);
    let trial = done.completed();
    let [orphaned] = each(&trial.faults);
    let is_orphaned = orphaned.effect_s.is_some() && orphaned.healed_s.is_none();
    assert!(is_orphaned && orphaned.error.is_none(), "{orphaned:?}");
    let settings = &trial.instances[0].settings;
    let tuned = ("shared_buffers".to_owned(), "256MB".to_owned());
    assert!(settings.contains(&tuned), "{settings:?}");
    assert!(trial.instances[0].formation_s.is_some_and(|s| s > 0.0));
    assert_eq!(trial.failures(), 0, "{:?}", trial.errors);
    for standby in [2, 3] {
        let log = done.kept(1, &format!("{standby}/error.log"));
        assert!(log.contains("started streaming WAL from primary"), "{log}");
        // A standby without its slot would wait for 5 s.
        assert!(!log.contains("could not start WAL streaming"), "{log}");
    }
    // Patroni takes some settings only from its own configuration.
    let config = configuration(&done.out(), 1);
    let dcs = &config["bootstrap"]["dcs"];
    assert_eq!(dcs["ttl"], 5);
    assert_eq!(dcs["postgresql"]["parameters"]["max_worker_processes"], "9");
    let accounts = &config["postgresql"]["authentication"];
    for account in [&accounts["replication"], &accounts["rewind"]] {
        assert_eq!(account["password"], "(hidden)");
    }
    let is_strange = |warning: &Warning| matches!(warning, Warning::Strangers { .. });
    let warnings = &trial.warnings;
    assert!(!warnings.iter().any(is_strange), "{warnings:?}");
    let config = done.kept(1, "1/postgresql.conf");
    assert!(config.contains("work_mem = '5MB'"), "{config}");
    common::assert_no_file_has(&done.out(), &["PRIVATE KEY"]);
}

#[test]
fn strangers_are_refused_and_orphans_of_a_killed_run_are_cleaned_up() {
    let place = Cache::kept();
    let program = Program::study(STUDY).args("--set load.time=1h");
    let mut dyno = program.cache(&place).start();
    let out = dyno.out();
    dyno.comes_to_second(1, "measure");
    strangers_are_refused(&place, &out);
    dyno.signal(Signal::KILL);
    dyno.wait();
    // PostgreSQL outlives its manager. A process that it has just forked still has its command line.
    common::wait_until("three servers without managers", || {
        let left = place.processes().into_iter();
        let servers = left.filter(|one| one.words.contains("/postgres -D"));
        servers.count() == 3
    });
    place.clean().prints(&["freed"]);
    place.assert_nothing_left();
}

const LEDGER: &str = "[ledger]\nrate = 50\n";

/// The members that became the primary after a fault took effect.
fn successors(trial: &TrialSummary, fault: &FaultRecord) -> Vec<u32> {
    let is_later = |at_s: f64| fault.effect_s.is_some_and(|effect_s| at_s > effect_s);
    let events = trial.events.iter();
    let became = events.filter(|e| e.what == NodeEventKind::BecamePrimary && is_later(e.at_s));
    became.map(|event| event.node).collect()
}

/// It took effect, was healed, and another member became the primary.
fn is_replaced(trial: &TrialSummary, fault: &FaultRecord) {
    assert!(is_whole(fault), "{fault:?}");
    let first = successors(trial, fault).first().copied();
    assert!(first.is_some() && first != fault.node, "{:?}", trial.events);
    let recovery = fault.recovery.as_ref().unwrap();
    assert!(recovery.detected_s.is_some(), "{recovery:?}");
}

/// Also, its server was out of service and is back.
fn is_replaced_and_returns(trial: &TrialSummary, fault: &FaultRecord) {
    is_replaced(trial, fault);
    let recovery = fault.recovery.as_ref().unwrap();
    assert!(recovery.rejoined_s.is_some(), "{recovery:?}");
}

/// The ledger accounts for every transfer in its history. How many are lost varies.
fn is_accounted_for(done: &Finished, trial: &TrialSummary) {
    let [ledger] = each(&trial.ledgers);
    let history = common::trial_dir(&done.out(), 1).unwrap();
    let history = std::fs::read_to_string(history.join("ledger-1.jsonl")).unwrap();
    let begun = history.lines().filter(|line| line.contains("\"begun\""));
    let ended = ledger.acknowledged + ledger.failed + ledger.unknown;
    assert_eq!(begun.count() as u64, ended, "{ledger:?}");
    assert!(ledger.acknowledged > 0 && ledger.lost <= ledger.acknowledged);
    assert!(ledger.unknown_committed <= ledger.unknown, "{ledger:?}");
    assert!(!ledger.checked.is_empty(), "{ledger:?}");
}

/// Runs with a ledger under a load so small that a busy machine keeps up.
fn with_ledger(faults: &str, time: &str) -> Finished {
    Program::study(&format!("{STUDY}{faults}{LEDGER}"))
        .args(&format!("--set load.rate=10 --set load.time={time}"))
        .run_alone()
}

/// A primary whose manager stands still goes on accepting writes beside its successor. One that
/// stands still itself loses its role to a standby, until its manager takes it back.
#[test]
fn managers_and_servers_stand_still_one_without_the_other() {
    let faults = "[[fault]]\nat = \"2s\"\npause = \"primary\"\nprocess = \"manager\"\nheal = \"14s\"\n\
         [[fault]]\nat = \"30s\"\npause = \"primary\"\nprocess = \"server\"\nheal = \"22s\"\n";
    let done = with_ledger(faults, "68s").succeeds();
    let trial = done.completed();
    let [manager, server] = each(&trial.faults);
    assert_eq!(manager.node, Some(1));
    // Without its manager, a server need not go out of service.
    is_replaced(&trial, manager);
    is_replaced_and_returns(&trial, server);
    is_accounted_for(&done, &trial);
}

/// A primary that is cut off reaches etcd no more than the other members, so it stops accepting
/// writes. Whether it takes its role back when it returns is Patroni's affair. When etcd itself is
/// killed or cut off, nobody succeeds the primary that gives up.
#[test]
fn a_primary_without_its_coordinator_gives_up_and_returns() {
    let faults = "network = \"namespaces\"\n\
         [[fault]]\nat = \"2s\"\npartition = \"primary\"\nheal = \"18s\"\n\
         [[fault]]\nat = \"32s\"\nkill = \"coordinator\"\nheal = \"12s\"\n\
         [[fault]]\nat = \"54s\"\npartition = \"coordinator\"\nheal = \"12s\"\n";
    let done = with_ledger(faults, "76s");
    if done.stderr.contains("CAP_NET_ADMIN") {
        return testkit::skip("this user may not make network namespaces");
    }
    let done = done.succeeds();
    let trial = done.completed();
    let [cut, without @ ..] = trial.faults.as_slice() else {
        panic!("{:?}", trial.faults)
    };
    assert_eq!(cut.node, Some(1));
    is_replaced_and_returns(&trial, cut);
    assert_eq!(without.len(), 2);
    for fault in without {
        assert_eq!((fault.node, fault.error.as_ref()), (None, None));
        let recovery = fault.recovery.as_ref().unwrap();
        assert!(recovery.unavailable_longest_s > Some(1.0), "{recovery:?}");
    }
    let log = done.kept(1, "1/error.log");
    let words = "demoting self because DCS is not accessible";
    assert!(log.contains(words), "{log}");
    let healed_s = without.last().and_then(|fault| fault.healed_s).unwrap();
    assert!(done.completes_after(healed_s));
    is_accounted_for(&done, &trial);
}

/// Before a synchronous standby is chosen, nobody would succeed the primary.
#[test]
fn commits_wait_for_a_standby_in_synchronous_mode() {
    // The second switchover is to the standby that Patroni has chosen by then.
    let faults = "[[fault]]\nat = \"1s\"\nswitchover = \"replica\"\n\
        [[fault]]\nat = \"2s\"\nswitchover = \"replica\"\n\
        [[fault]]\nat = \"30s\"\nkill = \"primary\"\nprocess = \"both\"\nheal = \"never\"\n";
    let study = format!("{STUDY}{faults}{LEDGER}");
    let program = Program::study(&study)
        .args("--set load.time=50s --set topology.cluster=patroni-synchronous");
    let done = program.run_alone().succeeds();
    let trial = done.completed();
    let config = configuration(&done.out(), 1);
    assert_eq!(config["bootstrap"]["dcs"]["synchronous_mode"], true);
    let log = done.kept(1, "1/error.log");
    assert!(log.contains("is now a synchronous standby"), "{log}");
    let faults = &trial.faults;
    let is_fine = faults.iter().all(|fault| fault.error.is_none());
    assert!(is_fine, "{faults:?}");
    assert!(!successors(&trial, &faults[2]).is_empty(), "{faults:?}");
    is_accounted_for(&done, &trial);
}
