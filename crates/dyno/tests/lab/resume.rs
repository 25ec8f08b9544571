//! Interrupted studies that are resumed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::common::{
    self, Cache, Finished, Program, Running, Table, entries, files_below, has_second, kill_server,
    tables,
};
use measure::setup::Outcome;
use rustix::process::Signal;

const STUDY: &str = "title = \"cut off\"\n[server]\nengine = \"mariadb\"\n[data]\nrows = 100\n\
    [load]\nworkload = \"oltp_point_select\"\nthink = \"50ms\"\nwarmup = \"0s\"\ntime = \"1500ms\"\n\
    [sweep]\n\"load.threads\" = [1, 2, 3]\n\
    [report]\ntables = [{ rows = \"load.threads\", columns = [\"tps\", \"cpu.user\"] }]\n";

/// A dyno that runs a study with its result in `out`.
fn study(text: &str, out: &Path, cache: &Cache) -> Program {
    Program::study_to(text, out).cache(cache)
}

fn resumed(text: &str, out: &Path, cache: &Cache) -> Program {
    study(text, out, cache).args("--resume")
}

/// Runs a study until its second trial measures, and cuts that off.
#[track_caller]
fn cut_off(text: &str, out: &Path, cache: &Cache, cut: impl Fn(&Running)) -> Finished {
    common::cut_off(out, 2, || study(text, out, cache).start(), cut)
}

/// All files below a directory: when each was written, and what is in it.
fn files(dir: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let files = files_below(dir).into_iter().map(|path| {
        let written = std::fs::metadata(&path).unwrap().modified().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        (path, (written, bytes))
    });
    files.collect()
}

/// The titles of a page, and of each table its heads and the names of its rows.
type Shape = (Vec<String>, Vec<(Vec<String>, Vec<String>)>);

/// What a report looks like whatever its numbers are: headings, and the heads and
/// first cells of tables that have a row for each trial.
fn shape(out: &Path) -> Shape {
    let page = std::fs::read_to_string(out.join("report.md")).unwrap();
    let headings = page.lines().filter(|line| line.starts_with("## "));
    // What is warned of depends on the numbers.
    let headings = headings.filter(|line| !line.contains("believe"));
    let first = |table: &Table| table.rows.iter().map(|row| row[0].clone()).collect();
    let tables = tables(&page).into_iter();
    let of_trials = tables.filter(|table| ["threads", "trial"].contains(&table.heads[0].as_str()));
    (
        headings.map(str::to_owned).collect(),
        of_trials
            .map(|table| (table.heads.clone(), first(&table)))
            .collect(),
    )
}

#[track_caller]
fn assert_whole(out: &Path) {
    let result = store::read_result(out).unwrap();
    let planned = result.trials.iter().map(|trial| &trial.setup.planned);
    let trials: Vec<_> = planned.map(|trial| (trial.number, &*trial.label)).collect();
    let expected = [(1, "threads=1"), (2, "threads=2"), (3, "threads=3")];
    assert_eq!(trials, expected);
    for (trial, dir) in result.trials.iter().zip(store::trial_dirs(out).unwrap()) {
        assert_eq!(trial.outcome, Outcome::Completed);
        assert!(trial.transactions.count > 0);
        assert_eq!(store::read_trial(&dir).unwrap().as_ref(), Some(trial));
    }
}

#[test]
fn a_killed_study_goes_on_with_the_trial_it_was_in() {
    std::thread::scope(|scope| {
        scope.spawn(|| goes_on_after_a_kill(STUDY));
        goes_on_after_a_kill(&STUDY.replace("mariadb", "postgres"));
    });
}

fn goes_on_after_a_kill(text: &str) {
    let (cache, place) = (Cache::kept(), tempfile::tempdir().unwrap());
    let whole = place.path().join("whole");
    study(text, &whole, &cache).succeeds();
    let cut = place.path().join("cut");
    let killed = cut_off(text, &cut, &cache, |dyno| dyno.signal(Signal::KILL));
    assert_eq!(killed.code(), None);
    let first = store::trial_dirs(&cut).unwrap()[0].clone();
    let before = files(&first);
    assert!(before.keys().any(|path| path.ends_with("trial.json")));
    let done = resumed(text, &cut, &cache).succeeds();
    done.tells(&["2 of 3 trials remain, 1 are complete"]);
    assert_eq!(files(&first), before);
    for out in [&whole, &cut] {
        assert_whole(out);
    }
    assert_eq!(shape(&cut), shape(&whole));
    cache.assert_nothing_left();
    // There is nothing more to do, and nothing is lost by asking.
    let again = resumed(text, &cut, &cache).succeeds();
    again.tells(&["0 of 3 trials remain"]);
    assert_eq!(files(&first), before);
    assert_whole(&cut);
}

