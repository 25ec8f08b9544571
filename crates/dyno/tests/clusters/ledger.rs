//! The ledger: what becomes of acknowledged commits when servers are killed, and when rows vanish or
//! are made up behind its back.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::common::{
    Cache, Finished, Program, Served, csv, database, each, in_time, mariadb, postgres, trial_dir,
    wait_until,
};
use measure::ledger::{Entry, Fate, History, LedgerSummary};
use measure::warning::Warning;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

/// The load, which is so slow that a busy machine keeps up.
const LOAD: &str = "workload = 'oltp_update_non_index'; threads = 2; think = '50ms'; warmup = '1s'";
const KILL: &str = "[[fault]]; at = '2s'; kill = 'primary'; heal = '1s'";

/// A study of one trial with a ledger, with these lines more.
fn study(engine: &str, time: &str, rest: &str) -> Program {
    let rest = format!("[ledger]; rate = 100; {rest}");
    Program::private(engine, &format!("{LOAD}; time = '{time}'"), &rest)
}

/// The same on a server that runs already, for longer than the test.
fn on(url: &str, rest: &str) -> String {
    let text = format!(
        "title = 't'; [server]; url = '{url}'; [data]; rows = 100; [load]; {LOAD}; \
         time = '1h'; [ledger]; rate = 100; {rest}"
    );
    text.replace("; ", "\n")
}

pub(crate) fn history(out: &Path) -> History {
    let path = trial_dir(out, 1).unwrap().join("ledger-1.jsonl");
    History::read(BufReader::new(File::open(path).unwrap())).unwrap()
}

/// The only ledger of the only trial, which counts what its history has.
fn ledger(done: &Finished) -> LedgerSummary {
    let [ledger] = done.trial().ledgers.try_into().unwrap();
    let history = history(&done.out());
    let of = |fate| history.entries().iter().filter(|e| e.fate == fate).count() as u64;
    let fates = [Fate::Acknowledged, Fate::Failed, Fate::Unknown].map(of);
    assert_eq!(fates, [ledger.acknowledged, ledger.failed, ledger.unknown]);
    ledger
}

fn report(done: &Finished) -> String {
    done.file("report.md")
}

/// A server that is killed under load and restarts has everything that it acknowledged.
#[test]
fn servers_keep_what_they_acknowledged() {
    for engine in ["mariadb", "mysql", "postgres"] {
        // A server that is slow to start needs more time.
        let run = |time: &str| study(engine, time, KILL).run_alone().succeeds();
        let is_checked = |done: &Finished| ledger(done).unchecked.is_empty();
        let done = in_time(&["6s", "40s", "160s"], run, is_checked);
        let ledger = ledger(&done);
        assert!(ledger.is_intact(), "{ledger:?}");
        assert!(ledger.acknowledged > 10 && ledger.appends > 2, "{ledger:?}");
        assert_eq!((&*ledger.checked, &*ledger.unchecked), (&[1][..], &[][..]));
        let lists = trial_dir(&done.out(), 1).unwrap().join("ledger-1.edn");
        let lists = std::fs::read_to_string(lists).unwrap();
        for words in [":type :ok", "[:append "] {
            assert!(lists.contains(words), "{lists}");
        }
        let recovery = done.trial().faults[0].recovery.clone().unwrap();
        assert!(recovery.in_flight.is_some() && recovery.two_primaries_s.is_none());
        assert_eq!(recovery.loss.unwrap().transactions, 0);
        let unavailable_s = recovery.unavailable_longest_s;
        assert!(unavailable_s >= Some(1.0), "{recovery:?}");
        let words = "No acknowledged commit was lost: ";
        done.prints(&[words]);
        assert!(report(&done).contains(words));
    }
}

/// It writes its log once per second, so a kill loses what it acknowledged since.
#[test]
fn a_server_that_acknowledges_before_it_writes_its_log_loses_commits() {
    let rest = format!("[server.config]; innodb_flush_log_at_trx_commit = 0; {KILL}");
    let run = |_| study("mariadb", "6s", &rest).succeeds();
    // A kill right after the log was written loses nothing.
    let done = (0..6).map(run).find(|done| ledger(done).lost > 0).unwrap();
    let ledger = ledger(&done);
    assert!(ledger.lost < ledger.acknowledged, "{ledger:?}");
    // What is left is consistent: whole transactions are missing.
    let others = [ledger.phantom, ledger.duplicated, ledger.unbalanced];
    assert_eq!(others, [0; 3], "{ledger:?}");
    let words = format!("LOST: {} of ", ledger.lost);
    assert!(done.stdout.contains(&words) && report(&done).contains(&words));
    assert!(ledger.examples[0].ends_with("is missing on member 1"));
    let results = done.file("results.csv");
    assert_eq!(csv(&results)[0]["ledger.lost"], ledger.lost.to_string());
}

