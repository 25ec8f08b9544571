//! Interrupted studies that are resumed under other conditions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Program;
use serde_json::Value;
use tempfile::TempDir;

const STUDY: &str = "title = \"cut off\"\n[server]\nengine = \"sqlite\"\n[data]\nrows = 100\n\
    [load]\nworkload = \"oltp_point_select\"\nwarmup = \"0s\"\ntime = \"300ms\"\n\
    [sweep]\n\"load.threads\" = [1, 2]\n";

/// A result of which the second trial is missing.
struct Cut(TempDir);

impl Cut {
    fn new() -> Self {
        let cut = Self(tempfile::tempdir().unwrap());
        Program::study_to(STUDY, &cut.out()).succeeds();
        fs::remove_dir_all(cut.trial(2)).unwrap();
        cut
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    fn trial(&self, number: u32) -> PathBuf {
        let dirs = store::trial_dirs(&self.out()).unwrap().into_iter();
        let mut of_number = dirs.filter(|dir| store::trial_number(dir) == Some(number));
        of_number.next().unwrap()
    }

    fn resumed(&self) -> Program {
        Program::study_to(STUDY, &self.out()).args("--resume")
    }

    /// Puts another value where `pointer` leads in `result.json`.
    fn was(&self, pointer: &str, value: &str) -> &Self {
        put(&self.out().join("result.json"), pointer, value);
        self
    }
}

fn put(path: &Path, pointer: &str, value: impl Into<Value>) {
    let mut json: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    *json.pointer_mut(pointer).unwrap() = value.into();
    fs::write(path, json.to_string()).unwrap();
}

#[test]
fn another_host_disk_or_server_is_refused_by_its_name() {
    let refused = |cut: &Cut, difference: &str| {
        let texts = ["cannot resume the run here", difference, "--out"];
        cut.resumed().fails(2, &texts);
        assert!(cut.trial(1).join("trial.json").exists());
    };
    let (host, disk, engine) = (Cut::new(), Cut::new(), Cut::new());
    host.was("/environment/hostname", "there");
    refused(&host, "host name: there at the start, ");
    disk.was("/environment/places/0/file_system", "oldfs");
    refused(&disk, ": file system: oldfs at the start, ");
    let kept = engine.trial(1).join("trial.json");
    put(&kept, "/setup/engine", "SQLite 3.0.1");
    refused(&engine, "server: SQLite 3.0.1 at the start, SQLite ");
}

/// Another version may order the trials otherwise; a trial of another point would be taken for
/// the one of its number.
#[test]
fn another_order_is_refused() {
    let cut = Cut::new();
    let kept = cut.trial(1).join("trial.json");
    put(&kept, "/setup/planned/point/load.threads", 2);
    put(&kept, "/setup/planned/label", "threads=2");
    let texts = [
        "trial 1",
        "threads=2",
        "threads=1",
        "order of trials",
        "--out",
    ];
    cut.resumed().fails(2, &texts);
}

#[test]
fn another_kernel_or_dyno_is_told_in_the_report() {
    let cut = Cut::new();
    cut.was("/environment/kernel", "Linux 1.0 there");
    cut.was("/environment/dyno_version", "0.0.1");
    let done = cut.resumed().succeeds();
    let result = store::read_result(&cut.out()).unwrap();
    assert_eq!(result.trials.len(), 2);
    let report = fs::read_to_string(cut.out().join("report.md")).unwrap();
    for observed in [
        "kernel: Linux 1.0 there at the start",
        "dyno: 0.0.1 at the start",
    ] {
        let mut findings = result.findings.iter();
        assert!(findings.any(|finding| finding.observed.starts_with(observed)));
        done.tells(&[observed]);
        assert!(report.contains(observed), "{report}");
    }
}

#[test]
fn where_nothing_was_kept_the_study_is_of_this_host() {
    let cut = Cut::new();
    fs::remove_dir_all(cut.trial(1)).unwrap();
    cut.was("/environment/hostname", "there");
    cut.resumed().succeeds();
    let result = store::read_result(&cut.out()).unwrap();
    assert_eq!(result.trials.len(), 2);
    assert_ne!(result.environment.hostname.as_deref(), Some("there"));
}
