//! The server's own counters, after dyno and after sysbench: over the same number of transactions on the
//! same rows, both must have asked for the same.
//!
//! What differs by design:
//! - sysbench closes its prepared statements one by one, dyno with the connection
//!   (`Com_stmt_close`);
//! - where the server cannot prepare a statement (BEGIN on MySQL) both send it as
//!   text, but sysbench asks for the statement twice, once more as it falls back;
//! - sysbench sends the INSERT of `oltp_insert` as text, dyno prepares it as it does
//!   all others (`Com_stmt_prepare`, `Com_stmt_execute`; with `--protocol text` it
//!   is as in sysbench). PostgreSQL counts both alike.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{self, COMPARED, Delta, Program, Served, Status, sysbench, wait_until};
use measure::summary::TrialSummary;
use testkit::{MariaDb, MySql, Postgres, PostgresServer, Server};

const EVENTS: u32 = 500;
const BULK_EVENTS: u32 = 100_000;
const USERS: u32 = 4;
const ROWS: u32 = 5_000;
/// A deadlock makes either of them send more; then both are tried again.
const TRIES: u32 = 5;

/// The most by which two numbers that depend on the keys drawn are apart. The widest is
/// `select_random_points`: 5,000 keys, each with as many rows as a Poisson of mean 1 gives, twice over
/// (once for the data, once for the draw): the difference of two runs has a standard deviation of
/// sqrt(2 * 2 * 5000) = 141 rows, and five of them are 14 %.
const MOST_APART: f64 = 0.15;

fn are_near(ours: i64, theirs: i64, besides: f64) -> bool {
    (ours - theirs).abs() as f64 <= MOST_APART * ours.max(theirs) as f64 + besides
}

trait Counts: Served {
    type Counted;
    /// What the server counts while `run` runs.
    fn counted(&self, run: impl FnOnce()) -> Self::Counted;
    fn compare(workload: &str, ours: &Self::Counted, theirs: &Self::Counted);
    /// Plans depend on how far the server's own statistics have come.
    const ANALYZE: &'static str;
}

fn bench(server: &impl Served, words: &str) -> TrialSummary {
    let program = Program::bench(&server.url("sbtest")).args("--no-monitors --warmup 0s");
    program.args(words).succeeds().trial()
}

fn load<S: Counts>(server: &S) {
    let words = "--distribution uniform --prepare always --events 1";
    bench(server, &format!("--tables 2 --rows {ROWS} {words}"));
    server.sql_in("sbtest", S::ANALYZE);
}

fn compare_all<S: Counts>(server: &S) {
    load(server);
    for (workload, tables) in COMPARED {
        let [ours, theirs] = both(server, workload, tables);
        S::compare(workload, &ours, &theirs);
    }
}

/// After a run of each, without a restart in either.
fn both<S: Counts>(server: &S, workload: &str, tables: u32) -> [S::Counted; 2] {
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
        let mut errors = 0;
        fresh();
        let ours = server.counted(|| {
            let words = format!(
                "--tables {tables} --rows {ROWS} --threads {USERS} --distribution uniform \
                 --workload {workload} --events {EVENTS} --protocol {protocol} --prepare never"
            );
            let trial = bench(server, &words);
            assert_eq!(trial.transactions.count, u64::from(EVENTS));
            errors += trial.errors.iter().map(|error| error.count).sum::<u64>();
        });
        fresh();
        let theirs = server.counted(|| {
            let words = format!(
                "--tables={tables} --table-size={ROWS} --threads={USERS} --rand-type=uniform \
                 --rand-seed=1 --events={EVENTS} --time=0 run"
            );
            let run = sysbench(server, "sbtest", workload, &words);
            assert_eq!(run.number("transactions:"), u64::from(EVENTS));
            errors += run.number("ignored errors:");
        });
        if errors == 0 {
            return [ours, theirs];
        }
    }
    panic!("{workload}: deadlocks in each of {TRIES} tries");
}

