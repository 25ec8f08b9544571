//! The reference page, generated from the table of keys.

use plan::key::{KEYS, Key, Kind, SECTIONS};
use plan::{EngineTraits, alternatives};

const INTRO: &str = include_str!("reference_intro.md");
const OUTRO: &str = include_str!("reference_outro.md");

/// The page that explains every key of a study file, in Markdown.
pub fn reference_markdown(engines: &[EngineTraits]) -> String {
    let mut page = INTRO.to_owned();
    page.push_str("\n## At the top\n\n");
    page.push_str(&table("", engines));
    for (section, doc) in SECTIONS {
        page.push_str(&format!(
            "\n## `[{section}]`\n\n{doc}\n\n{}",
            table(section, engines)
        ));
    }
    page.push('\n');
    page.push_str(OUTRO);
    page
}

fn table(section: &str, engines: &[EngineTraits]) -> String {
    let mut text = String::from("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for key in KEYS.iter().filter(|k| k.section() == section) {
        text.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            key.last(),
            takes(key, engines),
            default(key),
            key.doc
        ));
    }
    text
}

fn takes(key: &Key, engines: &[EngineTraits]) -> String {
    match key.kind {
        Kind::Engine => alternatives(&EngineTraits::names(engines, |_| true)),
        Kind::Cluster => engines
            .iter()
            .filter(|engine| !engine.clusters.is_empty())
            .map(|engine| {
                format!(
                    "`{}`: {}",
                    engine.name,
                    alternatives(&engine.cluster_names())
                )
            })
            .collect::<Vec<_>>()
            .join("; "),
        Kind::Url => {
            let schemes = engines.iter().flat_map(|engine| engine.schemes);
            let schemes: Vec<_> = schemes.map(|scheme| format!("`{scheme}://`")).collect();
            format!("an address: {}", schemes.join(", "))
        }
        _ => key.range(),
    }
}

fn default(key: &Key) -> String {
    match key.default {
        Some(text) => format!("`{text}`"),
        None if key.required => "required".into(),
        None => "–".into(),
    }
}
