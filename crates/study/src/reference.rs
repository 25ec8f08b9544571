//! The reference page, written from the table of keys.

use crate::read::range_words;
use plan::format_duration;
use plan::key::{KEYS, Key, Kind, SECTIONS};

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
            takes(key),
            default(key),
            key.doc
        ));
    }
    text
}

fn takes(key: &Key) -> String {
    let what = key.takes();
    match &key.kind {
        Kind::Text { max_chars } => format!("{what}, at most {max_chars} characters"),
        Kind::Choice(words) => words
            .iter()
            .map(|w| format!("`\"{w}\"`"))
            .collect::<Vec<_>>()
            .join(" or "),
        Kind::Name { max_chars } => format!("{what} on one line, at most {max_chars} characters"),
        Kind::Url => "an address".into(),
        Kind::Path => "an absolute path".into(),
        Kind::Version => "a version".into(),
        Kind::Boolean | Kind::Settings | Kind::Tables => what.into(),
        Kind::Integer { min, max } => format!("{what}, {}", range_words(*min, *max)),
        Kind::Number { min, max } => format!("{what}, from {min} to {max}"),
        Kind::Percent { min, max } => format!("{what}, from {min}% to {max}%"),
        Kind::Duration { min, max } => {
            format!(
                "{what}, from {} to {}",
                format_duration(*min),
                format_duration(*max)
            )
        }
    }
}

fn default(key: &Key) -> String {
    match key.default {
        Some(text) => format!("`{text}`"),
        None if key.required => "required".into(),
        None => "–".into(),
    }
}
