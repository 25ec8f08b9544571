//! dyno and sysbench on each other's tables, with the same reports.

use crate::common::{COMPARED, Served, database, mariadb, postgres, sysbench as original};
use crate::{address, number, shape, sysbench};

const OPTIONS: &str = "--table-size=300 --threads=2 --events=40 --time=30";

#[test]
fn each_runs_on_the_tables_of_the_other() {
    each_runs(&*mariadb());
    each_runs(&*postgres());
}

fn each_runs(server: &impl Served) {
    database(server, "each_other");
    let address = address(server, "each_other");
    for (test, tables) in COMPARED {
        let options = format!("--tables={tables} {OPTIONS}");
        let own = |command: &str| {
            sysbench(&format!("{test} {address} {options} {command}"))
                .succeeds()
                .stdout
        };
        let its = |command: &str| {
            let command = format!("{options} {command}");
            original(server, "each_other", test, &command)
                .text()
                .to_owned()
        };
        own("prepare");
        let (first, second) = (its("run"), own("run"));
        its("cleanup");
        its("prepare");
        let third = own("run");
        own("cleanup");
        for report in [&first, &second, &third] {
            assert_eq!(
                number(report, "total number of events:"),
                40.0,
                "{test}\n{report}"
            );
        }
        let from = "SQL statistics:";
        assert_eq!(
            shape(&second, from),
            shape(&first, from),
            "{test}\n{first}\n{second}"
        );
    }
}

#[test]
fn intermediate_reports_are_the_same() {
    let server = mariadb();
    database(&*server, "intermediate");
    let words = format!("oltp_read_only {}", address(&*server, "intermediate"));
    sysbench(&format!("{words} --table-size=300 prepare")).succeeds();
    for options in ["", "--rate=50", "--percentile=99 --histogram"] {
        let options = format!("--table-size=300 --time=3 --report-interval=1 {options}");
        let own = sysbench(&format!("{words} {options} run"))
            .succeeds()
            .stdout;
        let its = original(
            &*server,
            "intermediate",
            "oltp_read_only",
            &format!("{options} run"),
        );
        let line = |report: &str| {
            let lines = report.lines().filter(|line| line.starts_with('['));
            lines.map(|line| shape(line, "[")).collect::<Vec<_>>()
        };
        let (own, its) = (line(&own), line(its.text()));
        // sysbench may miss the last one.
        assert!(own.starts_with(&its[..2]), "{own:?}\n{its:?}");
    }
}