/// What either counts when users insert rows in bulk.
fn bulk_inserts<S: Counts>(server: &S) -> [S::Counted; 2] {
    let users = format!("--workload bulk_insert --threads {USERS}");
    let program = Program::bench(&server.url("sbtest")).args(&users);
    program.args("--no-monitors --prepare only").succeeds();
    let words = format!("{users} --prepare never --events {BULK_EVENTS}");
    let ours = server.counted(|| drop(bench(server, &words)));
    server.sql_in("sbtest", "DROP TABLE sbtest1, sbtest2, sbtest3, sbtest4");
    let sysbench = |words: &str| {
        let words = format!("--threads={USERS} {words}");
        sysbench(server, "sbtest", "bulk_insert", &words);
    };
    sysbench("prepare");
    let theirs = server.counted(|| sysbench(&format!("--events={BULK_EVENTS} --time=0 run")));
    [ours, theirs]
}

/// Each user fills packets of the same size, and sends what is left at its end: how many depends on how
/// the rows fell to the users.
fn assert_as_many_packets(ours: i64, theirs: i64) {
    let apart = ours.abs_diff(theirs);
    assert!(apart <= u64::from(USERS), "{ours}, {theirs}");
}

/// The same number of these, whatever the keys.
const EXACT: &str = "com_begin com_commit com_rollback com_select com_insert com_update \
                     com_delete com_stmt_execute com_stmt_prepare handler_update";
/// These depend on which keys are drawn.
const DRAWN: [&str; 2] = ["handler_", "innodb_rows_"];
/// Rows that another user deletes at that very moment (`handler_read_rnd_deleted`) are few and
/// come by chance.
const CHANCE: f64 = 10.0;

impl Counts for Server {
    type Counted = Delta;

    fn counted(&self, run: impl FnOnce()) -> Delta {
        let before = Status::of(self);
        run();
        before.until_now(self)
    }

    fn compare(workload: &str, ours: &Delta, theirs: &Delta) {
        let exact: BTreeSet<&str> = EXACT.split(' ').collect();
        let seen = [ours, theirs].map(|delta| delta.starting(&DRAWN));
        let seen: BTreeSet<&str> = seen
            .iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        let is_alike = |name: &str| match exact.contains(name) {
            true => ours.get(name) == theirs.get(name),
            // Which ranges MariaDB filters in the index changes with its estimates.
            false => name.contains("_icp_") || are_near(ours.get(name), theirs.get(name), CHANCE),
        };
        let differing = exact.union(&seen).filter(|name| !is_alike(name));
        let shown: Vec<_> = differing
            .map(|name| (name, ours.get(name), theirs.get(name)))
            .collect();
        let of = "(counter, dyno, sysbench)";
        assert!(shown.is_empty(), "{workload}: {of}: {shown:?}");
    }

    const ANALYZE: &'static str = "ANALYZE TABLE sbtest1, sbtest2";
}

#[test]
fn dyno_and_sysbench_ask_mariadb_for_the_same() {
    compare_all(&MariaDb::start(&[common::LAZY_DISK]));
}

/// It counts what InnoDB does to rows, which MariaDB no longer does.
#[test]
fn dyno_and_sysbench_ask_mysql_for_the_same() {
    compare_all(&MySql::start(&["--skip-log-bin", common::LAZY_DISK]));
}

#[test]
fn bulk_inserts_into_mariadb_are_as_many_rows_in_as_many_statements() {
    let [ours, theirs] = bulk_inserts(&MariaDb::start(&[common::LAZY_DISK]));
    for counter in ["handler_write", "com_select", "com_begin", "com_update"] {
        assert_eq!(ours.get(counter), theirs.get(counter), "{counter}");
    }
    assert_eq!(ours.get("handler_write"), i64::from(BULK_EVENTS));
    assert_as_many_packets(ours.get("com_insert"), theirs.get("com_insert"));
}

/// What PostgreSQL counted in the database: by column of `pg_stat_database`, and calls and rows by
/// statement, whichever of the tables it is on.
#[derive(Debug, PartialEq)]
struct Counted {
    database: BTreeMap<&'static str, i64>,
    statements: BTreeMap<String, [i64; 2]>,
}