/// Waits until the ledger of a running dyno has made some transfers.
fn wait_for_transfers(count: impl Fn() -> Option<u64>) {
    wait_until("transfers", || count().is_some_and(|count| count > 20));
}

const VANISH: &str = "DELETE FROM dyno_transfers WHERE id IN (2, 3)";
const DOUBLE: &str = "INSERT INTO dyno_transfers (user_id, sequence, from_id, to_id, amount) \
                      SELECT user_id, sequence, from_id, to_id, amount FROM dyno_transfers WHERE id IN (4, 5, 6)";
const MAKE_UP: &str = "INSERT INTO dyno_transfers (user_id, sequence, from_id, to_id, amount) \
                       VALUES (1, 1000000, 1, 2, 3)";

/// Plants anomalies in the tables of a running dyno, which is stopped by the user, because a slow
/// machine needs longer for what was planted.
fn finds_what_was_planted<S: Served>(server: &S) {
    let url = database(server, "planted");
    let sql = |sql: &str| server.sql_in("planted", sql).concat();
    let mut dyno = Program::study(&on(&url, "")).start();
    let exists = "SELECT COUNT(*) FROM information_schema.tables \
                  WHERE table_name = 'dyno_transfers' AND table_schema IN ('planted', 'public')";
    wait_until("the table", || sql(exists) == ["1"]);
    let count = "SELECT COUNT(*) FROM dyno_transfers";
    wait_for_transfers(|| sql(count)[0].parse().ok());
    sql(&format!("{VANISH}; {DOUBLE}; {MAKE_UP}"));
    dyno.comes_to_second(1, "measure");
    dyno.signal(Signal::INT);
    let done = dyno.wait().fails(4, &[]);
    let ledger = ledger(&done);
    let found = [ledger.lost, ledger.duplicated, ledger.phantom];
    assert_eq!((found, ledger.unbalanced), ([2, 3, 1], 1), "{ledger:?}");
    let of = format!("LOST: 2 of {} acknowledged transfers", ledger.acknowledged);
    done.prints(&[&format!("{of} are missing on the primary.")]);
    // Of dyno's tables only the list of those that it has loaded is left.
    let left = "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'dyno%' \
                AND table_schema IN ('planted', 'public')";
    assert_eq!(sql(left), ["dyno_tables"]);
    assert_eq!(sql("SELECT name FROM dyno_tables"), ["sbtest1"]);
}

#[test]
fn planted_anomalies_are_found_and_the_tables_are_dropped() {
    finds_what_was_planted(&*mariadb());
    finds_what_was_planted(&*postgres());
}

/// A history that is gone proves nothing: the trial has failed, and nothing was lost or made up.
#[test]
fn a_history_that_cannot_be_read_fails_the_trial() {
    let server = mariadb();
    let url = database(&*server, "unreadable");
    let mut dyno = Program::study(&on(&url, "").replace("1h", "15s")).start();
    dyno.comes_to_second(1, "measure");
    let path = trial_dir(&dyno.out(), 1).unwrap().join("ledger-1.jsonl");
    std::fs::remove_file(path).unwrap();
    let done = dyno.wait().fails(4, &["cannot read the ledger's history"]);
    let ledger = done.trial().ledgers.remove(0);
    let found = (ledger.checked.len(), ledger.lost, ledger.phantom);
    assert_eq!(found, (0, 0, 0), "{ledger:?}");
    done.prints(&["ledger could not be checked"]);
}

