//! How a load ends: in time while the server hangs, on Ctrl-C, when it is killed;
//! and what it survives.

use std::time::{Duration, Instant};

use crate::common::{self, Program, Proxy, Running, Status, database, mariadb, wait_until};
use measure::result::RunResult;
use measure::setup::Outcome;
use rustix::process::Signal;
use testkit::{MariaDb, Server};

const LOAD: &str = "--workload oltp_point_select --tables 1 --rows 200 --threads 3 --warmup 0s --prepare never --verbose";
/// How long running transactions may take to end after the load's end.
const GRACE: Duration = Duration::from_secs(5);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(45);

fn prepared(server: &Server, name: &str) -> String {
    let url = database(server, name);
    Program::bench(&url)
        .args("--tables 1 --rows 200 --prepare only")
        .run()
        .succeeds();
    url
}

fn by_proxy(proxy: &Proxy, name: &str) -> String {
    format!("mysql://root@127.0.0.1:{}/{name}", proxy.port())
}

/// Seconds that it has told of.
fn seconds(running: &Running) -> usize {
    running.stderr().matches("  measure  ").count()
}

#[test]
fn the_time_is_kept_while_the_server_hangs() {
    let server = mariadb();
    prepared(&server, "hangs");
    // Only a user's connection sends so much.
    let proxy = Proxy::holding(std::iter::repeat(server.port()), 10_000);
    let program = Program::bench(&by_proxy(&proxy, "hangs")).args(LOAD);
    let done = program.args("--time 2s").run().succeeds();
    let limit = Duration::from_secs(2) + GRACE + SLACK;
    assert!(done.took < limit, "{:?}", done.took);
    let unfinished = done.trial().unfinished;
    assert_eq!((unfinished.count, unfinished.cancelled), (3, 3));
    assert!(done.stdout.contains("were cancelled"), "{}", done.stdout);
    assert_eq!(done.trial().outcome, Outcome::Completed);
}

#[test]
fn a_server_that_is_killed_and_comes_back_is_counted_and_the_load_goes_on() {
    let mut server = MariaDb::start(&[]);
    let port = server.port();
    let url = prepared(&server, "comes_back");
    // The monitors' own connection comes back, too, and would be counted with the users'.
    let load = Program::bench(&url).args(LOAD).args("--no-monitors");
    let mut running = load.args("--time 300s").start();
    running.says("  measure  ");
    server.kill();
    running.says(" errors");
    server.restart();
    assert_eq!(server.port(), port, "the port was taken meanwhile");
    let connected = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'comes_back'";
    wait_until("all users", || server.sql(connected)[0][0] == "3");
    let before = seconds(&running);
    wait_until("two seconds more", || seconds(&running) >= before + 2);
    running.signal(Signal::INT);
    let done = running.wait().fails(4, &["reconnects"]);
    let trial = done.trial();
    assert_eq!(trial.reconnects, 3, "{:?}", trial.errors);
    assert!(
        trial
            .errors
            .iter()
            .all(|error| error.action == "reconnected")
    );
    assert!(done.stdout.contains("connections were lost and reopened"));
    let series = done.series();
    let last = series.iter().rev().find(|point| point.seconds > 0.5);
    assert!(last.unwrap().tps.unwrap() > 0.0, "{series:?}");
}

