//! The tests without a database, beside those of sysbench.

use std::process::Command;

use crate::{number, shape, sysbench};

const TESTS: [&str; 4] = [
    "cpu --cpu-max-prime=1000 --threads=2",
    "memory --memory-total-size=10M --threads=2",
    "threads --thread-yields=10 --threads=2",
    "mutex --mutex-num=16 --mutex-locks=100 --mutex-loops=100 --threads=2",
];

/// What sysbench itself prints.
fn original(words: &str, dir: &std::path::Path) -> String {
    let mut sysbench = Command::new("sysbench");
    let output = sysbench
        .args(words.split_whitespace())
        .current_dir(dir)
        .output();
    let output = output.expect("sysbench is installed: scripts/install-servers.sh sysbench");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn reports_have_the_lines_of_sysbench() {
    for test in TESTS {
        let words = format!("{test} --time=1 run");
        let done = sysbench(&words).succeeds();
        assert!(
            number(&done.stdout, "total number of events:") > 0.0,
            "{done}"
        );
        let from = "Running the test with following options:";
        let original = original(&words, done.dir());
        assert_eq!(
            shape(&done.stdout, from),
            shape(&original, from),
            "{done}\n{original}"
        );
    }
}

#[test]
fn files_are_prepared_used_and_removed() {
    let sizes = "--file-num=2 --file-total-size=1M";
    let words = format!("fileio {sizes} --file-test-mode=rndrw --file-fsync-freq=10 --time=1");
    let dir = tempfile::tempdir().unwrap();
    let here = |command: &str| {
        let mut dyno = Command::new(env!("CARGO_BIN_EXE_dyno"));
        dyno.arg("sysbench")
            .args(words.split_whitespace())
            .arg(command);
        let output = dyno.current_dir(dir.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        text
    };
    let prepared = here("prepare");
    assert!(prepared.contains("1048576 bytes written in "), "{prepared}");
    let report = here("run");
    let original = original(&format!("{words} run"), dir.path());
    let from = "Running the test with following options:";
    assert_eq!(
        shape(&report, from),
        shape(&original, from),
        "{report}\n{original}"
    );
    here("cleanup");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
