//! The reference page, generated from the tables of checks.

use super::families;
use measure::finding::check::{About, Mend};

const INTRO: &str = include_str!("reference_intro.md");

/// The page that explains every check, as Markdown.
#[must_use]
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
    let mend = match about.mend {
        Mend::Nothing => "none; for information".to_owned(),
        Mend::Words(words) => format!("`{words}`"),
        Mend::Setting { name, value, live } => {
            let when = match live {
                true => "without a restart",
                false => "with a restart",
            };
            format!("`{name} = {value}`, {when}")
        }
    };
    format!(
        "\n### `{}`\n\n{}\n\n- Level: up to {}\n- Source: {}\n- Remedy: {mend}\n",
        about.id, about.why, about.worst, about.source
    )
}
