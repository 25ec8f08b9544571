//! PostgreSQL's own counters after dyno and after sysbench's pgsql driver: over the same number
//! of transactions on the same rows, both must have run the same statements as often, on as many
//! rows.
//!
//! What differs by design: sysbench sends the INSERT of `oltp_insert` as text, dyno prepares it as
//! it does all others, which PostgreSQL counts alike.

use std::collections::BTreeMap;

use crate::common::{COMPARED, Program, sysbench_pgsql, wait_until};
use testkit::{Postgres, PostgresServer};

const EVENTS: u32 = 500;
const USERS: u32 = 4;
const ROWS: u32 = 5_000;
/// A deadlock makes either of them send more; then both are tried again.
const TRIES: u32 = 5;
/// The same number of these, whatever the keys.
const EXACT: [&str; 3] = ["tup_inserted", "tup_updated", "tup_deleted"];
/// But for rows that another user has deleted and not yet inserted again.
const MOST_MISSED: i64 = 10;
/// These depend on which keys are drawn; see `counters.rs` for how far they can be apart.
const DRAWN: [&str; 2] = ["tup_returned", "tup_fetched"];
const MOST_APART: f64 = 0.15;
/// What the connections of a run read of the catalogs.
const CATALOG_ROWS: f64 = 500.0;
/// Transactions by which they may differ: dyno connects once more, and both are waited for.
const MOST_OTHERS: i64 = 30;

/// What the server counted in the database: by column of `pg_stat_database`, and calls and rows
/// by statement, whichever of the tables it is on.
#[derive(Debug, PartialEq)]
struct Counted {
    database: BTreeMap<String, i64>,
    statements: BTreeMap<String, [i64; 2]>,
}

fn server() -> PostgresServer {
    let server = Postgres::start(&[
        "shared_preload_libraries=pg_stat_statements",
        // It updates catalogs whenever it wants.
        "autovacuum=off",
        "synchronous_commit=off",
    ]);
    server.sql("CREATE EXTENSION pg_stat_statements");
    server
}

/// What is counted while `run` runs.
fn counted(server: &PostgresServer, run: impl FnOnce()) -> Counted {
    server.sql("SELECT pg_stat_statements_reset()");
    let before = columns(server);
    run();
    let mut database = columns(server);
    let mut statements: BTreeMap<String, [i64; 2]> = BTreeMap::new();
    let rows = server.sql(
        "SELECT regexp_replace(query, '[[:space:]]+', ' ', 'g'), calls, rows \
         FROM pg_stat_statements WHERE query ~ 'sbtest[0-9]'",
    );
    for row in rows {
        let text = row[0].replace(|c: char| c.is_ascii_digit(), "");
        let sums = statements.entry(text).or_default();
        sums[0] += row[1].parse::<i64>().unwrap();
        sums[1] += row[2].parse::<i64>().unwrap();
    }
    for (name, value) in &mut database {
        *value -= before[name];
    }
    Counted {
        database,
        statements,
    }
}

/// Backends publish what they counted before they are gone.
fn columns(server: &PostgresServer) -> BTreeMap<String, i64> {
    let others = "SELECT count(*) FROM pg_stat_activity \
                  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    wait_until("all backends are gone", || server.sql(others)[0][0] == "0");
    let names = ["xact_commit"].iter().chain(&EXACT).chain(&DRAWN);
    let names: Vec<&str> = names.copied().collect();
    let sql = format!(
        "SELECT {} FROM pg_stat_database WHERE datname = 'sbtest'",
        names.join(", ")
    );
    let values = server.sql(&sql).remove(0).into_iter();
    let named = names.into_iter().map(str::to_owned);
    named
        .zip(values.map(|value| value.parse().unwrap()))
        .collect()
}

fn load(server: &PostgresServer) {
    Program::bench(&server.url("sbtest"))
        .args("--no-monitors")
        .args(&format!("--tables 2 --rows {ROWS} --distribution uniform"))
        .args("--prepare always --workload oltp_read_write")
        .args("--warmup 0s --events 1")
        .run()
        .succeeds();
    // Or the plans depend on how far the server's own statistics have come.
    server.sql("ANALYZE sbtest1, sbtest2");
}

#[test]
fn dyno_and_sysbench_ask_postgres_for_the_same() {
    let server = server();
    load(&server);
    for (workload, tables) in COMPARED {
        let [ours, theirs] = both(&server, workload, tables);
        compare(workload, &ours, &theirs);
    }
}

