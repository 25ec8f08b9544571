//! The command lines of papers, which are those of 0.4, of its fork, and of 0.5.

use testkit::{MariaDb, MySql, Server};

use crate::common::{LAZY_DISK, database};
use crate::{number, sysbench};

#[test]
fn the_papers_lines_run_on_mariadb() {
    lines_run(&MariaDb::start(&[LAZY_DISK]));
}

#[test]
fn the_papers_lines_run_on_mysql() {
    lines_run(&MySql::start(&["--skip-log-bin", LAZY_DISK]));
}

fn lines_run(server: &Server) {
    let login = "--mysql-user=root --mysql-db=papers";
    let socket = format!("--mysql-socket={} {login}", server.socket().display());
    let port = format!(
        "--mysql-host=127.0.0.1 --mysql-port={} {login}",
        server.port()
    );
    // With the dashes that a PDF has.
    let first = format!(
        "–test=oltp –mysql-table-engine=innodb –oltp-table-size=500 {socket} –num-threads=4 \
         –max-time=30 –max-requests=300 –oltp-test-mode=complex"
    );
    let report = run(server, &first);
    assert!(report.starts_with("sysbench 0.4.12:"), "{report}");
    assert!(report.contains("Running mixed OLTP test"), "{report}");
    assert!(report.contains("Test execution summary:"), "{report}");
    counts(&report, 300.0, [14.0, 5.0, 2.0]);
    let second = format!(
        "--test=tests/db/oltp.lua --oltp-tables-count=2 --oltp-table-size=500 {port} \
         --mysql-table-engine=innodb --num-threads=4 --max-requests=0 --max-time=2"
    );
    let report = run(server, &second);
    assert!(report.starts_with("sysbench 0.5:"), "{report}");
    counts(&report, number(&report, "transactions:"), [14.0, 4.0, 2.0]);
    let third = format!(
        "--test=oltp --oltp-num-tables=3 --oltp-table-size=500 {port} --num-threads=4 \
         --max-requests=300"
    );
    let report = run(server, &third);
    counts(&report, 300.0, [14.0, 4.0, 2.0]);
}

/// Prepares, runs, and cleans up; gives the report.
fn run(server: &Server, words: &str) -> String {
    database(server, "papers");
    let command = |command: &str| sysbench(&format!("{words} {command}")).succeeds();
    command("prepare").prints(&["Creating table 'sbtest"]);
    let report = command("run").stdout;
    command("cleanup").prints(&["Dropping table 'sbtest"]);
    let left = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'papers'";
    assert_eq!(server.sql(left).concat(), ["0"]);
    report
}

/// Checks the statements of each kind. Those of a transaction that begins again count twice.
#[track_caller]
fn counts(report: &str, transactions: f64, each: [f64; 3]) {
    assert!(transactions > 0.0, "{report}");
    assert_eq!(number(report, "transactions:"), transactions);
    let label = ["deadlocks:", "ignored errors:"]
        .into_iter()
        .find(|label| report.contains(label));
    let again = number(report, label.unwrap());
    for (label, each) in ["read:", "write:", "other:"].into_iter().zip(each) {
        let (count, least) = (number(report, label), transactions * each);
        assert!(
            (least..=least + again * each).contains(&count),
            "{label} {count}\n{report}"
        );
    }
}

#[test]
fn the_other_modes_of_0_4_run() {
    let server = MariaDb::start(&[LAZY_DISK]);
    database(&server, "modes");
    let port = server.port();
    let words = format!(
        "--test=oltp --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=root \
         --mysql-db=modes --oltp-table-size=200 --num-threads=2 --max-requests=50 \
         --oltp-connect-delay=0"
    );
    sysbench(&format!("{words} prepare")).succeeds();
    for mode in [
        "--oltp-test-mode=simple",
        "--oltp-test-mode=nontrx",
        "--oltp-test-mode=nontrx --oltp-nontrx-mode=update_key",
        "--oltp-test-mode=nontrx --oltp-nontrx-mode=update_nokey",
        "--oltp-test-mode=nontrx --oltp-nontrx-mode=delete",
        "--oltp-read-only --oltp-reconnect-mode=transaction",
        // Without transactions, two users who insert the row that both have deleted would fail.
        "--oltp-read-only --oltp-skip-trx --oltp-reconnect-mode=random",
        "--oltp-test-mode=nontrx --oltp-nontrx-mode=insert",
    ] {
        let report = sysbench(&format!("{words} {mode} run")).succeeds().stdout;
        assert_eq!(
            number(&report, "total number of events:"),
            50.0,
            "{mode}\n{report}"
        );
    }
    assert_eq!(
        server.sql("SELECT COUNT(*) FROM modes.sbtest").concat(),
        ["50"]
    );
    let unknown = sysbench(&format!("{words} --oltp-test-mode=x run")).fails(1, &[]);
    unknown.prints(&["Invalid OLTP test mode: x."]);
}

#[test]
fn the_other_scripts_of_0_5_run() {
    let server = MariaDb::start(&[LAZY_DISK]);
    database(&server, "scripts");
    let words = |test: &str, command: &str| {
        let port = server.port();
        sysbench(&format!(
            "--test=db/{test}.lua --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=root \
             --mysql-db=scripts --oltp-table-size=200 --oltp-tables-count=2 --num-threads=2 \
             --max-requests=50 {command}"
        ))
        .succeeds()
    };
    words("parallel_prepare", "run");
    for test in [
        "oltp_simple",
        "select",
        "update_index",
        "update_non_index",
        "insert",
        "delete",
        "select_random_points",
        "select_random_ranges",
    ] {
        let report = words(test, "run").stdout;
        assert_eq!(
            number(&report, "total number of events:"),
            50.0,
            "{test}\n{report}"
        );
    }
    words("oltp", "cleanup");
    words("bulk_insert", "prepare");
    words("bulk_insert", "run");
    words("bulk_insert", "cleanup");
}