#[test]
fn a_server_that_is_away_at_the_end_is_told_of_first_and_its_seconds_are_kept() {
    let mut server = MariaDb::start(&[]);
    let url = prepared(&server, "lost");
    let mut running = Program::bench(&url).args(LOAD).args("--time 6s").start();
    wait_until("two seconds", || seconds(&running) >= 2);
    server.kill();
    running.says(" errors");
    let words = ["stopped: server lost at ", "Connection refused", "are kept"];
    let done = running.wait().fails(4, &words);
    assert!(
        done.stdout.trim_start().starts_with("server lost at "),
        "{}",
        done.stdout
    );
    let trial = done.trial();
    let Outcome::ServerLost { at_ms, .. } = trial.outcome else {
        panic!("{:?}", trial.outcome);
    };
    // The clock begins before the connections are opened.
    let last = done
        .series()
        .into_iter()
        .rfind(|point| point.tps > Some(0.0))
        .unwrap();
    let at_s = at_ms as f64 / 1e3;
    assert!(
        // A busy kernel closes the connections of a killed server a little later.
        (last.t_s..=last.t_s + last.seconds + 3.0).contains(&at_s),
        "{at_s} {last:?}"
    );
    assert!(trial.measured_s > 5.9 && trial.transactions.count > 0);
    assert!(done.out().join("report.html").exists());
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let server = mariadb();
    let url = prepared(&server, "interrupted");
    let mut running = Program::bench(&url)
        .args(LOAD)
        .args("--time 300s --json")
        .start();
    running.says("  measure  ");
    running.signal(Signal::INT);
    let done = running.wait().fails(4, &["stopped", "are kept"]);
    let printed: RunResult = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(printed, done.result());
    assert_eq!(printed.trials[0].outcome, Outcome::Interrupted);
    assert!(printed.trials[0].transactions.count > 0);
    let stored = std::fs::read_to_string(done.out().join("result.json")).unwrap();
    assert!(stored.contains("\"interrupted\""));
    assert!(done.out().join("report.html").exists());
}

#[test]
fn ctrl_c_in_the_warm_up_is_no_measurement() {
    let server = mariadb();
    let url = prepared(&server, "warming_up");
    let mut running = Program::bench(&url)
        .args("--workload oltp_point_select --tables 1 --rows 200 --prepare never")
        .args("--warmup 300s --time 300s")
        .start();
    running.says("  warm-up  ");
    running.signal(Signal::INT);
    let done = running.wait().fails(4, &["during the warm-up"]);
    assert!(!done.stderr.contains("  measure  "), "{}", done.shown());
    assert_eq!(done.result().trials, []);
    // It is not whole, so nothing takes it for a trial.
    let dirs = store::trial_dirs(&done.out()).unwrap();
    assert_eq!(store::read_trial(&dirs[0]).unwrap(), None);
    let warmup = measure::slice::Phase::Warmup;
    assert!(done.series().iter().any(|point| point.phase == warmup));
}

#[test]
fn ctrl_c_once_leaves_a_server_that_hangs_while_it_is_loaded() {
    let server = mariadb();
    database(&server, "hangs_loading");
    let proxy = Proxy::start(server.port());
    // More than any machine loads before the proxy holds.
    let running = Program::bench(&by_proxy(&proxy, "hangs_loading"))
        .args("--tables 1 --rows 50000000 --prepare only")
        .start();
    let tables =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'hangs_loading'";
    wait_until("the table", || server.sql(tables)[0][0] == "2");
    proxy.hold();
    let asked = Instant::now();
    running.signal(Signal::INT);
    running.wait().fails(4, &["interrupted while loading"]);
    assert!(asked.elapsed() < SLACK, "{:?}", asked.elapsed());
}

/// As `timeout` and terminals that close send them.
#[test]
fn signals_that_come_together_are_one() {
    let server = mariadb();
    let url = prepared(&server, "together");
    let mut running = Program::bench(&url).args(LOAD).args("--time 300s").start();
    running.says("  measure  ");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::INT] {
        running.signal(signal);
    }
    let done = running.wait().fails(4, &["stopped", "are kept"]);
    assert_eq!(done.trial().outcome, Outcome::Interrupted);
    assert!(done.out().join("report.html").exists());
}

/// As a terminal that closes sends it, and a shell's Ctrl-C to what runs in the background.
#[test]
fn a_signal_that_was_ignored_from_the_start_stops_nothing() {
    let server = mariadb();
    let url = prepared(&server, "no_hang_up");
    let program = Program::ignoring("HUP,INT").args("bench").arg(&url);
    let mut running = program.args(LOAD).args("--time 3s --out out").start();
    running.says("  measure  ");
    for signal in [Signal::HUP, Signal::INT] {
        running.signal(signal);
    }
    let done = running.wait().succeeds();
    assert_eq!(done.trial().outcome, Outcome::Completed);
    assert!(done.trial().measured_s > 2.9, "{}", done.shown());
}

