//! The page for readers is the table of metrics.

use std::fs;
use std::path::Path;

use measure::find_max::{SearchEnd, StepVerdict};
use measure::instance::ResetHow;
use measure::metric::{Group, METRICS};
use measure::setup::Outcome;
use measure::threshold::ThresholdVerdict;
use measure::warning::Warning;
use serde::de::DeserializeOwned;

const REFERENCE_INTRO: &str = include_str!("../../src/reference_intro.md");

fn page(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::read_to_string(docs.join(name)).unwrap()
}

/// The words of an enum in JSON, as serde lists them when it meets another one.
fn words<T: DeserializeOwned + std::fmt::Debug>(json: &str) -> Vec<String> {
    let error = serde_json::from_str::<T>(json).unwrap_err().to_string();
    let (_, listed) = error.split_once("expected ").unwrap();
    let words: Vec<_> = listed.split('`').skip(1).step_by(2).collect();
    assert!(words.len() > 1, "{error}");
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn docs_results_md_names_every_word_of_a_result() {
    let page = page("results.md");
    let all = [
        words::<Warning>(r#"{"kind": "?"}"#),
        words::<Outcome>(r#"{"how": "?"}"#),
        words::<SearchEnd>(r#"{"how": "?"}"#),
        words::<StepVerdict>(r#""?""#),
        words::<ResetHow>(r#""?""#),
        words::<ThresholdVerdict>(r#"{"is": "?"}"#),
    ];
    let missing: Vec<_> = all
        .iter()
        .flatten()
        .filter(|word| !page.contains(&format!("`{word}`")))
        .collect();
    assert!(missing.is_empty(), "not in docs/results.md: {missing:?}");
}

#[test]
fn docs_counters_md_has_a_source_for_every_metric_that_a_server_counts() {
    let page = page("counters.md");
    let names = measure::column::all_names();
    let counted = names
        .iter()
        .filter(|name| name.starts_with("server.") && name.matches('.').count() == 2);
    let missing: Vec<_> = counted
        .filter(|name| !page.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "not in docs/counters.md: {missing:?}");
}

/// The reference page of the metrics, generated from their table.
fn metrics_markdown() -> String {
    let mut page = REFERENCE_INTRO.to_owned();
    for group in Group::ALL {
        page += &format!("\n## {group}\n\n| metric | unit | meaning |\n|---|---|---|\n");
        for metric in METRICS.iter().filter(|metric| metric.group == group) {
            let names = metric.patterns().join("`, `");
            let unit = if metric.unit.is_empty() {
                "–"
            } else {
                metric.unit
            };
            page += &format!("| `{names}` | {unit} | {} |\n", metric.meaning);
        }
    }
    page
}

#[test]
fn docs_metrics_md_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = metrics_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/metrics.md is out of date: UPDATE_DOCS=1 cargo test -p measure --test integration reference"
    );
}

/// The page names the columns that are no metrics too.
#[test]
fn the_page_names_every_column() {
    let page = metrics_markdown();
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
