//! The page for readers is the table of metrics.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;

#[test]
fn docs_metrics_md_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = measure::metrics_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/metrics.md is out of date: UPDATE_DOCS=1 cargo test -p measure --test reference"
    );
}

/// The page names the columns that are no metrics too.
#[test]
fn the_page_names_every_column() {
    let page = measure::metrics_markdown();
    for name in measure::column::all_names() {
        let times = ["response_ms.", "service_ms.", "generator.delay_ms."];
        let statistic = times.iter().find_map(|times| name.strip_prefix(times));
        let shown = match statistic {
            Some(statistic) => format!("`.{statistic}`"),
            None => format!("`{name}`"),
        };
        assert!(page.contains(&shown), "{shown}");
    }
}
