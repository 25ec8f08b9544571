//! What is written is read back, also after a crash.

use plan::StatementClass;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use measure::result::{Environment, RunResult};
use measure::setup::{Setup, StatementKind};
use measure::slice::{Phase, Second, Slice};
use measure::summarize::summarize;
use measure::summary::SCHEMA_VERSION;
use measure::summary::TrialSummary;
use tempfile::TempDir;

use store::{ResultDir, StoreError, names};

fn kinds() -> Vec<StatementKind> {
    vec![StatementKind {
        name: "point_select".into(),
        class: StatementClass::Read,
    }]
}

fn seconds() -> Vec<Second> {
    (0..12).map(second).collect()
}

fn second(number: u64) -> Second {
    let mut slice = Slice::new(1);
    for i in 0..50 {
        slice.response.record(1_000_003 * (i + 1));
        slice.statements[0].record(999_983 + i);
    }
    Second {
        start_ns: number * 1_000_000_000,
        end_ns: (number + 1) * 1_000_000_000,
        phase: Phase::Measure,
        slice,
        backlog: None,
        workers: Vec::new(),
    }
}

/// The only trial of a study with these keys.
fn planned(keys: &str) -> plan::Trial {
    let text = format!("title = 't'\nserver.url = 'any://server'\n{keys}");
    let study = study::Study::parse("test", &text, &[]).unwrap();
    study.plan().trials.remove(0)
}

fn input() -> TrialSummary {
    TrialSummary::new(Setup {
        engine: "SQLite 3".into(),
        server: "sqlite:test.db".into(),
        workers: 1,
        ..Setup::new(&planned(
            "[data]\nrows = 100\nseed = 7\n[load]\nworkload = 'oltp_point_select'\nwarmup = '1s'\ntime = '12s'",
        ))
    })
}

/// A result directory with one trial, in a folder of its own.
fn stored() -> (TempDir, PathBuf, RunResult) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("scale-up");
    let dir = ResultDir::create(Some(&out), "Test", "", &Environment::default()).unwrap();
    let mut trial = dir.trial(1, "threads=1").unwrap();
    for second in seconds() {
        trial.second(&second, &kinds()).unwrap();
    }
    let summary = summarize(input(), &kinds(), &seconds());
    trial.finish(&summary).unwrap();
    let result = RunResult {
        schema_version: SCHEMA_VERSION,
        title: "Test".into(),
        question: None,
        description: None,
        design: measure::result::Design::default(),
        environment: measure::result::Environment::default(),
        findings: Vec::new(),
        trials: vec![summary],
        searches: Vec::new(),
        thresholds: Vec::new(),
    };
    dir.write_result(&result).unwrap();
    dir.write_report(names::REPORT, |out| out.write_all(b"<!doctype html>"))
        .unwrap();
    (folder, out, result)
}

#[test]
fn what_is_written_is_read_back() {
    let (_folder, out, result) = stored();
    assert_eq!(store::read_result(&out).unwrap(), result);
    let trials = store::trial_dirs(&out).unwrap();
    assert_eq!(trials, [out.join("trials/001-threads=1")]);
    let series = store::read_series(&trials[0], usize::MAX).unwrap();
    assert_eq!(series.len(), 12);
    assert_eq!(series[3].tps, Some(50.0));
    let intervals = fs::read_to_string(trials[0].join(names::INTERVALS)).unwrap();
    assert_eq!(intervals.lines().count(), 12);
    for (line, Second { slice, .. }) in intervals.lines().zip(seconds()) {
        let interval: serde_json::Value = serde_json::from_str(line).unwrap();
        for (histogram, latency) in [
            (&interval["response"], &slice.response),
            (
                &interval["statements"]["point_select"],
                &slice.statements[0],
            ),
        ] {
            assert_eq!(histogram["count"], 50);
            assert_eq!(histogram["hdr"], STANDARD.encode(latency.encode()));
        }
        assert!(interval["service"].is_null());
    }
}

#[test]
fn a_last_line_cut_short_is_left_out_and_a_damaged_one_is_named() {
    let (_folder, out, _) = stored();
    let trial = out.join("trials/001-threads=1");
    let series = trial.join(names::SERIES);
    let mut file = OpenOptions::new().append(true).open(&series).unwrap();
    file.write_all(b"{\"t_s\":12.0,\"seco").unwrap();
    assert_eq!(store::read_series(&trial, usize::MAX).unwrap().len(), 12);
    file.write_all(b"\n").unwrap();
    let error = store::read_series(&trial, usize::MAX).unwrap_err();
    assert!(error.to_string().contains("series.jsonl:13"), "{error}");
}

#[test]
fn a_damaged_or_missing_result_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = store::read_result(folder.path()).unwrap_err();
    assert!(error.is_missing(), "{error}");
    fs::write(folder.path().join(names::RESULT), "{\n oops").unwrap();
    let error = store::read_result(folder.path()).unwrap_err();
    assert!(error.to_string().contains("result.json:2"), "{error}");
}