/// After a run of each, without a restart in either.
fn both(server: &PostgresServer, workload: &str, tables: u32) -> [Counted; 2] {
    let fresh = || {
        if workload == "oltp_delete" {
            load(server);
        }
    };
    for _ in 0..TRIES {
        fresh();
        let mut failures = 0;
        let ours = counted(server, || {
            let trial = Program::bench(&server.url("sbtest"))
                .args("--no-monitors")
                .args(&format!(
                    "--tables {tables} --rows {ROWS} --threads {USERS} --distribution uniform \
                     --workload {workload} --events {EVENTS} --prepare never --warmup 0s"
                ))
                .run()
                .succeeds()
                .trial();
            assert_eq!(trial.transactions.count, u64::from(EVENTS));
            failures += trial.failures() + trial.restarts();
        });
        fresh();
        let theirs = counted(server, || {
            let run = sysbench_pgsql(
                server,
                "sbtest",
                workload,
                &format!(
                    "--tables={tables} --table-size={ROWS} --threads={USERS} --rand-type=uniform \
                     --rand-seed=1 --events={EVENTS} --time=0 run"
                ),
            );
            assert_eq!(run.number("transactions:"), u64::from(EVENTS));
            failures += run.number("ignored errors:");
        });
        if failures == 0 {
            return [ours, theirs];
        }
    }
    panic!("{workload}: deadlocks in each of {TRIES} tries");
}

fn compare(workload: &str, ours: &Counted, theirs: &Counted) {
    let said = || format!("{workload}\ndyno: {ours:#?}\nsysbench: {theirs:#?}");
    let calls = |counted: &Counted| -> BTreeMap<String, i64> {
        let calls = counted.statements.iter();
        calls.map(|(text, sums)| (text.clone(), sums[0])).collect()
    };
    assert_eq!(calls(ours), calls(theirs), "{}", said());
    assert!(!ours.statements.is_empty());
    for name in EXACT {
        let apart = ours.database[name] - theirs.database[name];
        assert!(apart.abs() <= MOST_MISSED, "{name}: {}", said());
    }
    let commits = [ours, theirs].map(|counted| counted.database["xact_commit"]);
    // Each statement is prepared in a transaction of its own, by both.
    assert!(
        commits.iter().all(|count| *count >= i64::from(EVENTS)),
        "{}",
        said()
    );
    assert!(
        (commits[0] - commits[1]).abs() <= MOST_OTHERS,
        "{commits:?}: {}",
        said()
    );
    let near = |our: i64, their: i64| {
        (our - their).abs() as f64 <= MOST_APART * our.max(their) as f64 + CATALOG_ROWS
    };
    for name in DRAWN {
        let values = [ours.database[name], theirs.database[name]];
        assert!(near(values[0], values[1]), "{name}: {}", said());
    }
    for (text, [_, rows]) in &ours.statements {
        assert!(
            near(*rows, theirs.statements[text][1]),
            "{text}: {}",
            said()
        );
    }
}

#[test]
fn bulk_inserts_are_as_many_rows_in_as_many_statements() {
    const BULK_EVENTS: u32 = 100_000;
    let server = server();
    let sizes = format!("--no-monitors --workload bulk_insert --threads {USERS}");
    let bench = |words: &str| {
        let program = Program::bench(&server.url("sbtest"));
        program.args(&sizes).args(words).run().succeeds();
    };
    bench("--prepare only");
    let ours = counted(&server, || {
        bench(&format!(
            "--prepare never --warmup 0s --events {BULK_EVENTS}"
        ));
    });
    server.sql(&format!(
        "DROP TABLE {}",
        ["sbtest1", "sbtest2", "sbtest3", "sbtest4"].join(", ")
    ));
    let threads = format!("--threads={USERS}");
    sysbench_pgsql(
        &server,
        "sbtest",
        "bulk_insert",
        &format!("{threads} prepare"),
    );
    let theirs = counted(&server, || {
        let options = format!("{threads} --events={BULK_EVENTS} --time=0 run");
        sysbench_pgsql(&server, "sbtest", "bulk_insert", &options);
    });
    for counted in [&ours, &theirs] {
        assert_eq!(counted.database["tup_inserted"], i64::from(BULK_EVENTS));
        let rows: i64 = counted.statements.values().map(|sums| sums[1]).sum();
        assert_eq!(rows, i64::from(BULK_EVENTS));
    }
    // Each user fills packets of the same size, and sends what is left at its end:
    // how many depends on how the rows fell to the users.
    let calls =
        |counted: &Counted| -> i64 { counted.statements.values().map(|sums| sums[0]).sum() };
    let apart = calls(&ours).abs_diff(calls(&theirs));
    assert!(apart <= u64::from(USERS), "{ours:?} {theirs:?}");
}
