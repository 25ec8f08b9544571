//! The embedded engine, through the whole program: no server is needed.

use std::path::Path;

use crate::common::{Program, each};
use client::sqlite::SqliteTarget;
use workload::distribution::Distribution;
use workload::name::WorkloadName;
use workload::rows::TableRows;

const SMALL: &str = "--tables 2 --rows 300 --threads 2 --warmup 0s";

#[test]
fn the_first_study_gives_a_curve_and_a_report() {
    let words = "--set load.time=1s --set load.warmup=0s --set data.rows=1000";
    let done = Program::shipped("quickstart").args(words).succeeds();
    let result = done.result();
    let labels = result.trials.iter().map(|trial| &trial.setup.planned.label);
    let labels: Vec<_> = labels.collect();
    assert_eq!(labels, ["threads=1", "threads=2", "threads=4", "threads=8"]);
    let began = &result.environment.started[..19];
    for trial in &result.trials {
        let at = trial.started_at.as_deref().unwrap();
        assert!(at.ends_with("+00:00") && began <= &at[..19], "{at}");
        assert_eq!(trial.steady, None, "one second says nothing of steadiness");
        assert!(trial.transactions.count > 0 && trial.response_ms.is_some());
        assert!(trial.setup.engine.starts_with("SQLite"));
        done.prints(&[&format!("{}", trial.setup.planned.load.threads)]);
    }
    done.prints(&["tps", "mean", "p95", "p99", "errors", "verdict"]);
    let page = done.file("report.html");
    let first = result.trials[0].started_at.as_ref().unwrap();
    assert!(page.contains(first) && page.contains("not assessed"));
    assert!(page.contains("threads=8") && !page.contains("src=\"http"));
    let kept = done.file("study.toml");
    assert!(kept.contains("load.time=1s") && kept.contains("[sweep]"));
    assert_eq!(store::trial_dirs(&done.out()).unwrap().len(), 4);
    a_report_has_the_formats_of_other_answers(&done.out());
}

/// In a directory of its own, and as JSON; the result is left as it is.
fn a_report_has_the_formats_of_other_answers(result: &Path) {
    let page = result.join("report.html");
    std::fs::remove_file(&page).unwrap();
    let report = Program::new().arg("report").arg(result);
    let done = report.args("--json --out formats").succeeds();
    let read = |name: &str| std::fs::read_to_string(done.dir().join("formats").join(name)).unwrap();
    let stored = std::fs::read_to_string(result.join("result.json")).unwrap();
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(&done.stdout), json(&stored));
    assert_eq!(json(&read("report.json")), json(&stored));
    let csv = std::fs::read_to_string(result.join("results.csv")).unwrap();
    assert_eq!(read("report.csv"), csv);
    let markdown = std::fs::read_to_string(result.join("report.md")).unwrap();
    assert_eq!(read("report.md"), markdown);
    assert!(read("report.html").contains("id=\"series-4\""));
    assert!(!page.exists());
}

#[test]
fn a_temporary_database_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let bench = Program::bench("sqlite:").args(SMALL).args("--events 20");
    bench.env("DYNO_CACHE_DIR", place.path()).succeeds();
    let runs = std::fs::read_dir(place.path().join("run")).unwrap();
    assert_eq!(runs.count(), 0);
}

#[test]
fn a_file_is_loaded_once() {
    let place = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", place.path().join("db.sqlite").display());
    let bench = |words: &str| Program::bench(&url).args(SMALL).args(words).run();
    let first = bench("--events 20").succeeds();
    first.tells(&["loaded 2 tables, 600 rows"]);
    let second = bench("--events 20").succeeds();
    assert!(!second.stderr.contains("loaded"), "{}", second.stderr);
    bench("--events 20 --prepare always").succeeds();
    bench("--rows 500").fails(2, &[]);
    Program::bench("sqlite:/nonexistent/db.sqlite")
        .fails(3, &["/nonexistent/db.sqlite", "directory exists"]);
    let not_one = place.path().join("notes.txt");
    let text = "no database, but longer than a header of one is: ".repeat(50);
    std::fs::write(&not_one, text).unwrap();
    Program::bench(&format!("sqlite:{}", not_one.display()))
        .fails(3, &["notes.txt", "not an SQLite database"]);
}