/// The number of transactions, of changes, and of rows read.
const COLUMNS: &str =
    "xact_commit, tup_inserted, tup_updated, tup_deleted, tup_returned, tup_fetched";
/// What the connections of a run read of the catalogs.
const CATALOG_ROWS: f64 = 500.0;
/// Rows that another user has deleted and not yet inserted again.
const MOST_MISSED: i64 = 10;
/// Transactions by which they may differ: dyno connects once more, and both are waited for.
const MOST_OTHERS: i64 = 30;

fn postgres() -> PostgresServer {
    let server = Postgres::start(&[
        "shared_preload_libraries=pg_stat_statements",
        // It updates catalogs whenever it wants.
        "autovacuum=off",
        "synchronous_commit=off",
    ]);
    server.sql("CREATE EXTENSION pg_stat_statements");
    server
}

/// Backends publish what they counted before they are gone.
fn columns(server: &PostgresServer) -> BTreeMap<&'static str, i64> {
    let others = "SELECT count(*) FROM pg_stat_activity \
                  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    wait_until("all backends are gone", || server.sql(others)[0][0] == "0");
    let sql = format!("SELECT {COLUMNS} FROM pg_stat_database WHERE datname = 'sbtest'");
    let values = server.sql(&sql).remove(0).into_iter();
    let values = values.map(|value| value.parse().unwrap());
    COLUMNS.split(", ").zip(values).collect()
}

impl Counted {
    /// The sums of calls and rows over all statements.
    fn sums(&self) -> [i64; 2] {
        [0, 1].map(|which| self.statements.values().map(|sums| sums[which]).sum())
    }
}

impl Counts for PostgresServer {
    type Counted = Counted;

    fn counted(&self, run: impl FnOnce()) -> Counted {
        self.sql("SELECT pg_stat_statements_reset()");
        let before = columns(self);
        run();
        let mut database = columns(self);
        let mut statements: BTreeMap<String, [i64; 2]> = BTreeMap::new();
        let rows = self.sql(
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

    fn compare(workload: &str, ours: &Counted, theirs: &Counted) {
        let shown = format!("{workload}\ndyno: {ours:#?}\nsysbench: {theirs:#?}");
        let calls = |counted: &Counted| -> BTreeMap<String, i64> {
            let calls = counted.statements.iter();
            calls.map(|(text, sums)| (text.clone(), sums[0])).collect()
        };
        assert_eq!(calls(ours), calls(theirs), "{shown}");
        assert!(!ours.statements.is_empty());
        for (name, our) in &ours.database {
            let their = theirs.database[name];
            let is_alike = match *name {
                // Each statement is prepared in a transaction of its own, by both.
                "xact_commit" => {
                    *our.min(&their) >= i64::from(EVENTS) && (our - their).abs() <= MOST_OTHERS
                }
                "tup_returned" | "tup_fetched" => are_near(*our, their, CATALOG_ROWS),
                _ => (our - their).abs() <= MOST_MISSED,
            };
            assert!(is_alike, "{name}: {shown}");
        }
        for (text, [_, rows]) in &ours.statements {
            let their = theirs.statements[text][1];
            assert!(are_near(*rows, their, CATALOG_ROWS), "{text}: {shown}");
        }
    }

    const ANALYZE: &'static str = "ANALYZE sbtest1, sbtest2";
}

#[test]
fn dyno_and_sysbench_ask_postgres_for_the_same() {
    compare_all(&postgres());
}

#[test]
fn bulk_inserts_into_postgres_are_as_many_rows_in_as_many_statements() {
    let both = bulk_inserts(&postgres());
    let [[our_calls, our_rows], [their_calls, their_rows]] = [both[0].sums(), both[1].sums()];
    for rows in [our_rows, their_rows, both[0].database["tup_inserted"]] {
        assert_eq!(rows, i64::from(BULK_EVENTS));
    }
    assert_as_many_packets(our_calls, their_calls);
}
