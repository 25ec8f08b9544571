//! The page for readers is the tables of checks.

use std::fs;
use std::path::Path;

use engine::Server;
use measure::finding::check::{About, Check, Remedy};

use super::super::{FAMILIES, storage};

/// The beginning of the page.
const INTRO: &str = include_str!("../reference_intro.md");

/// All checks, in Markdown.
fn page() -> String {
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

/// By family, in the order of the page.
pub(super) fn families() -> Vec<(&'static str, Vec<About>)> {
    fn abouts<F: 'static>(checks: impl IntoIterator<Item = &'static Check<F>>) -> Vec<About> {
        checks.into_iter().map(|check| check.about).collect()
    }
    let of_host = FAMILIES.iter();
    let of_host = of_host.map(|(title, checks)| (*title, abouts(*checks)));
    let others = [
        ("File systems and disks", abouts(storage::CHECKS)),
        ("Servers", server_checks()),
    ];
    of_host.chain(others).collect()
}

/// The checks of all engines, without duplicates.
pub(super) fn server_checks() -> Vec<About> {
    let mut abouts: Vec<About> = Vec::new();
    for check in engine::servers().flat_map(<dyn Server>::checks) {
        if abouts.iter().all(|known| known.id != check.about.id) {
            abouts.push(check.about);
        }
    }
    abouts
}

#[test]
fn docs_doctor_md_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/doctor.md is out of date: UPDATE_DOCS=1 cargo test -p lab --lib docs_doctor_md"
    );
}
