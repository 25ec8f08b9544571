//! No input makes it panic, and what it says of a bad one can be shown.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use proptest::prelude::*;
use study::Study;

const VALID: &str = include_str!("../../../studies/quickstart.toml");

fn try_all(text: &str, overrides: &[(&str, &str)]) {
    match Study::parse_with_overrides("study.toml", text, overrides) {
        Ok(study) => {
            assert!(study.plan().is_ok());
        }
        Err(error) => {
            assert!(!error.problems().is_empty());
            assert!(error.to_string().lines().count() >= 2);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        try_all(&text, &[]);
    }

    #[test]
    fn toml_like_text(text in "[\\[\\]{}=.,#\"'\\\\ \ta-z0-9_:@/\r\n]{0,200}") {
        try_all(&text, &[]);
    }

    #[test]
    fn a_mutated_study(
        at in 0..VALID.len(),
        gone in 0usize..40,
        put in "(\\PC{0,12})|[\\[\\]{}=.,#\"'\\\\0-9\n-]{1,6}|\"load\\.time\" = \\[|-?[0-9]{1,40}",
    ) {
        let boundary = |i: usize| (0..=i.min(VALID.len())).rev().find(|i| VALID.is_char_boundary(*i)).unwrap();
        let (from, to) = (boundary(at), boundary(at + gone));
        try_all(&format!("{}{put}{}", &VALID[..from], &VALID[to..]), &[]);
    }

    #[test]
    fn any_value_of_any_key(
        key in prop::sample::select(vec!["title", "server.url", "server.engine", "data.rows", "load.threads",
            "load.rate", "load.time", "load.workload", "sweep.load.time", "sweep.\"data.seed\"", "sweep", "load", ""]),
        value in "\\PC{0,20}|-?[0-9]{1,40}(\\.[0-9]+)?(e[0-9]+)?|nan|-inf|0x[0-9a-f]{1,40}|\\[[0-9, ]{0,9}\\]|[0-9]{1,30}[smhd]",
    ) {
        try_all(VALID, &[(key, &value)]);
    }

    #[test]
    fn any_duration(text in "\\PC{0,20}|[0-9]{1,25}[a-zµ]{0,3}") {
        if let Ok(d) = study::parse_duration(&text) {
            prop_assert_eq!(study::parse_duration(&study::format_duration(d)), Ok(d));
        }
    }
}

/// On a stack far smaller than any real one.
#[test]
fn deep_nesting() {
    let small = std::thread::Builder::new().stack_size(512 * 1024);
    small.spawn(deepest).unwrap().join().unwrap();
}

fn deepest() {
    for parts in [9, 10, 79] {
        nested(parts);
    }
    unclosed();
}

fn nested(parts: usize) {
    let part = vec!["a"; parts].join(".");
    let inline = (0..79).fold("1".to_owned(), |inner, _| format!("{{ {part} = {inner} }}"));
    try_all(&format!("sweep.{part} = {inline}"), &[]);
    try_all(&format!("[{part}]\n{part} = {inline}"), &[]);
    try_all(VALID, &[("sweep.load.threads", &inline)]);
}

fn unclosed() {
    try_all(&"[".repeat(100_000), &[]);
    try_all(&format!("a = {}", "[".repeat(100_000)), &[]);
    try_all(&format!("a{} = 1", ".a".repeat(100_000)), &[]);
}

/// The largest file that is read is read in a moment, whatever is in it.
#[test]
fn large_and_hostile_is_not_slow() {
    let numbers: Vec<_> = (0..130_000).map(|i| i.to_string()).collect();
    for text in [
        format!("[sweep]\n\"load.threads\" = [{}]", numbers.join(",")),
        (0..60_000).map(|i| format!("thread{i} = 1\n")).collect(),
        "a\n".repeat(500_000),
        "a://b:c@d ".repeat(100_000),
        "a://".repeat(250_000),
        "password=".repeat(100_000),
        "password   ".repeat(90_000),
        format!("password{}", " ".repeat(1_000_000)),
        "x".repeat(1 << 20),
    ] {
        let start = std::time::Instant::now();
        try_all(&text, &[]);
        let seconds = start.elapsed().as_secs();
        assert!(seconds < 20, "{seconds} s for {:.20}", text);
    }
}
