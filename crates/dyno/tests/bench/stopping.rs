//! How a load ends: in time while the server hangs, on Ctrl-C, when it is killed;
//! and what it survives.

use std::time::{Duration, Instant};

use crate::common::{Program, Proxy, Running, Status, database, mariadb, wait_until};
use measure::result::RunResult;
use measure::setup::Outcome;
use rustix::process::Signal;
use testkit::{MariaDb, Server};

const SIZES: &str = "--workload oltp_point_select --tables 1 --rows 200";
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(45);

fn prepared(server: &Server, name: &str) -> String {
    let url = database(server, name);
    let program = Program::bench(&url).args(SIZES);
    program.args("--prepare only").succeeds();
    url
}

/// A load of three users that tells of every second.
fn load(url: &str, words: &str) -> Program {
    let program = Program::bench(url).args(SIZES).args(words);
    program.args("--threads 3 --prepare never --warmup 0s --verbose")
}

/// For loads whose speed does not matter.
const SLOW: &str = "--think 5ms";

/// One that measures, and lasts longer than its test.
fn measuring(url: &str, words: &str) -> Running {
    let mut running = load(url, words).args("--time 300s").start();
    running.says("  measure  ");
    running
}

fn by_proxy(proxy: &Proxy, name: &str) -> String {
    format!("mysql://root@127.0.0.1:{}/{name}", proxy.port())
}

/// Seconds that it has told of.
fn seconds(running: &Running) -> usize {
    running.stderr().matches("  measure  ").count()
}

#[test]
fn a_server_that_is_killed_and_comes_back_is_counted_and_the_load_goes_on() {
    let mut server = MariaDb::start(&[]);
    let port = server.port();
    let url = prepared(&server, "comes_back");
    // The monitors' own connection comes back, too, and would be counted with the users'.
    let mut running = measuring(&url, &format!("{SLOW} --no-monitors"));
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
    let mut errors = trial.errors.iter();
    assert!(errors.all(|error| error.action == "reconnected"));
    done.prints(&["connections were lost and reopened"]);
    let series = done.series();
    let last = series.iter().rev().find(|point| point.seconds > 0.5);
    assert!(last.unwrap().tps.unwrap() > 0.0, "{series:?}");
}

#[test]
fn a_server_that_is_away_at_the_end_is_told_of_first_and_its_seconds_are_kept() {
    let mut server = MariaDb::start(&[]);
    let url = prepared(&server, "lost");
    // On a busy machine the load may be over before it is killed, or before users notice.
    let killed = |time: &str| {
        server.restart();
        let mut running = load(&url, &format!("{SLOW} --time {time}")).start();
        wait_until("two seconds", || {
            seconds(&running) >= 2 || running.has_ended()
        });
        server.kill();
        running.wait()
    };
    let mut runs = ["6s", "60s"].into_iter().map(killed);
    let done = runs.find(|done| done.code() == Some(4)).unwrap();
    let words = ["stopped: server lost at ", "Connection refused", "are kept"];
    let done = done.fails(4, &words);
    assert!(
        done.stdout.trim_start().starts_with("server lost at "),
        "{done}"
    );
    let trial = done.trial();
    let Outcome::ServerLost { at_ms, .. } = trial.outcome else {
        panic!("{:?}", trial.outcome);
    };
    // The clock begins before the connections are opened.
    let mut series = done.series().into_iter();
    let last = series.rfind(|point| point.tps > Some(0.0)).unwrap();
    let at_s = at_ms as f64 / 1e3;
    // A busy kernel closes the connections of a killed server a little later.
    let around = last.t_s..=last.t_s + last.seconds + 3.0;
    assert!(around.contains(&at_s), "{at_s} {last:?}");
    assert!(trial.measured_s > 5.9 && trial.transactions.count > 0);
    assert!(done.out().join("report.html").exists());
}

/// Several signals at once are one, as `timeout` and terminals that close send them.
#[test]
fn ctrl_c_keeps_what_was_measured() {
    let server = mariadb();
    let url = prepared(&server, "interrupted");
    let running = measuring(&url, &format!("{SLOW} --json"));
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::INT] {
        running.signal(signal);
    }
    let done = running.wait().fails(4, &["stopped", "are kept"]);
    let printed: RunResult = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(printed, done.result());
    assert_eq!(printed.trials[0].outcome, Outcome::Interrupted);
    assert!(printed.trials[0].transactions.count > 0);
    assert!(done.file("result.json").contains("\"interrupted\""));
    assert!(done.out().join("report.html").exists());
}

#[test]
fn ctrl_c_once_leaves_a_server_that_hangs_while_it_is_loaded() {
    let server = mariadb();
    database(&*server, "hangs_loading");
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
    let done = running.wait().fails(4, &["interrupted while loading"]);
    assert!(asked.elapsed() < SLACK, "{:?}", asked.elapsed());
    assert!(!done.out().exists());
}

/// As a terminal that closes sends it, and a shell's Ctrl-C to what runs in the background.
#[test]
fn a_signal_that_was_ignored_from_the_start_stops_nothing() {
    let server = mariadb();
    let url = prepared(&server, "no_hang_up");
    let program = Program::ignoring("HUP,INT")
        .args("bench")
        .arg(&url)
        .args(SIZES);
    let mut running = program
        .args("--think 5ms --warmup 0s --time 6s --out out --verbose")
        .start();
    running.says("  measure  ");
    for signal in [Signal::HUP, Signal::INT] {
        running.signal(signal);
    }
    let done = running.wait().succeeds();
    assert_eq!(done.trial().outcome, Outcome::Completed);
    assert!(done.trial().measured_s > 5.9, "{done}");
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
    let mut running = measuring(&by_proxy(&proxy, "twice"), "");
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
    let running = measuring(&url, SLOW);
    wait_until("three seconds", || seconds(&running) >= 3);
    running.signal(Signal::KILL);
    let killed = running.wait();
    assert_eq!(killed.code(), None);
    let series = killed.series();
    assert!(series.len() >= 3);
    assert!(series.iter().any(|point| point.tps.unwrap() > 0.0));
    let trials = store::trial_dirs(&killed.out()).unwrap();
    let intervals = std::fs::read_to_string(trials[0].join(store::names::INTERVALS)).unwrap();
    let is_whole = |line: &&str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    assert!(intervals.lines().filter(is_whole).count() >= 3);
}

#[test]
fn a_load_that_ends_leaves_no_connection_and_no_abort() {
    let server = MariaDb::start(&[]);
    let url = prepared(&server, "leaves");
    let before = Status::of(&server);
    load(&url, &format!("{SLOW} --time 1s")).succeeds();
    let writes = Program::bench(&url).args("--tables 1 --rows 200 --threads 8 --warmup 0s");
    let writes = writes.args("--events 100 --workload oltp_write_only");
    writes.succeeds();
    let running = measuring(&url, SLOW);
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
    let program = Program::bench("sqlite:").args("--rows 100 --warmup 0s --time 1h");
    program.run_unread().fails(4, &[]);
}
