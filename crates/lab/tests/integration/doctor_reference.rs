//! The page for readers is the tables of checks.

use std::fs;
use std::path::Path;

#[test]
fn docs_doctor_md_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let page = lab::doctor::doctor_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/doctor.md is out of date: UPDATE_DOCS=1 cargo test -p lab --test integration doctor_reference"
    );
}
