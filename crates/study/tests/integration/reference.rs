//! The page for readers is the table of keys.

mod pages;

use std::fs;
use std::path::Path;

use pages::reference_pages;

#[test]
fn the_pages_are_up_to_date() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (file, page) in reference_pages(engine::catalog()) {
        let path = docs.join(file);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &page).unwrap();
        }
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == page,
            "docs/{file} is out of date: UPDATE_DOCS=1 cargo test -p study --test integration reference"
        );
    }
}

/// The first table has the twelve keys that most studies need; no key is left out.
#[test]
fn the_usual_keys_come_first_and_every_key_is_on_one_page() {
    let pages = reference_pages(engine::catalog());
    let (_, usual) = pages[0].1.split_once("## The usual keys").unwrap();
    let (usual, rest) = usual.split_once("\n## ").unwrap();
    assert_eq!(usual.matches("\n| `").count(), 12, "{usual}");
    let others = pages[1..].iter().map(|(_, page)| page.as_str());
    let all = std::iter::once(rest).chain(others).collect::<String>();
    for key in plan::key::KEYS.iter() {
        let has_page =
            key.section() == "log_volume" || all.contains(&format!("\n| `{}` |", key.last()));
        assert!(has_page, "{}", key.name);
    }
}

/// The examples on the page are studies, or become one with what they leave out.
#[test]
fn every_example_is_a_study() {
    let pages = reference_pages(engine::catalog());
    let examples = pages
        .iter()
        .flat_map(|(_, page)| page.split("```").skip(1).step_by(2));
    let trials: Vec<_> = examples
        .map(|example| {
            let text = example.strip_prefix("toml").unwrap();
            let whole = [("title", "t"), ("server.engine", "mariadb")];
            let names_its_own = text.contains("title") || text.contains("server.engine");
            let overrides = if names_its_own {
                &whole[..1]
            } else {
                &whole[..]
            };
            let study = study::Study::parse_with_overrides(
                "docs/study.md",
                text,
                overrides,
                engine::catalog(),
            );
            let study = study.map_err(|error| error.to_string()).unwrap();
            study.plan().trials.len()
        })
        .collect();
    // As the comments in them say.
    assert_eq!(
        trials,
        [
            4, 3, 1, 4, 8, 6, 3, 10, 20, 4, 1, 1, 1, 2, 2, 2, 4, 3, 2, 1, 1, 1, 2, 3, 1, 1, 1, 1,
            1, 3
        ]
    );
}