/// Nothing is said of what happened after the last record. A limit on the size of dyno's files stands
/// for a full disk; all others are shorter than the history.
#[test]
fn a_ledger_that_can_record_no_more_says_when_it_stopped() {
    let server = mariadb();
    let url = database(&*server, "stopped");
    let text = on(&url, "[monitors]; enabled = false");
    let dyno = Program::ignoring("XFSZ").with_study(&text);
    let dyno = dyno.args("run study.toml --out out").start();
    let out = dyno.dir().join("out");
    let path = || Some(trial_dir(&out, 1)?.join("ledger-1.jsonl"));
    let bytes = || path().and_then(|path| Some(path.metadata().ok()?.len()));
    wait_until("a history", || bytes() > Some(100_000));
    let pid = Pid::from_raw(dyno.pid().cast_signed());
    let limit = |bytes| {
        let limit = Rlimit {
            current: bytes,
            maximum: None,
        };
        prlimit(pid, Resource::Fsize, limit).unwrap();
    };
    limit(bytes());
    let files = format!("/proc/{}/fd", dyno.pid());
    wait_until("the end of the recording", || {
        let files = std::fs::read_dir(&files).unwrap().flatten();
        let mut open = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        !open.any(|file| Some(file) == path())
    });
    limit(None);
    dyno.signal(Signal::INT);
    let done = dyno.wait().fails(4, &[]);
    let ledger = ledger(&done);
    let stopped_s = ledger.stopped_at_s.unwrap();
    assert!(stopped_s > 0.0 && ledger.acknowledged > 10, "{ledger:?}");
    assert!(ledger.is_intact() && ledger.checked == [1], "{ledger:?}");
    let warnings = done.trial().warnings;
    let stopped = Warning::LedgerStopped { at_s: stopped_s };
    assert!(warnings.contains(&stopped), "{warnings:?}");
    let words = "The ledger stopped early";
    done.prints(&[words]);
    assert!(report(&done).contains(words));
}

#[test]
fn tables_of_the_same_name_that_are_not_dynos_stay() {
    let server = mariadb();
    let url = database(&*server, "foreign_tables");
    server.sql("CREATE TABLE foreign_tables.dyno_accounts (id INT); INSERT INTO foreign_tables.dyno_accounts VALUES (7)");
    let texts = [
        "needs the table dyno_accounts",
        "is not dyno's",
        "rename the table",
    ];
    Program::study(&on(&url, "")).fails(2, &texts);
    let rows = server.sql("SELECT * FROM foreign_tables.dyno_accounts");
    assert_eq!(rows, [["7"]]);
}

#[test]
fn replicas_are_read_beside_the_load_and_checked_after_it() {
    let rest = "replica_reads = 50; [topology]; cluster = 'asynchronous'; members = 3";
    let run = |time: &str| study("mysql", time, rest).run_alone().succeeds();
    let done = in_time(&["5s", "40s"], run, |done| {
        let ledger = ledger(done);
        ledger.acknowledged > 5 && ledger.replica_reads > 5
    });
    let ledger = ledger(&done);
    assert!(ledger.is_intact(), "{ledger:?}");
    assert_eq!(ledger.checked, [1, 2, 3]);
    assert_eq!(ledger.stale_reads > 0, ledger.staleness_max_ms.is_some());
    let reads = history(&done.out()).reads;
    for member in 1..=3 {
        assert!(reads.iter().any(|read| read.member == member), "{member}");
    }
    assert!(reads.iter().any(|read| read.sequence > 0));
    done.prints(&["transfers checked on 3 members"]);
}

#[test]
fn a_server_that_stays_down_is_not_checked_and_the_report_says_so() {
    let rest = "[[fault]]; at = '2s'; kill = 1; heal = 'never'";
    let run = |time: &str| study("mariadb", time, rest).run();
    let is_killed = |done: &Finished| done.trial().faults[0].effect_s.is_some();
    let done = in_time(&["4s", "40s"], run, is_killed);
    let trial = done.trial();
    let [ledger] = each(&trial.ledgers);
    assert!(ledger.checked.is_empty(), "{ledger:?}");
    assert_eq!(ledger.unchecked, [(1, "it is down".to_owned())]);
    let is_unchecked = |warning: &Warning| matches!(warning, Warning::LedgerUnchecked { .. });
    assert!(trial.warnings.iter().any(is_unchecked));
    done.prints(&["The ledger could not be checked."]);
}

#[test]
fn what_a_killed_dyno_recorded_can_be_read() {
    let place = Cache::kept();
    let dyno = study("mariadb", "1h", "").cache(&place).start();
    let out = dyno.dir().join("out");
    let lines = || {
        let path = trial_dir(&out, 1)?.join("ledger-1.jsonl");
        Some(std::fs::read_to_string(path).ok()?.lines().count() as u64)
    };
    wait_for_transfers(lines);
    dyno.signal(Signal::KILL);
    let killed = dyno.wait();
    let history = history(&killed.out());
    let is_kept = |entry: &&Entry| entry.fate == Fate::Acknowledged;
    assert!(history.entries().iter().filter(is_kept).count() > 5);
    assert_eq!(history.opening.accounts, 1000);
}
