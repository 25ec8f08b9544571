//! A password is in the address to connect to, and nowhere else.

use plan::ServerSpec;
use study::Study;

fn check(server: &str, overrides: &[(&str, &str)], secret: &str) {
    let text = format!("title = \"t\"\n{server}\n[load]\nthreads = 4 # end\n");
    let study = Study::parse_with_overrides("s.toml", &text, overrides, engine::catalog()).unwrap();
    let plan = study.plan();
    let stored = study.as_run();
    let shown = format!("{study:?} {plan:?} {stored}");
    assert!(!shown.contains(secret), "{shown}");
    assert!(stored.ends_with("threads = 4 # end\n"));
    let ServerSpec::Url(url, _) = &plan.trials[0].server else {
        panic!("no address")
    };
    assert!(url.expose().contains(secret));
    let again = Study::parse("s.toml", &stored, engine::catalog());
    assert!(again.is_ok() || !overrides.is_empty(), "{again:?}");
    let error = study.error_at(url.span, "m", "h").to_string();
    assert!(!error.contains(secret), "{error}");
}

#[test]
fn in_the_file() {
    for (server, secret) in [
        ("server.url = \"mysql://u:hunter2@h:3306/d\"", "hunter2"),
        ("server.url = 'mysql://u:hun\"ter2@h'", "hun\"ter2"),
        ("server.url = \"mysql://u:a@hunter2@h\"", "hunter2"),
        ("server.url = \"mysql:\\u002f/u:hunter2@h\"", "hunter2"),
        ("server.url = \"\"\"\nmysql://u:hunter2@h\"\"\"", "hunter2"),
        (
            "server.url = \"mysql://h/d?user=u&password=hunter2\"",
            "hunter2",
        ),
        (
            "# was mysql://root:hunter2@old\nserver.url = \"mysql://u:hunter2@h\"",
            "hunter2",
        ),
        (
            "[[variant]]\nname = \"v\"\nserver.url = \"mysql:\\u002f/u:hunter2@h\"",
            "hunter2",
        ),
        (
            "sweep.\"server.url\" = [\"a://u:hunter2@h\", \"b://u:hunter2@h\"]",
            "hunter2",
        ),
    ] {
        check(server, &[], secret);
    }
}

#[test]
fn in_an_override() {
    for (key, value) in [
        ("server.url", "mysql://u:hunter2@h"),
        ("server.url", "\"mysql://u:hun ter2@h\""),
        ("server.url", "mysql://u:hun ter2@h"),
        ("sweep.server.url", "[\"mysql://u:hunter2@h\"]"),
    ] {
        check("", &[(key, value)], "ter2");
    }
}

#[test]
fn the_redacted_text_keeps_the_rest() {
    let text = "title = \"t\"\n[server]\nurl = \"mysql://root:secret@host:3306/db\" # live\n";
    let study = Study::parse("s.toml", text, engine::catalog()).unwrap();
    assert_eq!(study.as_run(), text.replace("secret", "***"));
}