/// A signal within half a second of the first one is ignored as a duplicate.
fn interrupt_until_it_ends(running: &mut Running) {
    while !running.has_ended() {
        running.signal(Signal::INT);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn ctrl_c_twice_leaves_at_once() {
    let server = mariadb();
    prepared(&server, "twice");
    let proxy = Proxy::start(server.port());
    let mut running = Program::bench(&by_proxy(&proxy, "twice"))
        .args(LOAD)
        .args("--time 300s")
        .start();
    running.says("  measure  ");
    proxy.hold();
    interrupt_until_it_ends(&mut running);
    // Otherwise it ends by itself after its grace period, and says so.
    let words = "stopped immediately; partial results are in out";
    let done = running.wait().fails(4, &[words]);
    assert!(!done.series().is_empty());
}

#[test]
fn ctrl_c_twice_leaves_also_where_nobody_answers() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut running = Program::bench(&format!("mysql://root@127.0.0.1:{port}/x")).start();
    let _connection = silent.accept().unwrap();
    interrupt_until_it_ends(&mut running);
    running.wait().fails(4, &["stopped immediately"]);
}

#[test]
fn a_killed_dyno_leaves_its_seconds() {
    let server = mariadb();
    let url = prepared(&server, "kill_nine");
    let running = Program::bench(&url).args(LOAD).args("--time 300s").start();
    wait_until("three seconds", || seconds(&running) >= 3);
    running.signal(Signal::KILL);
    let killed = running.wait();
    assert_eq!(killed.code(), None);
    let series = killed.series();
    assert!(series.len() >= 3);
    assert!(series.iter().any(|point| point.tps.unwrap() > 0.0));
    let trials = store::trial_dirs(&killed.out()).unwrap();
    let mut intervals = 0;
    store::read_intervals(&trials[0], |_| intervals += 1).unwrap();
    assert!(intervals >= 3);
}

#[test]
fn a_load_that_ends_leaves_no_connection_and_no_abort() {
    let server = MariaDb::start(&[]);
    let url = prepared(&server, "leaves");
    let before = Status::of(&server);
    let run = |words: &str| {
        let program = Program::bench(&url).args("--tables 1 --rows 200 --threads 8 --warmup 0s");
        program.args(words)
    };
    run("--time 1s").run().succeeds();
    run("--events 100 --workload oltp_write_only")
        .run()
        .succeeds();
    let mut running = run("--time 300s").start();
    running.says("  measure  ");
    running.signal(Signal::INT);
    running.wait().fails(4, &[]);
    let connections = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'leaves'";
    wait_until("an empty process list", || {
        server.sql(connections)[0][0] == "0"
    });
    let delta = before.until_now(&server);
    assert_eq!(delta.get("Aborted_clients"), 0);
    assert_eq!(delta.get("Aborted_connects"), 0);
    // Nothing is left locked or half done.
    let open = "SELECT COUNT(*) FROM information_schema.innodb_trx";
    assert_eq!(server.sql(open).concat(), ["0"]);
}

#[test]
fn a_run_whose_output_nobody_reads_ends() {
    let out = tempfile::tempdir().unwrap();
    let mut dyno = std::process::Command::new(env!("CARGO_BIN_EXE_dyno"))
        .args([
            "bench", "sqlite:", "--rows", "100", "--warmup", "0s", "--time", "1h",
        ])
        .env("DYNO_CACHE_DIR", common::cache())
        .current_dir(std::env::temp_dir())
        .args(["--out", out.path().join("r").to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(dyno.stdout.take());
    assert_eq!(dyno.wait().unwrap().code(), Some(4));
}
