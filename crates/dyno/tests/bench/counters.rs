//! The server's own counters, after dyno and after sysbench: over the same number
//! of transactions on the same rows, both must have asked for the same.
//!
//! What differs by design:
//! - sysbench closes its prepared statements one by one, dyno with the connection
//!   (`Com_stmt_close`);
//! - where the server cannot prepare a statement (BEGIN on MySQL) both send it as
//!   text, but sysbench asks for the statement twice, once more as it falls back;
//! - sysbench sends the INSERT of `oltp_insert` as text, dyno prepares it as it does
//!   all others (`Com_stmt_prepare`, `Com_stmt_execute`; with `--protocol text` it
//!   is as in sysbench).

use std::collections::BTreeSet;

use crate::common::{self, COMPARED, Delta, Program, Status, database, sysbench};
use testkit::{MariaDb, MySql, Server};

const DATABASE: &str = "compared";
const EVENTS: u32 = 500;
const USERS: u32 = 4;
const ROWS: u32 = 5_000;
/// A deadlock makes either of them send more; then both are tried again.
const TRIES: u32 = 5;

/// The same number of these, whatever the keys.
const EXACT: [&str; 10] = [
    "com_begin",
    "com_commit",
    "com_rollback",
    "com_select",
    "com_insert",
    "com_update",
    "com_delete",
    "com_stmt_execute",
    "com_stmt_prepare",
    "handler_update",
];

/// These depend on which keys are drawn. The widest is `select_random_points`:
/// 5,000 keys, each with as many rows as a Poisson of mean 1 gives, twice over (once
/// for the data, once for the draw): the difference of two runs has a standard
/// deviation of sqrt(2 * 2 * 5000) = 141 rows, and five of them are 14 %.
const DRAWN: [&str; 2] = ["handler_", "innodb_rows_"];
const MOST_APART: f64 = 0.15;
/// Rows that another user deletes at that very moment (`handler_read_rnd_deleted`) are few and
/// come by chance.
const CHANCE: f64 = 10.0;

#[test]
fn dyno_and_sysbench_ask_mariadb_for_the_same() {
    compare_all(&MariaDb::start(&[common::LAZY_DISK]));
}

/// It counts what InnoDB does to rows, which MariaDB no longer does.
#[test]
fn dyno_and_sysbench_ask_mysql_for_the_same() {
    compare_all(&MySql::start(&["--skip-log-bin", common::LAZY_DISK]));
}

fn compare_all(server: &Server) {
    load(server);
    for (workload, tables) in COMPARED {
        let (ours, theirs) = both(server, workload, tables);
        compare(workload, &ours, &theirs);
    }
}

fn load(server: &Server) {
    let url = database(server, DATABASE);
    Program::bench(&url)
        .args("--no-monitors")
        .args(&format!("--tables 2 --rows {ROWS} --distribution uniform"))
        .args("--prepare only")
        .run()
        .succeeds();
    // Or the plans depend on how far the server's own statistics have come.
    server.sql(&format!(
        "ANALYZE TABLE {DATABASE}.sbtest1, {DATABASE}.sbtest2"
    ));
}

fn compare(workload: &str, ours: &Delta, theirs: &Delta) {
    let mut faults = Vec::new();
    for name in EXACT {
        if ours.get(name) != theirs.get(name) {
            faults.push((name.to_owned(), ours.get(name), theirs.get(name)));
        }
    }
    let seen: BTreeSet<String> = [ours, theirs]
        .into_iter()
        .flat_map(|delta| delta.starting(&DRAWN).into_keys())
        .collect();
    // Which ranges MariaDB filters in the index changes with its estimates.
    let drawn = |name: &&String| !EXACT.contains(&name.as_str()) && !name.contains("_icp_");
    for name in seen.iter().filter(drawn) {
        let (our, their) = (ours.get(name), theirs.get(name));
        let apart = (our - their).abs() as f64;
        if apart > MOST_APART * our.max(their) as f64 + CHANCE {
            faults.push((name.clone(), our, their));
        }
    }
    assert!(
        faults.is_empty(),
        "{workload}: (counter, dyno, sysbench): {faults:?}"
    );
}

/// The counters after a run of each, without a restart in either.
fn both(server: &Server, workload: &str, tables: u32) -> (Delta, Delta) {
    // As sysbench's script sends it.
    let protocol = match workload {
        "oltp_insert" => "text",
        _ => "prepared",
    };
    let fresh = || {
        if workload == "oltp_delete" {
            load(server);
        }
    };
    for _ in 0..TRIES {
        fresh();
        let before = Status::of(server);
        let done = Program::bench(&server.url(DATABASE))
            .args("--no-monitors")
            .args(&format!(
                "--tables {tables} --rows {ROWS} --threads {USERS} --distribution uniform \
                 --workload {workload} --events {EVENTS} --protocol {protocol}"
            ))
            .args("--prepare never --warmup 0s")
            .run()
            .succeeds();
        let ours = before.until_now(server);
        fresh();
        let before = Status::of(server);
        let run = sysbench(
            server,
            DATABASE,
            workload,
            &format!(
                "--tables={tables} --table-size={ROWS} --threads={USERS} --rand-type=uniform \
                 --rand-seed=1 --events={EVENTS} --time=0 run"
            ),
        );
        let theirs = before.until_now(server);
        assert_eq!(run.number("transactions:"), u64::from(EVENTS));
        assert_eq!(done.trial().transactions.count, u64::from(EVENTS));
        if done.trial().errors.is_empty() && run.number("ignored errors:") == 0 {
            return (ours, theirs);
        }
    }
    panic!("{workload}: deadlocks in each of {TRIES} tries");
}

#[test]
fn bulk_inserts_are_as_many_rows_in_as_many_statements() {
    const BULK_EVENTS: u32 = 100_000;
    let server = MariaDb::start(&[]);
    let url = database(&server, "ours");
    let sizes = format!("--workload bulk_insert --threads {USERS}");
    Program::bench(&url)
        .args("--no-monitors")
        .args(&sizes)
        .args("--prepare only")
        .run()
        .succeeds();
    let before = Status::of(&server);
    Program::bench(&url)
        .args("--no-monitors")
        .args(&sizes)
        .args(&format!(
            "--prepare never --warmup 0s --events {BULK_EVENTS}"
        ))
        .run()
        .succeeds();
    let ours = before.until_now(&server);
    database(&server, "theirs");
    let threads = format!("--threads={USERS}");
    sysbench(
        &server,
        "theirs",
        "bulk_insert",
        &format!("{threads} prepare"),
    );
    let before = Status::of(&server);
    let options = format!("{threads} --events={BULK_EVENTS} --time=0 run");
    sysbench(&server, "theirs", "bulk_insert", &options);
    let theirs = before.until_now(&server);
    for counter in ["handler_write", "com_select", "com_begin", "com_update"] {
        assert_eq!(ours.get(counter), theirs.get(counter), "{counter}");
    }
    assert_eq!(ours.get("handler_write"), i64::from(BULK_EVENTS));
    // Each user fills packets of the same size, and sends what is left at its end:
    // how many depends on how the rows fell to the users.
    let inserts = [ours.get("com_insert"), theirs.get("com_insert")];
    assert!(
        inserts[0].abs_diff(inserts[1]) <= u64::from(USERS),
        "{inserts:?}"
    );
}
