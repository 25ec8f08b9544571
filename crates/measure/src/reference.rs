//! The reference page of the metrics, generated from their table.

use crate::metric::{Group, METRICS};

const INTRO: &str = include_str!("reference_intro.md");

pub fn metrics_markdown() -> String {
    let mut page = INTRO.to_owned();
    for group in Group::ALL {
        page += &format!("\n## {}\n\n", group.title());
        page += "| metric | unit | meaning |\n|---|---|---|\n";
        for metric in METRICS.iter().filter(|metric| metric.group == group) {
            let names = metric.patterns().join("`, `");
            let unit = match metric.unit {
                "" => "–",
                unit => unit,
            };
            page += &format!("| `{names}` | {unit} | {} |\n", metric.meaning);
        }
    }
    page
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
