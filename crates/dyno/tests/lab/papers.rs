//! The short form of the page of the papers: runs, export, verdicts, and page, for one paper.

use std::fs;
use std::process::Command;

use crate::common::Cache;
use crate::common::markdown::root;
use crate::platforms::can_limit;

const PAPER: &str = "P2";
const VERDICTS: [&str; 5] = [
    "**inside**",
    "**outside**",
    "**equivalent**",
    "undecided",
    "not testable",
];

#[test]
fn the_claims_of_a_paper_get_verdicts() {
    let cache = Cache::new();
    if !can_limit(&cache) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = root().join("scripts/papers.py");
    let mut command = Command::new("python3");
    let command = command
        .arg("-B")
        .arg(script)
        .arg(dir.path())
        .args(["--short", PAPER]);
    let done = command
        .env("DYNO", env!("CARGO_BIN_EXE_dyno"))
        .env("DYNO_CACHE_DIR", cache.path())
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let page = fs::read_to_string(dir.path().join("papers.md")).unwrap();
    let (_, claims) = page.split_once("### Claims of P2\n\n").unwrap();
    let claims = claims.split("\n\n").next().unwrap().lines().skip(2);
    let rows: Vec<Vec<_>> = claims.map(|row| row.split(" | ").collect()).collect();
    assert!(rows.iter().any(|row| row[3] != "–"), "{rows:?}");
    for row in &rows {
        let is_short = row[4].contains("too few starts");
        assert!(!is_short || row[5].contains("left out"), "{row:?}");
    }
    let verdicts: Vec<_> = rows.iter().map(|row| row[4]).collect();
    let is_verdict = |cell: &&str| VERDICTS.iter().any(|verdict| cell.contains(verdict));
    assert!(
        verdicts.len() >= 5 && verdicts.iter().all(is_verdict),
        "{verdicts:?}"
    );
    // The export has a line for every trial, and the page counts them.
    let export = fs::read_to_string(dir.path().join("papers/p2-scale-up.csv")).unwrap();
    let trials = export
        .lines()
        .filter(|line| !line.starts_with("# "))
        .count()
        - 1;
    assert!(
        page.contains(&format!("\n{trials} of {trials} trials")),
        "{export}"
    );
}
