//! The reference page, generated from the tables of checks.

use super::families;
use measure::finding::check::{About, Remedy};

const INTRO: &str = include_str!("reference_intro.md");

/// All checks, in Markdown.
pub fn doctor_markdown() -> String {
    let mut page = INTRO.to_owned();
    for (title, checks) in families() {
        page += &format!("\n## {title}\n");
        for about in checks {
            page += &section(&about);
        }
    }
    page
}

fn section(about: &About) -> String {
    let remedy = match about.remedy {
        Remedy::Nothing => "none; for information".to_owned(),
        Remedy::Words(words) => format!("`{words}`"),
        Remedy::Live(name, value) => format!("`{name} = {value}`, without a restart"),
        Remedy::Restart(name, value) => format!("`{name} = {value}`, with a restart"),
    };
    format!(
        "\n### `{}`\n\n{}\n\n- Level: up to {}\n- Source: {}\n- Remedy: {remedy}\n",
        about.id, about.why, about.worst, about.source
    )
}