#[test]
fn every_workload_runs() {
    for workload in WorkloadName::ALL {
        let words = format!("--tables 1 --workload {workload} --events 40");
        let trial = Program::bench("sqlite:")
            .args("--rows 300 --threads 2 --warmup 0s")
            .args(&words);
        let trial = trial.succeeds().trial();
        assert_eq!(trial.transactions.count, 40, "{workload}");
        let is_delete = workload == WorkloadName::OltpDelete;
        assert_eq!(trial.lookups.missed > 0, is_delete, "{workload}");
    }
}

#[test]
fn the_rows_are_a_function_of_the_seed() {
    let place = tempfile::tempdir().unwrap();
    let load = |name: &str, seed: u64| {
        let url = format!("sqlite:{}", place.path().join(name).display());
        let words = format!("--tables 2 --rows 500 --prepare only --seed {seed}");
        Program::bench(&url).args(&words).succeeds();
        rows(&url)
    };
    let one = load("one", 9);
    assert_eq!(one, load("again", 9));
    assert_ne!(one, load("other", 10));
    let table = TableRows::new(9, 2, 500, &Distribution::default()).unwrap();
    let expected = (1..=500).map(|key| {
        let row = table.row(key);
        let (c, pad) = (row.c().to_owned(), row.pad().to_owned());
        (row.id.cast_signed(), row.k.cast_signed(), c, pad)
    });
    assert_eq!(one, expected.collect::<Vec<_>>());
}

fn rows(url: &str) -> Vec<(i64, i64, String, String)> {
    let connection = SqliteTarget::parse(url, None).unwrap().open().unwrap();
    let sql = "SELECT id, k, c, pad FROM sbtest2 ORDER BY id";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    });
    rows.unwrap().map(|row| row.unwrap()).collect()
}

#[test]
fn a_database_that_another_holds_is_busy_and_counted() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("db.sqlite");
    let url = format!("sqlite:{}", file.display());
    let bench = |words: &str| {
        let options = "--workload oltp_update_index --tables 1 --rows 100 --threads 2 --warmup 0s";
        Program::bench(&url).args(options).args(words)
    };
    bench("--prepare only").succeeds();
    let other = SqliteTarget::parse(&url, None).unwrap().open().unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut running = bench("--events 20").start();
    running.says(" restarts");
    other.execute_batch("COMMIT").unwrap();
    let trial = running.wait().succeeds().trial();
    assert_eq!(trial.transactions.count, 20);
    let [busy] = each(&trial.errors);
    assert_eq!((&*busy.code, &*busy.action), ("5", "restarted"));
    assert!(busy.example.contains("locked"), "{busy:?}");
}

/// Each user has an event loop and several files.
#[test]
fn the_limit_of_open_files_is_raised_as_far_as_the_users_need_it() {
    let run = |soft, hard| {
        let program = Program::with_open_files(soft, hard).args("bench sqlite: --out out");
        let program = program.args("--workload oltp_point_select --tables 1 --rows 100");
        program.args("--threads 200 --warmup 0s --events 400").run()
    };
    assert_eq!(run(600, 4096).succeeds().trial().transactions.count, 400);
    let words = ["200 virtual users", "700", "ulimit -n 2120"];
    run(600, 700).fails(2, &words);
}

#[test]
fn the_study_that_is_kept_runs_the_same_work() {
    let program = Program::bench("sqlite:").args(
        "--tables 1 --rows 300 --threads 1 --warmup 0s --events 60 --skip-trx --range-size 7 --secondary --think 1ms --protocol text --key-range 250 \
         --distribution zipfian:exp=0.99 --seed 5 --no-monitors",
    );
    let first = program.succeeds();
    let study = first.file("study.toml");
    let again = Program::study(&study).succeeds();
    let [mut one, other] = [&first, &again].map(|done| done.result().trials.remove(0).setup);
    let (data, transaction) = (&other.planned.data, &other.planned.transaction);
    assert_eq!(
        (transaction.range_size, transaction.skip_trx, data.secondary),
        (7, true, true)
    );
    // A study has a limit of time, and its own directory.
    one.server.clone_from(&other.server);
    one.planned.load.time = other.planned.load.time;
    one.planned.label.clone_from(&other.planned.label);
    assert_eq!(one, other);
    let compare = Program::new().arg("compare").arg(first.out());
    compare.arg(again.out()).succeeds();
}
