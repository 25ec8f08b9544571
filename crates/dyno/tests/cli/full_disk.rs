//! A disk without room, under the results and under the database.

use std::path::Path;

use crate::common::{self, Program, SmallDisk, wait_until};
use measure::setup::Outcome;

fn bench(out: &Path) -> Program {
    Program::new()
        .args("bench sqlite: --tables 1 --rows 100 --threads 1 --warmup 0s")
        .arg("--out")
        .arg(out)
}

#[test]
fn a_report_that_finds_no_room_costs_no_result() {
    let Some(disk) = SmallDisk::new("1m") else {
        return;
    };
    let done = bench(disk.path()).args("--events 50").run();
    let done = done.fails(4, &["report.html", "No space left", "--out"]);
    done.prints(&["oltp_read_write"]);
    let result = store::read_result(disk.path()).unwrap();
    assert_eq!(result.trials[0].transactions.count, 50);
}

/// Whether the first trial of a result has a second.
fn has_seconds(out: &Path) -> bool {
    let trials = store::trial_dirs(out).unwrap_or_default();
    let series = trials.first().map(|trial| trial.join("series.jsonl"));
    let file = series.and_then(|path| std::fs::metadata(path).ok());
    file.is_some_and(|file| file.len() > 0)
}

#[test]
fn results_that_find_no_room_are_told_while_the_load_runs() {
    let Some(disk) = SmallDisk::new("8m") else {
        return;
    };
    let dyno = bench(disk.path()).args("--time 10s").start();
    wait_until("the first second", || has_seconds(disk.path()));
    disk.fill_except(0);
    let done = dyno.wait();
    let done = done.fails(4, &["warning: cannot write", "No space left", "--out"]);
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
        [load]\nworkload = \"oltp_read_write\"\nwarmup = \"0s\"\ntime = \"10s\"\n";
    let program = || Program::study_to(study, &out);
    let mut dyno = program().start();
    wait_until("the first second", || has_seconds(&out));
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
    let done = Program::bench(&format!("sqlite:{file}"))
        .args("--tables 1 --rows 20000 --threads 1 --warmup 0s --events 10")
        .run();
    done.fails(3, &[&file, "full", "free space"]);
    let temporary = || {
        Program::bench("sqlite:")
            .args("--tables 1 --rows 20000 --threads 1 --warmup 0s --events 10")
            .env("DYNO_CACHE_DIR", disk.path().join("cache"))
            .run()
    };
    // No room for a cache at all.
    temporary().fails(3, &["No space left", "DYNO_CACHE_DIR"]);
    for path in common::entries(disk.path()) {
        let _ = std::fs::remove_file(path);
    }
    // Room for the cache, and not for the rows.
    temporary().fails(3, &["full", "free space"]);
}
