//! Errors in the middle of a load: done again, ignored, or the end of it; each is
//! counted by its code and told in the server's words.

use crate::common::{Program, Served, database, mariadb, postgres, wait_until};
use client::mysql::{Connection, Target, TlsOptions};
use client::reactor::Reactor;
use measure::setup::Outcome;
use measure::summary::{ErrorSummary, TrialSummary};
use rustix::process::Signal;
use testkit::MariaDb;

fn error<'a>(trial: &'a TrialSummary, code: &str) -> &'a ErrorSummary {
    let found = trial.errors.iter().find(|error| error.code == code);
    found.unwrap_or_else(|| panic!("no error {code} in {:?}", trial.errors))
}

/// The server's code for a deadlock.
fn deadlocks_are_done_again<S: Served>(server: &S, code: &str, events: u64) {
    let url = database(server, "deadlocks");
    let words = "--workload oltp_write_only --tables 1 --rows 6 --threads 12 --warmup 0s \
                 --index-updates 6 --distribution uniform --seed 3 --verbose";
    let done = Program::bench(&url)
        .args(words)
        .args(&format!("--events {events} --time 1h"));
    let done = done.succeeds();
    let trial = done.trial();
    assert_eq!(trial.transactions.count, events);
    let deadlock = error(&trial, code);
    assert!(deadlock.count > 0 && deadlock.action == "restarted");
    // A transaction that was run again did not fail. On PostgreSQL, one that waited for a deleted row may then
    // find its key inserted again, which is another reason.
    let restarted = trial.errors.iter().filter(|one| one.action == "restarted");
    let restarts = restarted.map(|one| one.count).sum();
    assert_eq!((trial.failures(), trial.restarts()), (0, restarts));
    let example = deadlock.example.to_lowercase();
    assert!(example.contains("deadlock"), "{deadlock:?}");
    done.prints(&[code]);
    // Each transaction deletes a row and inserts it again, however often it began.
    let rows = "SELECT COUNT(*) FROM sbtest1";
    assert_eq!(server.sql_in("deadlocks", rows).concat(), ["6"]);
}

#[test]
fn deadlocks_are_done_again_and_counted() {
    deadlocks_are_done_again(&*mariadb(), "1213", 1500);
    let server = postgres();
    database(&*server, "deadlocks");
    server.sql("ALTER ROLE root SET deadlock_timeout = '10ms'");
    deadlocks_are_done_again(&*server, "40P01", 100);
    server.sql("ALTER ROLE root RESET deadlock_timeout");
}

#[test]
fn lock_timeouts_are_done_again_and_counted() {
    let server = MariaDb::start(&["--innodb-lock-wait-timeout=1"]);
    let url = database(&server, "timeouts");
    let options = "--workload oltp_update_index --tables 1 --rows 50 --threads 2 --warmup 0s";
    let bench = |words: &str| Program::bench(&url).args(options).args(words);
    bench("--prepare only").succeeds();
    let target = Target::parse(&url, None, "root", &TlsOptions::default()).unwrap();
    let reactor = Reactor::new().unwrap();
    let opened = reactor.block_on(Connection::open(&target));
    let mut holder = opened.unwrap().unwrap();
    let mut say = |sql: &str| reactor.block_on(holder.run(sql)).unwrap().unwrap();
    say("BEGIN");
    say("SELECT COUNT(*) FROM sbtest1 FOR UPDATE");
    let mut running = bench("--events 20").start();
    running.says(" restarts");
    say("ROLLBACK");
    let trial = running.wait().succeeds().trial();
    assert_eq!(trial.transactions.count, 20);
    let timeout = error(&trial, "1205");
    assert!(timeout.count >= 1 && timeout.action == "restarted");
    assert!(timeout.example.contains("Lock wait timeout"), "{timeout:?}");
}

