//! The bundled tests of 1.0.

use measure::slice::Phase;
use testkit::MariaDb;
use workload::name::WorkloadName;

use crate::common::{Served, Status, database, mariadb, postgres};
use crate::{address, number, sysbench};

const OPTIONS: &str = "--tables=2 --table-size=300 --threads=4 --time=1";

#[test]
fn every_test_prepares_runs_and_cleans_up() {
    every_test(&*mariadb());
    every_test(&*postgres());
}

fn every_test(server: &impl Served) {
    database(server, "every_test");
    let address = address(server, "every_test");
    for test in WorkloadName::ALL {
        let command = |command: &str| {
            let words = format!("{test} {address} {OPTIONS} --events=200 {command}");
            let done = sysbench(&words).succeeds();
            assert!(done.stdout.starts_with("sysbench 1.0.20 (using "), "{done}");
            done
        };
        let created = ["Creating table 'sbtest1'...", "Creating table 'sbtest2'..."];
        command("prepare").prints(&created);
        let run = command("run");
        assert!(number(&run.stdout, "transactions:") > 0.0, "{run}");
        assert_eq!(number(&run.stdout, "reconnects:"), 0.0);
        assert!(number(&run.stdout, "total time:") < 7.0);
        command("cleanup").prints(&["Dropping table 'sbtest1'..."]);
        // Each engine has one of these schemas in its place of tables.
        let left = "SELECT COUNT(*) FROM information_schema.tables \
                    WHERE table_schema IN ('every_test', 'public')";
        assert_eq!(server.sql_in("every_test", left).concat(), ["0"], "{test}");
    }
}

#[test]
fn rows_that_were_counted_are_there() {
    rows_are_there(&*mariadb());
    rows_are_there(&*postgres());
}

fn rows_are_there(server: &impl Served) {
    database(server, "rows_there");
    let words = format!("oltp_insert {} {OPTIONS}", address(server, "rows_there"));
    sysbench(&format!("{words} prepare")).succeeds();
    let report = sysbench(&format!("{words} run")).succeeds().stdout;
    let both = "SELECT COUNT(*) FROM sbtest1 UNION ALL SELECT COUNT(*) FROM sbtest2";
    let rows = server.sql_in("rows_there", both).concat();
    let rows: f64 = rows.iter().map(|count| count.parse::<f64>().unwrap()).sum();
    let inserted = number(&report, "write:");
    assert_eq!(
        (rows, inserted),
        (600.0 + inserted, number(&report, "transactions:"))
    );
    assert_eq!(number(&report, "total number of events:"), inserted);
}

#[test]
fn the_servers_counters_agree_with_the_report() {
    let server = MariaDb::start(&[]);
    database(&server, "counted");
    let address = address(&server, "counted");
    let words = format!("oltp_read_write {address} {OPTIONS} --db-ps-mode=disable");
    sysbench(&format!("{words} prepare")).succeeds();
    let before = Status::of(&server);
    let report = sysbench(&format!("{words} --events=200 --time=0 run"))
        .succeeds()
        .stdout;
    let delta = before.until_now(&server);
    assert_eq!(number(&report, "transactions:"), 200.0);
    let counted = |names: &[&str]| names.iter().map(|name| delta.get(name)).sum::<i64>() as f64;
    let writes = counted(&["Com_update", "Com_insert", "Com_delete"]);
    // A deadlock is an error of a statement that the server counts, and may undo some others.
    let restarted = number(&report, "ignored errors:");
    let differs = writes - number(&report, "write:");
    assert!((0.0..=restarted).contains(&differs), "{differs}\n{report}");
    assert_eq!(counted(&["Com_commit"]), 200.0);
    assert_eq!(counted(&["Com_stmt_execute"]), 0.0);
}

#[test]
fn tables_that_exist_are_left_alone() {
    let server = mariadb();
    database(&*server, "left_alone");
    for sql in [
        "CREATE TABLE sbtest2 (id INT, k INT, c CHAR(1), pad CHAR(1))",
        "INSERT INTO sbtest2 VALUES (300, 1, 'c', 'p')",
    ] {
        server.sql_in("left_alone", sql);
    }
    let words = format!(
        "oltp_read_only {} {OPTIONS} prepare",
        address(&*server, "left_alone")
    );
    let done = sysbench(&words).fails(1, &["with the command cleanup"]);
    done.prints(&["FATAL: the table sbtest2 already exists"]);
    let left = "SELECT COUNT(*) FROM sbtest2 UNION ALL \
                SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'left_alone'";
    assert_eq!(server.sql_in("left_alone", left).concat(), ["1", "1"]);
}

#[test]
fn sockets_and_several_servers_take_connections_in_turn() {
    let (one, two) = (MariaDb::start(&[]), MariaDb::start(&[]));
    let sockets = [&one, &two].map(|server| server.socket().display().to_string());
    for server in [&one, &two] {
        database(server, "in_turn");
        let words = format!(
            "oltp_read_only {} {OPTIONS} prepare",
            address(server, "in_turn")
        );
        sysbench(&words).succeeds();
    }
    let before = [&one, &two].map(Status::of);
    let words = format!(
        "oltp_read_only --mysql-socket={} --mysql-user=root --mysql-db=in_turn {OPTIONS} run",
        sockets.join(",")
    );
    sysbench(&words).succeeds();
    for (before, server) in before.iter().zip([&one, &two]) {
        assert!(before.until_now(server).get("Com_commit") > 0);
    }
}

#[test]
fn a_result_of_dyno_is_written_beside_the_text() {
    let server = mariadb();
    database(&*server, "with_result");
    let words = format!(
        "oltp_read_only {} {OPTIONS}",
        address(&*server, "with_result")
    );
    sysbench(&format!("{words} prepare")).succeeds();
    let done = sysbench(&format!("{words} --dyno-out=out run")).succeeds();
    done.prints(&["SQL statistics:"]);
    let trial = done.trial();
    assert_eq!(trial.setup.planned.load.workload.value, "oltp_read_only");
    assert_eq!(trial.setup.planned.data.rows, 300);
    assert_eq!((trial.setup.tables, trial.setup.workers > 0), (2, true));
    // The report also has the transactions that ended after the time.
    let series = done.series().into_iter();
    let drained = series.filter(|second| second.phase == Phase::Drain);
    let drained: f64 = drained
        .map(|second| second.tps.unwrap_or(0.0) * second.seconds)
        .sum();
    let transactions = trial.transactions.count as f64 + drained.round();
    assert_eq!(
        transactions,
        number(&done.stdout, "transactions:"),
        "{done}"
    );
    assert!(done.out().join("report.html").exists());
}

#[test]
fn a_dry_run_needs_no_server() {
    let done = sysbench("oltp_read_write --mysql-dry-run --events=100 --threads=2 run").succeeds();
    assert_eq!(number(&done.stdout, "total number of events:"), 100.0);
    sysbench("oltp_read_write --mysql-dry-run prepare").succeeds();
}
