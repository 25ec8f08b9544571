//! A test that cannot run is recorded, listed, and in CI refused unless it is expected.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RECORD: &str = "DYNO_TEST_SKIPS";
const INNER: &str = "SKIPS_TEST_INNER";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Skipped by the next test, which runs it in a process of its own.
#[test]
fn a_test_that_cannot_run() {
    if std::env::var_os(INNER).is_some() {
        testkit::skip("no\nreason");
    }
}

fn skipped_tests(record: &Path, list: &Path, options: &[&str]) -> Output {
    Command::new(root().join("scripts/skipped-tests.sh"))
        .args(options)
        .arg(record)
        .env("DYNO_ALLOWED_SKIPS", list)
        .output()
        .unwrap()
}

#[test]
fn a_skipped_test_is_listed_and_refused_in_ci_unless_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let (record, list) = (dir.path().join("record"), dir.path().join("allowed"));
    let this = Command::new(std::env::current_exe().unwrap())
        .arg("a_test_that_cannot_run")
        .env(INNER, "1")
        .env(RECORD, &record)
        .output()
        .unwrap();
    assert!(this.status.success(), "{this:?}");
    let line = "integration::skips::a_test_that_cannot_run: no reason\n";
    assert_eq!(fs::read_to_string(&record).unwrap(), line);

    let said = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
    fs::write(&list, "integration::skips::a_test # not this one\n").unwrap();
    let done = skipped_tests(&record, &list, &[]);
    assert!(
        done.status.success() && said(&done).contains(line),
        "{done:?}"
    );
    let refused = skipped_tests(&record, &list, &["--ci"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("skips::a_test_that_cannot_run"), "{error}");

    fs::write(
        &list,
        "integration::skips::a_test_that_cannot_run  # never can\n",
    )
    .unwrap();
    let done = skipped_tests(&record, &list, &["--ci"]);
    assert!(
        done.status.success() && said(&done).contains("(allowed)"),
        "{done:?}"
    );
    fs::write(&record, "").unwrap();
    let done = skipped_tests(&record, &list, &["--ci"]);
    assert!(
        done.status.success() && said(&done).contains("tests: 0"),
        "{done:?}"
    );
}

/// The sources of the workspace and of its tests.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("node_modules") {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn tests_are_skipped_in_one_way_and_the_list_names_tests() {
    let mut found = Vec::new();
    sources(&root().join("crates"), &mut found);
    let texts = found.iter().map(|path| fs::read_to_string(path).unwrap());
    let texts: Vec<String> = texts.collect();
    let own = ["skip.rs", "skips.rs"].map(std::ffi::OsStr::new);
    for (path, text) in found.iter().zip(&texts) {
        let is_own = own.contains(&path.file_name().unwrap());
        let prints = !is_own && text.contains("\"skipped: ");
        assert!(!prints, "{}: call testkit::skip", path.display());
    }
    let list = fs::read_to_string(root().join(".ci/allowed-skips")).unwrap();
    for line in list.lines() {
        let name = line.split('#').next().unwrap().trim();
        if let Some(test) = name.rsplit("::").next().filter(|test| !test.is_empty()) {
            let function = format!("fn {test}() {{");
            let is_there = texts.iter().any(|text| text.contains(&function));
            assert!(is_there, "no test {name}");
        }
    }
}