#[test]
fn an_error_that_nobody_ignores_stops_the_load_with_its_statement() {
    let server = mariadb();
    let url = database(&*server, "dropped");
    let mut running = Program::bench(&url)
        .args("--workload oltp_point_select --tables 1 --rows 100 --threads 3 --warmup 0s")
        .args("--think 5ms --time 300s")
        .start();
    running.says("  measure  ");
    server.sql("DROP TABLE dropped.sbtest1");
    let texts = [
        "1146 (42S02)",
        "dropped.sbtest1",
        "WHERE id=?",
        "--prepare missing",
    ];
    let done = running.wait().fails(4, &texts);
    let trial = done.trial();
    let Outcome::Stopped { error: told } = &trial.outcome else {
        panic!("{:?}", trial.outcome);
    };
    assert!(told.contains("1146"), "{told}");
    assert!(error(&trial, "1146").action.contains("stopped"));
    assert!(trial.transactions.count > 0 && done.out().join("report.html").exists());
}

#[test]
fn an_error_that_is_ignored_is_counted_and_the_load_goes_on() {
    let server = mariadb();
    let url = database(&*server, "ignored");
    // The users number the rows: a second run gives the same numbers.
    let run = |words: &str| {
        let program = Program::bench(&url)
            .args("--workload oltp_insert --auto-inc false --tables 1 --rows 100")
            .args("--threads 2 --warmup 0s --events 20");
        program.args(words).run()
    };
    run("").succeeds();
    let texts = [
        "1062 (23000)",
        "INSERT INTO sbtest1",
        "--ignore-errors 1062",
    ];
    let stopped = run("").fails(4, &texts);
    assert!(matches!(stopped.trial().outcome, Outcome::Stopped { .. }));
    // A user who inserted less than the other in the first run may have inserted some in the second.
    let count = || -> u64 {
        let sql = "SELECT COUNT(*) FROM ignored.sbtest1";
        server.sql(sql).concat().concat().parse().unwrap()
    };
    let mut rows = count();
    for codes in ["1317,1062", "23000"] {
        let trial = run(&format!("--ignore-errors {codes}")).succeeds().trial();
        assert_eq!(trial.transactions.count, 20, "{codes}");
        let duplicate = error(&trial, "1062");
        let is_counted = duplicate.count > 0 && duplicate.action == "ignored";
        assert!(is_counted, "{codes}: {duplicate:?}");
        rows += 20;
        assert_eq!(count(), rows, "{codes}");
    }
}

/// Those of the users; the monitors' own may be among them.
fn killed_connections_are_opened_again<S: Served>(server: &S, kill: impl Fn(&S)) {
    let url = database(server, "victims");
    let mut running = Program::bench(&url)
        .args("--tables 1 --rows 100 --threads 3 --think 5ms --warmup 0s --time 300s")
        .start();
    running.says("  measure  ");
    kill(server);
    running.says(" reconnects");
    running.signal(Signal::INT);
    let trial = running.wait().fails(4, &[]).trial();
    assert!((1..=4).contains(&trial.reconnects), "{:?}", trial.errors);
    let mut reconnected = trial.errors.clone();
    reconnected.retain(|error| error.action == "reconnected");
    let count: u64 = reconnected.iter().map(|error| error.count).sum();
    assert!(count >= trial.reconnects, "{:?}", trial.errors);
}

#[test]
fn a_connection_that_is_killed_is_opened_again() {
    killed_connections_are_opened_again(&*mariadb(), |server| {
        let ids = "SELECT id FROM information_schema.processlist WHERE db = 'victims'";
        for id in server.sql(ids).concat() {
            server.sql(&format!("KILL {id}"));
        }
    });
    let server = postgres();
    killed_connections_are_opened_again(&*server, |server| {
        let terminate =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'victims'";
        assert!(server.sql(terminate).len() >= 3);
    });
    wait_until("no connection is left", || {
        let left = "SELECT 1 FROM pg_stat_activity WHERE datname = 'victims'";
        server.sql(left).is_empty()
    });
}

#[test]
fn limits_of_the_server_are_told_with_their_names() {
    let server = MariaDb::start(&["--max-prepared-stmt-count=10", "--max-connections=10"]);
    let url = database(&server, "limits");
    let run = |words: &str| {
        let program = Program::bench(&url).args("--tables 1 --rows 100 --warmup 0s --events 20");
        program.args(words).run()
    };
    run("--threads 4").fails(3, &["1461", "max_prepared_stmt_count", "--protocol text"]);
    run("--threads 4 --protocol text").succeeds();
    run("--threads 30 --protocol text").fails(3, &["1040", "max_connections", "--threads"]);
}