#[test]
fn an_unreadable_directory_is_named() {
    let (_folder, out, _) = stored();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read it all the same.
    if let Err(error) = store::read_result(&out) {
        let text = error.to_string();
        assert!(text.contains("Run as a user with permission"), "{text}");
        assert!(text.contains("result.json"), "{text}");
    }
    fs::set_permissions(&out, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_resumed_result_keeps_whole_trials_and_drops_the_others() {
    let (_folder, out, result) = stored();
    let environment = measure::result::Environment::default();
    std::fs::create_dir(out.join("trials/002-cut-off")).unwrap();
    for name in ["series.jsonl", "faults.jsonl", "ledger-12.jsonl"] {
        std::fs::write(out.join("trials/002-cut-off").join(name), "{").unwrap();
    }
    let (dir, whole) = ResultDir::resume(&out).unwrap();
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0], result.trials[0]);
    assert!(!out.join("trials/002-cut-off").exists());
    assert_eq!(store::read_study(&out).unwrap(), "");
    let twice = ResultDir::resume(&out).unwrap_err();
    assert!(twice.to_string().contains("another dyno"), "{twice}");
    drop(dir);
    ResultDir::resume(&out).unwrap();
    let error = ResultDir::create(Some(&out), "Test", "", &environment).unwrap_err();
    assert!(matches!(error, store::StoreError::Exists { .. }), "{error}");
}

#[test]
fn servers_and_monitors_have_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let environment = measure::result::Environment::default();
    let out = folder.path().join("out");
    let dir = ResultDir::create(Some(&out), "Test", "", &environment).unwrap();
    let mut trial = dir.trial(1, "instances=2").unwrap();
    let point = measure::metric::MonitorPoint {
        t_s: 1.0,
        seconds: 1.0,
        values: [("cpu.user".to_owned(), 12.5)].into(),
    };
    trial.monitored(&point).unwrap();
    for second in seconds() {
        trial.instance_second(2, &second, &kinds()).unwrap();
    }
    assert_eq!(
        store::read_monitors(trial.path(), usize::MAX).unwrap(),
        [point]
    );
    assert_eq!(store::read_trial(trial.path()).unwrap(), None);
    let series = store::read_series(&trial.path().join("servers/2"), usize::MAX).unwrap();
    assert_eq!(series.len(), seconds().len());
    assert_eq!(store::read_monitors(&out, usize::MAX).unwrap(), []);
}

/// Changes one field of a JSON file.
fn edit(path: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let mut json = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut json);
    fs::write(path, json.to_string()).unwrap();
}

#[test]
fn one_broken_trial_does_not_hide_the_others() {
    let (_folder, out, result) = stored();
    for (name, text) in [
        ("002-threads=2", "{\n\"schema_version\": 2, oops"),
        ("004-x", ""),
    ] {
        fs::create_dir(out.join("trials").join(name)).unwrap();
        fs::write(out.join("trials").join(name).join(names::TRIAL), text).unwrap();
    }
    // Cut off: not whole, and not damaged either.
    fs::create_dir(out.join("trials/003-threads=3")).unwrap();
    let kept = store::read_intact(&out).unwrap();
    assert_eq!(kept.result, result);
    let damaged: Vec<String> = kept.damaged.iter().map(ToString::to_string).collect();
    assert_eq!(damaged.len(), 2, "{damaged:?}");
    let place = "002-threads=2/trial.json:2";
    assert!(damaged[0].contains(place), "{damaged:?}");
    assert!(damaged[1].contains("004-x/trial.json"), "{damaged:?}");
}

#[test]
fn a_broken_result_leaves_its_trials() {
    let (_folder, out, result) = stored();
    fs::write(out.join(names::RESULT), "no JSON").unwrap();
    let kept = store::read_intact(&out).unwrap();
    assert_eq!(kept.result.trials, result.trials);
    assert_eq!(kept.result.title, "scale-up");
    assert!(kept.damaged[0].to_string().contains("result.json:1"));
}

#[test]
fn another_schema_version_is_refused() {
    let (_folder, out, _) = stored();
    let trial = out.join("trials/001-threads=1").join(names::TRIAL);
    for other in [3, 99] {
        edit(&trial, |json| json["schema_version"] = other.into());
        let kept = store::read_intact(&out).unwrap();
        assert!(kept.result.trials.is_empty());
        assert!(
            matches!(kept.damaged[..], [StoreError::Version { version, known, .. }]
                if version == other && known == SCHEMA_VERSION),
            "{:?}",
            kept.damaged
        );
    }
    // What else another version holds need not be known to refuse it.
    let other = "{\"schema_version\": 99, \"new\": []}";
    fs::write(out.join(names::RESULT), other).unwrap();
    let error = store::read_intact(&out).unwrap_err();
    let is_other = matches!(error, StoreError::Version { version: 99, .. });
    assert!(is_other, "{error}");
}

#[test]
fn what_is_no_result_directory_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    fs::write(&file, "notes").unwrap();
    for path in [file.as_path(), folder.path(), Path::new("/nonexistent")] {
        let error = store::read_intact(path).unwrap_err();
        assert!(error.is_missing(), "{error}");
        let said = "Name a result directory";
        assert!(error.to_string().contains(said), "{error}");
    }
}
