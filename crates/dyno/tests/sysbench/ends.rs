//! How `dyno sysbench` ends: codes, streams, and Ctrl-C.

use std::process::Command;

use rustix::process::Signal;
use testkit::MariaDb;

use crate::common::{Status, database, mariadb, wait_until};
use crate::{address, number, sysbench};

#[test]
fn answers_and_mistakes_have_the_codes_of_sysbench() {
    let version = sysbench("--version").succeeds();
    assert_eq!(version.stdout, "sysbench 1.0.20\n");
    sysbench("--help")
        .succeeds()
        .prints(&["Usage:", "--report-interval"]);
    sysbench("cpu help")
        .succeeds()
        .prints(&["cpu options:", "--cpu-max-prime"]);
    sysbench("oltp_read_write help")
        .succeeds()
        .prints(&["oltp_read_write options:"]);
    for (words, text) in [
        (
            "cpu run walk talk",
            "Unrecognized command line argument: walk",
        ),
        (
            "cpu",
            "The 'cpu' test requires a command argument. See 'sysbench cpu help'",
        ),
        (
            "cpu prepare",
            "'cpu' test does not implement the 'prepare' command.",
        ),
        ("cpu walk", "Unknown command: walk"),
        ("cpu --nope=1 run", "invalid option: --nope=1"),
        ("oltp_read_write --nope=1 run", "invalid option: --nope=1"),
    ] {
        sysbench(words).fails(1, &[text]);
    }
    for (words, text) in [
        (
            "cpu --threads=0 run",
            "FATAL: Invalid value for --threads: 0",
        ),
        ("nope run", "FATAL: Cannot find benchmark 'nope'"),
    ] {
        let done = sysbench(words).fails(1, &[]);
        done.prints(&[text]);
    }
    for (words, option) in [
        ("--mysql-host=127.0.0.1 --mysql-port=1", "--mysql-port"),
        ("--mysql-socket=/nowhere", "--mysql-socket"),
        (
            "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1",
            "--pgsql-port",
        ),
    ] {
        let done = sysbench(&format!("oltp_read_only {words} run")).fails(1, &["help: ", option]);
        done.prints(&["FATAL: "]);
        assert!(!done.stderr.contains("URL"), "{done}");
    }
}

#[test]
fn the_program_may_be_called_sysbench() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("sysbench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dyno"), &link).unwrap();
    let output = Command::new(link).arg("--version").output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "sysbench 1.0.20\n"
    );
}

#[test]
fn ctrl_c_reports_what_was_measured() {
    let server = MariaDb::start(&[]);
    database(&server, "interrupted");
    let words = format!("oltp_point_select {}", address(&server, "interrupted"));
    sysbench(&format!("{words} --table-size=100 prepare")).succeeds();
    let before = Status::of(&server);
    let running = sysbench(&format!("{words} --table-size=100 --time=300 run")).start();
    wait_until("some transactions", || {
        before.until_now(&server).get("Com_stmt_execute") > 100
    });
    running.signal(Signal::INT);
    let done = running.wait().fails(130, &[]);
    assert!(number(&done.stdout, "transactions:") > 0.0, "{done}");
}

#[test]
fn a_forced_shutdown_counts_what_it_cuts_off() {
    let server = mariadb();
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("sleeps.lua");
    let text = "function event() db_query('SELECT SLEEP(60)') end";
    std::fs::write(&script, text).unwrap();
    let (script, address) = (script.display(), address(&*server, "sbtest"));
    let words = format!("{script} {address} --threads=3 --time=1 --forced-shutdown=1 run");
    let done = sysbench(&words).fails(2, &[]);
    done.prints(&[
        "Forcing shutdown in 2 seconds",
        "FATAL: The --max-time limit has expired, forcing shutdown...",
        "Number of unfinished transactions on forced shutdown: 3",
    ]);
}

#[test]
fn a_limit_of_the_server_is_told_with_its_remedy() {
    let server = MariaDb::start(&["--max-prepared-stmt-count=10"]);
    database(&server, "limited");
    let words = format!("--threads=4 {}", address(&server, "limited"));
    sysbench(&format!("oltp_read_only {words} --table-size=10 prepare")).succeeds();
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("own.lua");
    let text = "function thread_init()
          local con = sysbench.sql.driver():connect()
          for i = 1, 10 do con:prepare('SELECT ' .. i) end
        end
        function event() end";
    std::fs::write(&own, text).unwrap();
    for test in ["oltp_read_only", &own.display().to_string()] {
        let remedy = ["SET GLOBAL max_prepared_stmt_count", "--db-ps-mode=disable"];
        let done = sysbench(&format!("{test} {words} run")).fails(1, &remedy);
        let said = "Can't create more than max_prepared_stmt_count statements (current value: 10)";
        done.prints(&["FATAL: ", "1461", said]);
    }
}

#[test]
fn a_statement_that_fails_ends_the_run() {
    let server = mariadb();
    database(&*server, "no_tables");
    let words = format!(
        "oltp_read_only {} --time=5 run",
        address(&*server, "no_tables")
    );
    let done = sysbench(&words).fails(1, &[]);
    done.prints(&["FATAL: ", "sbtest1"]);
    assert!(!done.stdout.contains("SQL statistics:"), "{done}");
}
