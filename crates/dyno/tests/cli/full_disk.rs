//! A disk without room, under the results and under the database.

use std::path::Path;

use crate::common::{self, Program, SmallDisk, has_second, wait_until};
use measure::setup::Outcome;

fn bench(out: &Path) -> Program {
    Program::new()
        .args("bench sqlite: --tables 1 --rows 100 --threads 1 --think 5ms --warmup 0s")
        .arg("--out")
        .arg(out)
}

#[test]
fn a_report_that_finds_no_room_costs_no_result() {
    // Room for the result, not for its report; and not even for a trial.
    for (size, file) in [("1m", "report.html"), ("32k", "")] {
        let Some(disk) = SmallDisk::new(size) else {
            return;
        };
        let done = bench(disk.path()).args("--events 50").run();
        let done = done.fails(4, &[file, "No space left", "--out"]);
        if size == "1m" {
            done.prints(&["oltp_read_write"]);
            let result = store::read_result(disk.path()).unwrap();
            assert_eq!(result.trials[0].transactions.count, 50);
        }
    }
}

#[test]
fn results_that_find_no_room_are_told_while_the_load_runs() {
    let Some(disk) = SmallDisk::new("8m") else {
        return;
    };
    let dyno = bench(disk.path()).args("--time 10s").start();
    wait_until("the first second", || has_second(disk.path(), 1, "measure"));
    disk.fill_except(0);
    let done = dyno
        .wait()
        .fails(4, &["warning: cannot write", "No space left", "--out"]);
    // The summary needs no disk.
    done.prints(&["oltp_read_write"]);
}

#[test]
fn a_trial_whose_seconds_were_lost_is_not_whole_though_room_came_free() {
    let Some(disk) = SmallDisk::new("8m") else {
        return;
    };
    let out = disk.path().join("out");
    let study = "title = \"t\"\n[server]\nengine = \"sqlite\"\n[data]\nrows = 100\n\
        [load]\nworkload = \"oltp_read_write\"\nthink = \"5ms\"\nwarmup = \"0s\"\ntime = \"10s\"\n";
    let program = || Program::study_to(study, &out);
    let mut dyno = program().start();
    wait_until("the first second", || has_second(&out, 1, "measure"));
    disk.fill_except(0);
    dyno.says("warning: cannot write");
    disk.remount("size=8m");
    let done = dyno.wait().fails(4, &["No space left"]);
    let text = "its results could not be stored completely";
    done.tells(&[text]);
    let trial = |at: usize| store::read_intact(&out).unwrap().result.trials.remove(at);
    assert!(matches!(trial(0).outcome, Outcome::Failed { .. }));
    program().args("--resume").succeeds();
    assert_eq!(trial(0).outcome, Outcome::Completed);
}

#[test]
fn a_database_that_finds_no_room_says_which() {
    let Some(disk) = SmallDisk::new("1m") else {
        return;
    };
    let file = disk.path().join("db.sqlite").display().to_string();
    let load = |url: &str| {
        let words = "--tables 1 --rows 20000 --threads 1 --warmup 0s --events 10";
        Program::bench(url).args(words)
    };
    load(&format!("sqlite:{file}")).fails(3, &[&file, "full", "free space"]);
    let cache = disk.path().join("cache");
    let temporary = || load("sqlite:").env("DYNO_CACHE_DIR", &cache);
    // No room for a cache at all.
    temporary().fails(3, &["No space left", "DYNO_CACHE_DIR"]);
    for path in common::entries(disk.path()) {
        let _ = std::fs::remove_file(path);
    }
    // Room for the cache, and not for the rows.
    temporary().fails(3, &["full", "free space"]);
}
