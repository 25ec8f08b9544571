//! The page for readers is the table of keys.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::fs;
use std::path::Path;

#[test]
fn docs_study_md_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study.md");
    let page = study::reference_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/study.md is out of date: UPDATE_DOCS=1 cargo test -p study --test reference"
    );
}

/// The examples on the page are studies.
#[test]
fn the_first_example_is_a_study() {
    let page = study::reference_markdown();
    let example = page.split("```").nth(1).unwrap().trim_start_matches("toml");
    let plan = study::Study::parse("docs/study.md", example)
        .unwrap()
        .plan()
        .unwrap();
    assert_eq!(plan.trials.len(), 4);
}
