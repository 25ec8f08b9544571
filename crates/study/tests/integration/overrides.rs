//! How overrides are read, and how a result keeps them.

use crate::common::{SMALLEST, config, engine, fails, labels, study, trial};
use study::Study;

#[test]
fn overrides_are_read_as_the_key_wants() {
    let overrides = [
        ("server.config.a", "256M"),
        ("server.config.b", "1"),
        ("server.config.c", "true"),
        ("server.config.d", "2024-01-01"),
        ("server.config.e", "[1]"),
        ("server.version", "10.11"),
        ("monitors.enabled", "false"),
        ("load.preload", "true"),
        ("server.basedir", "/opt/x y"),
    ];
    let trial = trial(SMALLEST, &overrides);
    let wanted = [
        ("a", "256M"),
        ("b", "1"),
        ("c", "ON"),
        ("d", "2024-01-01"),
        ("e", "[1]"),
    ];
    assert_eq!(config(&trial), wanted);
    assert_eq!(engine(&trial).version.as_deref().unwrap(), "10.11");
    assert_eq!((trial.monitors, trial.load.preload), (false, true));
}

#[test]
fn variants_and_sizes_are_no_axes() {
    let text = format!("{SMALLEST}[[variant]]\nname = \"a\"\n");
    for key in ["sweep.variant.a.load.threads", "sweep.sizes"] {
        let said = fails(&text, &[(key, "[1, 2]")]);
        assert!(said.contains("unknown axis"), "{said}");
    }
}

#[test]
fn the_text_as_run_tells_studies_apart() {
    let text = format!("{SMALLEST}[sweep]\nload.threads = [1, 2]\n");
    let of = |overrides: &[(&str, &str)]| study(&text, overrides).as_run();
    assert_eq!(of(&[]), text);
    assert_eq!(
        of(&[("load.time", "1s"), ("load.think", "2s")]),
        format!("# --set load.time=1s\n# --set load.think=2s\n{text}")
    );
    // What was typed cannot leave its comment, and a password does not reach it.
    let hostile = of(&[
        ("title", "a\nload.time = 5"),
        ("server.url", "mysql://u:hunter2@h/d"),
    ]);
    let first = r#"# --set "title=a\u000Aload.time = 5""#;
    assert!(hostile.starts_with(&format!("{first}\n# --set server.url=")));
    assert!(!hostile.contains("hunter2"));
    assert!(Study::parse("s.toml", &hostile, engine::catalog()).is_ok());
}

#[test]
fn overrides_are_read_back_whatever_they_contain() {
    for (key, value) in [
        ("sweep.load.threads", "[1,\n2]"),
        ("title", "a\nb"),
        ("title", r"a\nb"),
        ("title", r#""a\nb""#),
    ] {
        let ran = study(SMALLEST, &[(key, value)]);
        let stored = ran.as_run();
        let read = Study::parse_as_run("s.toml", &stored, engine::catalog()).unwrap();
        assert_eq!(read.as_run(), stored);
        let (read, ran) = (read.plan(), ran.plan());
        assert_eq!(read.title, ran.title);
        assert_eq!(labels(&read), labels(&ran));
    }
}

#[test]
fn comments_of_the_file_are_not_read_back_as_overrides() {
    let file = format!("# --set load.time=1s\n{SMALLEST}");
    for overrides in [&[][..], &[("load.think", "2s")]] {
        let stored = study(&file, overrides).as_run();
        let read = Study::parse_as_run("s.toml", &stored, engine::catalog()).unwrap();
        assert_eq!(read.as_run(), stored);
        assert_eq!(read.place("load.time"), None);
        assert_eq!(read.place("load.think").is_some(), !overrides.is_empty());
    }
}