#[test]
fn ctrl_c_keeps_whole_trials_and_the_rest_can_be_run_later() {
    let (cache, place) = (Cache::kept(), tempfile::tempdir().unwrap());
    let out = place.path().join("out");
    let stopped = cut_off(STUDY, &out, &cache, |dyno| dyno.signal(Signal::INT));
    stopped.fails(4, &["stopped", "are kept"]);
    cache.assert_nothing_left();
    let kept = store::read_result(&out).unwrap().trials;
    assert_eq!(kept[0].outcome, Outcome::Completed);
    assert_eq!(kept[1].outcome, Outcome::Interrupted);
    assert!(out.join("report.html").exists());
    let first = store::trial_dirs(&out).unwrap()[0].clone();
    let before = files(&first);
    resumed(STUDY, &out, &cache).succeeds();
    assert_whole(&out);
    assert_eq!(files(&first), before);
    cache.assert_nothing_left();
}

#[test]
fn a_trial_that_was_stopped_in_its_warm_up_is_run_again() {
    let (cache, place) = (Cache::kept(), tempfile::tempdir().unwrap());
    let out = place.path().join("out");
    let text = STUDY
        .replace(
            "\"load.threads\" = [1, 2, 3]",
            "\"load.warmup\" = [\"0s\", \"6s\"]",
        )
        .replace("rows = \"load.threads\"", "rows = \"load.warmup\"");
    let mut dyno = study(&text, &out, &cache).start();
    dyno.comes_to("a second of trial 2", || has_second(&out, 2, "warmup"));
    dyno.signal(Signal::INT);
    dyno.wait().fails(4, &["stopped", "during the warm-up"]);
    let numbers = |out| {
        let trials = store::read_result(out).unwrap().trials.into_iter();
        trials
            .map(|trial| trial.setup.planned.number)
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&out), [1]);
    resumed(&text, &out, &cache).succeeds();
    assert_eq!(numbers(&out), [1, 2]);
}

/// A trial that failed is tried again, and stands in its place.
#[test]
fn a_failed_trial_is_run_again() {
    let (cache, place) = (Cache::kept(), tempfile::tempdir().unwrap());
    let out = place.path().join("out");
    let done = cut_off(STUDY, &out, &cache, |_| kill_server(&cache, 1));
    done.fails(3, &["was killed by signal 9"]);
    let outcomes = store::read_result(&out).unwrap().trials;
    assert!(
        matches!(outcomes[1].outcome, Outcome::Failed { .. }),
        "{outcomes:?}"
    );
    assert_eq!(outcomes.len(), 3);
    resumed(STUDY, &out, &cache).succeeds();
    assert_whole(&out);
}

#[test]
fn what_cannot_be_gone_on_with() {
    let (cache, place) = (Cache::kept(), tempfile::tempdir().unwrap());
    let out = place.path().join("out");
    // No result, neither there nor in the place where results go.
    resumed(STUDY, &out, &cache).fails(2, &["out", "Name a result directory"]);
    assert!(!out.exists());
    let in_place = Program::new()
        .with_study(STUDY)
        .args("run study.toml --resume");
    in_place
        .cache(&cache)
        .fails(2, &["no result of this study", "--out"]);
    // One that is in use.
    let dyno = study(STUDY, &out, &cache)
        .args("--set load.time=1h")
        .start();
    common::wait_until("its result", || store::read_result(&out).is_ok());
    let long = resumed(STUDY, &out, &cache)
        .args("--set load.time=1h")
        .run();
    long.fails(2, &["another dyno is writing to", "Wait until it ends"]);
    common::wait_until("the first second", || has_second(&out, 1, "measure"));
    dyno.signal(Signal::KILL);
    dyno.wait();
    // Another study, and the same with another override.
    let other = STUDY.replace("oltp_point_select", "oltp_read_only");
    let kept = out.join("study.toml").display().to_string();
    for program in [resumed(&other, &out, &cache), resumed(STUDY, &out, &cache)] {
        program.fails(2, &["another study", &kept]);
    }
    // A directory that dyno never wrote to.
    let strange = place.path().join("strange");
    std::fs::create_dir(&strange).unwrap();
    std::fs::write(strange.join("mine"), "mine").unwrap();
    resumed(STUDY, &strange, &cache).fails(2, &["Name a result directory"]);
    assert_eq!(entries(&strange), [strange.join("mine")]);
}
