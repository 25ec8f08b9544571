//! The page for readers is the table of keys.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::fs;
use std::path::Path;

#[test]
fn docs_study_md_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study.md");
    let page = study::reference_markdown(engine::catalog());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/study.md is out of date: UPDATE_DOCS=1 cargo test -p study --test reference"
    );
}

/// The examples on the page are studies, or become one with what they leave out.
#[test]
fn every_example_is_a_study() {
    let page = study::reference_markdown(engine::catalog());
    let trials: Vec<_> = page
        .split("```")
        .skip(1)
        .step_by(2)
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
            study.plan().unwrap().trials.len()
        })
        .collect();
    // As the comments in them say.
    assert_eq!(
        trials,
        [
            4, 3, 1, 4, 2, 3, 4, 3, 2, 1, 1, 8, 6, 1, 1, 3, 3, 10, 4, 1, 2, 2, 2
        ]
    );
}
