//! Every message as a reader sees it: `bad/NAME.toml` gives `bad/NAME.txt`, and so does
//! `bad/NAME.sets`, which has a study, `---`, and overrides, of which each line is refused.
//! `UPDATE_GOLDEN=1 cargo test -p study` writes the texts again.

use std::fs;
use std::path::Path;

use crate::common::fails;
use study::{MAX_FILE_BYTES, Study};

const GOOD: &str = include_str!("../../../../studies/quickstart.toml");

#[test]
fn bad_studies() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut count = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let said = match name.rsplit_once('.').unwrap().1 {
            "toml" => Study::parse(name, &text, engine::catalog())
                .unwrap_err()
                .to_string(),
            "sets" => said_of_sets(&text),
            _ => continue,
        };
        let (said, golden) = (format!("{said}\n"), path.with_extension("txt"));
        assert!(!said.contains("hunter2"), "{said}");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(
            said, expected,
            "{name}: UPDATE_GOLDEN=1 accepts the new text"
        );
        count += 1;
    }
    assert!(count >= 45);
}

/// What is said of each line, which makes one mistake.
fn said_of_sets(text: &str) -> String {
    let (study, lines) = text.split_once("---\n").unwrap();
    let said = lines.lines().map(|line| {
        let sets: Vec<_> = line
            .split(" ; ")
            .map(|set| set.split_once('=').unwrap())
            .collect();
        let said = fails(study, &sets);
        assert!(!said.contains("\n\n"), "one mistake, told once: {said}");
        said
    });
    said.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn a_large_file_is_refused() {
    let error = Study::parse(
        "big.toml",
        &"#".repeat(MAX_FILE_BYTES + 1),
        engine::catalog(),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: the file is too large: 1048577 bytes\n --> big.toml\n  = help: the limit is 1048576 bytes (1 MiB)"
    );
}

#[test]
fn the_list_of_problems_has_an_end() {
    let text: String = (0..500).map(|i| format!("k{i} = 1\n")).collect();
    let error = Study::parse("s.toml", &text, engine::catalog()).unwrap_err();
    assert_eq!(error.problems().len(), 50);
    assert!(error.to_string().ends_with("… and 452 more"), "{error}");
}

#[test]
fn the_caller_checks_words() {
    let text = GOOD.replace("oltp_read_write", "oltp_readwrite");
    let study = Study::parse("s.toml", &text, engine::catalog()).unwrap();
    let words: &[&str] = &["oltp_read_write", "oltp_read_only"];
    let error = study.check_words(&[("load.workload", words)]).unwrap_err();
    assert_eq!(error.problems()[0].help, "did you mean `oltp_read_write`?");
    let span = study.plan().unwrap().trials[0].load.workload.span;
    let error = study.error_at(span, "no such workload", "");
    let place = error.problems()[0].location.as_ref().unwrap();
    assert_eq!(
        (place.path(), place.line_column()),
        ("s.toml", Some((24, 12)))
    );
    assert!(
        error
            .to_string()
            .ends_with("24 | workload = \"oltp_readwrite\"\n   |            ^^^^^^^^^^^^^^^^"),
        "{error}"
    );
}
