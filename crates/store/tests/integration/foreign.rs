//! Results that dyno did not write: every reader refuses what is too large, too deep or out
//! of range, and says so, before it takes up memory.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use measure::summary::SCHEMA_VERSION;
use store::{StoreError, names};

/// A directory with this `result.json`.
fn result(json: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(names::RESULT), json).unwrap();
    folder
}

fn refused(json: &str) -> String {
    let folder = result(json);
    store::read_result(folder.path()).unwrap_err().to_string()
}

fn with_design(design: &str) -> String {
    format!(
        r#"{{"schema_version":{SCHEMA_VERSION},"title":"x","environment":{{}},"findings":[],"trials":[],"searches":[],"thresholds":[],"design":{design}}}"#
    )
}

fn design(trials: &str) -> String {
    with_design(&format!(
        r#"{{"trials":{trials},"repeats":1,"axes":[],"order":"","tables":[]}}"#
    ))
}

#[test]
fn counts_out_of_range_are_refused() {
    let folder = result(&design("100000"));
    let read = store::read_result(folder.path()).unwrap();
    assert_eq!(read.design.trials, 100_000);
    let text = refused(&design("4000000000"));
    assert!(text.contains("a plan of 4000000000 trials"), "{text}");
    for trials in "-1 1e999 NaN 4294967296 1.5 null \"many\"".split(' ') {
        let text = refused(&design(trials));
        let said = "result.json:1: not a file that dyno wrote";
        assert!(text.contains(said), "{trials}: {text}");
    }
}

#[test]
fn deep_nesting_is_refused_or_skipped() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        let outcome = format!(
            r#"{{"schema_version":{SCHEMA_VERSION},"trials":[{{"outcome":{{"reason":{deep}}}}}]}}"#
        );
        let text = refused(&outcome);
        assert!(text.contains("recursion limit"), "{text}");
        // What no version of dyno knows is not looked into.
        let more = design("1").replacen('{', &format!(r#"{{"more":{deep},"#), 1);
        store::read_result(result(&more).path()).unwrap();
    }
}

#[test]
fn more_values_than_fit_in_memory_are_refused() {
    let names = vec!["\"\""; 9_000_000].join(",");
    let axes = format!(r#"{{"trials":1,"repeats":1,"axes":[{names}],"order":"","tables":[]}}"#);
    let text = refused(&with_design(&axes));
    assert!(text.contains("larger than 8000000 values"), "{text}");
}

/// Each file that is read as a whole, with four gigabytes of nothing; they are not read.
#[test]
fn files_of_gigabytes_are_refused_unread() {
    let folder = result(&design("1"));
    let out = folder.path();
    let trial = out.join("trials/001-x");
    fs::create_dir_all(&trial).unwrap();
    let huge = |path: PathBuf| File::create(path).unwrap().set_len(4 << 30).unwrap();
    huge(trial.join(names::TRIAL));
    huge(out.join(names::STUDY));
    let is_too_large = |error: StoreError| matches!(error, StoreError::TooLarge { .. });
    assert!(is_too_large(store::read_trial(&trial).unwrap_err()));
    assert!(is_too_large(store::read_study(out).unwrap_err()));
    let damaged = store::read_intact(out).unwrap().damaged;
    assert!(matches!(damaged.as_slice(), [StoreError::TooLarge { .. }]));
    fs::remove_file(trial.join(names::TRIAL)).unwrap();
    huge(out.join(names::RESULT));
    assert!(is_too_large(store::read_result(out).unwrap_err()));
    assert!(is_too_large(store::read_intact(out).unwrap_err()));
    // One line without end.
    for name in [names::SERIES, names::MONITORS] {
        huge(trial.join(name));
    }
    assert!(is_too_large(
        store::read_series(&trial, usize::MAX).unwrap_err()
    ));
    assert!(is_too_large(
        store::read_monitors(&trial, usize::MAX).unwrap_err()
    ));
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let trial = folder.path().join("trials/001-x");
    fs::create_dir_all(&trial).unwrap();
    let pipe = |path: PathBuf| {
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
    };
    pipe(folder.path().join(names::RESULT));
    pipe(trial.join(names::TRIAL));
    pipe(trial.join(names::SERIES));
    let not_regular = |text: String| assert!(text.contains("not a regular file"), "{text}");
    not_regular(store::read_result(folder.path()).unwrap_err().to_string());
    not_regular(store::read_trial(&trial).unwrap_err().to_string());
    not_regular(
        store::read_series(&trial, usize::MAX)
            .unwrap_err()
            .to_string(),
    );
}

fn write_series(trial: &Path, seconds: u32) {
    let mut file = BufWriter::new(File::create(trial.join(names::SERIES)).unwrap());
    for second in 0..seconds {
        let tps = 1000 + second % 2 * 100;
        writeln!(
            file,
            r#"{{"t_s":{second}.0,"seconds":1.0,"phase":"measure","tps":{tps}.0,"statements_per_s":1.0,"response_ms":null,"service_p99_ms":null,"errors":1,"restarts":0,"reconnects":0,"backlog":null,"lateness_p99_ms":null,"workers":[]}}"#
        )
        .unwrap();
    }
}

/// A series may be of any length; only as many points are kept as fit in memory.
#[test]
fn a_series_of_weeks_is_kept_at_a_lower_resolution() {
    const SECONDS: u32 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    write_series(folder.path(), SECONDS);
    let points = store::read_series(folder.path(), 1_000_000).unwrap();
    let count = points.len();
    assert!((49_990..=50_010).contains(&count), "{count}");
    let whole = |points: &[measure::series::SeriesPoint]| {
        let length_s: f64 = points.iter().map(|point| point.seconds).sum();
        let errors: u64 = points.iter().map(|point| point.errors).sum();
        let rates: f64 = points.iter().map(|p| p.tps.unwrap() * p.seconds).sum();
        assert_eq!((length_s, errors), (f64::from(SECONDS), u64::from(SECONDS)));
        assert!((rates / length_s - 1050.0).abs() < 1e-6);
    };
    whole(&points);
    let few = store::read_series(folder.path(), 2_000).unwrap();
    assert!((50..=125).contains(&few.len()), "{}", few.len());
    whole(&few);
}
