//! Every message as a reader sees it: `bad/NAME.toml` gives `bad/NAME.txt`.
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
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let said = format!(
            "{}\n",
            Study::parse(name, &text, engine::catalog()).unwrap_err()
        );
        assert!(!said.contains("hunter2"), "{said}");
        let golden = path.with_extension("txt");
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
    assert!(count >= 9);
}

#[test]
fn overrides_name_themselves() {
    assert_eq!(
        fails(GOOD, &[("load.thraeds", "4")]),
        "error: unknown key `load.thraeds`\n --> --set load.thraeds=4\n  = help: did you mean `threads`?"
    );
    assert_eq!(
        fails(GOOD, &[("load.time", "10")]),
        "error: `10` has no unit\n --> --set load.time=10\n  = help: write `10s` for seconds, `10m` for minutes, `10h` for hours"
    );
    assert_eq!(
        fails(GOOD, &[("load.threads", "0")]),
        "error: `load.threads` = 0 is out of range\n --> --set load.threads=0\n  = help: `threads` must be from 1 to 100_000"
    );
    assert_eq!(
        fails(GOOD, &[("load.threads", "many")]),
        "error: `load.threads` takes a whole number, not a string\n --> --set load.threads=many\n  = help: write, for example, threads = 1"
    );
    assert_eq!(
        fails(GOOD, &[("sweep.load.thread", "[1]")]),
        "error: unknown axis `load.thread`\n --> --set sweep.load.thread=[1]\n  = help: did you mean \"load.threads\"?"
    );
    assert_eq!(
        fails(GOOD, &[("sweep.load.threads", "4")]),
        "error: the axis `load.threads` takes a list, not a whole number\n --> --set sweep.load.threads=4\n  = help: write \"load.threads\" = [value, value, …]"
    );
    assert_eq!(
        fails(GOOD, &[("load", "4")]),
        "error: unknown key `load`\n --> --set load=4\n  = help: `load` is a section; set one of its keys, such as `load.workload`"
    );
    let both = [("server.engine", "sqlite"), ("server.url", "a://b")];
    assert!(fails(GOOD, &both).contains("both"));
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
