//! The reference page, written from the table of keys.

use plan::key::{KEYS, Key, SECTIONS};

const INTRO: &str = include_str!("reference_intro.md");
const OUTRO: &str = include_str!("reference_outro.md");

/// The page that explains every key of a study file, in Markdown.
pub fn reference_markdown() -> String {
    let mut page = INTRO.to_owned();
    page.push_str("\n## At the top\n\n");
    page.push_str(&table(""));
    for (section, doc) in SECTIONS {
        page.push_str(&format!(
            "\n## `[{section}]`\n\n{doc}\n\n{}",
            table(section)
        ));
    }
    page.push('\n');
    page.push_str(OUTRO);
    page
}

fn table(section: &str) -> String {
    let mut text = String::from("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for key in KEYS.iter().filter(|k| k.section() == section) {
        text.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            key.last(),
            key.range(),
            default(key),
            key.doc
        ));
    }
    text
}

fn default(key: &Key) -> String {
    match key.default {
        Some(text) => format!("`{text}`"),
        None if key.required => "required".into(),
        None => "–".into(),
    }
}
