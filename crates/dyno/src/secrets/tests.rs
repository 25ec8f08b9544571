use super::*;

#[test]
fn passwords_are_taken_out_of_addresses() {
    for (argument, clean, passwords) in [
        (
            "mysql://u:p%40+&=w@h:1/x",
            "mysql://u@h:1/x",
            &[Some("p@+&=w")][..],
        ),
        (
            "server.url=MySQL://u:p@h/x",
            "server.url=MySQL://u@h/x",
            &[Some("p")],
        ),
        (
            "sweep.server.url=[\"mysql://u:p@h/x\", 'mysql://v:q@i/y', \"mysql://w@j/z\"]",
            "sweep.server.url=[\"mysql://u@h/x\", 'mysql://v@i/y', \"mysql://w@j/z\"]",
            &[Some("p"), Some("q"), None],
        ),
        ("mariadb://u:p@h/x", "mariadb://u@h/x", &[Some("p")]),
        ("postgres://u:p@h/x", "postgres://u@h/x", &[Some("p")]),
        (
            "postgres://u:p,q@h:1,i:2/x",
            "postgres://u@h:1,i:2/x",
            &[Some("p,q")],
        ),
        (
            "server.url=mysql://u:p@h:1,i:2/x",
            "server.url=mysql://u@h:1,i:2/x",
            &[Some("p")],
        ),
        (
            "--set=server.url=postgresql://u:p%2F@/x?host=/run/a:b@c&port=7",
            "--set=server.url=postgresql://u@/x?host=/run/a:b@c&port=7",
            &[Some("p/")],
        ),
        (
            "x=[\"mariadb://u:p@h/x\", \"mysql://v:q@i/y\", \"mariadb://w:r@j/z\"]",
            "x=[\"mariadb://u@h/x\", \"mysql://v@i/y\", \"mariadb://w@j/z\"]",
            &[Some("p"), Some("q"), Some("r")],
        ),
        ("mysql://u@h/x", "mysql://u@h/x", &[None]),
        ("--json", "--json", &[]),
    ] {
        let mut urls = Vec::new();
        let without = without_passwords(argument, &mut urls).unwrap();
        let found = urls
            .iter()
            .map(|url| password_among(&url.whole, &url.clean));
        let found: Vec<_> = found.collect();
        let passwords: Vec<_> = passwords.iter().map(|p| p.map(str::to_owned)).collect();
        assert_eq!((without.as_str(), found), (clean, passwords));
    }
}

#[test]
fn a_url_that_may_hide_a_password_is_refused() {
    for argument in [
        "mysql://u:p/w@h/x",
        "mysql://u:12/34@h/x",
        "mysql://u:12#34@h/x",
        "mysql://u:12?34@h/x",
        "mysql://u:p#w@h/x",
        "mysql://u:p\tw@h/x",
        "server.url=MariaDB://u:p?w@h/x",
        "sweep.server.url=[\"mysql://u:p@h/x\", \"mysql://v:q#r@i/y\"]",
        "postgres://u:p/w@/x?host=/run",
        "postgres://u:p w@/x?host=/run",
        "postgres://u@h/x?sslmode=require&password=p",
        "mysql://u:p@h/x,mysql://v:q@i/y",
    ] {
        let refused = without_passwords(argument, &mut Vec::new());
        assert!(refused.is_err(), "{argument}: {refused:?}");
    }
    for argument in [
        "mysql://u@h:99999/x",
        "mysql://u@h:3306/x?socket=/tmp/a@b.sock",
        "mysql:/u@h:1",
        "postgres://u@/x?host=/run/a:b@c",
        "postgres://",
    ] {
        let clean = without_passwords(argument, &mut Vec::new()).unwrap();
        assert_eq!(clean, argument);
    }
}

#[test]
fn a_password_is_of_the_address_that_it_was_typed_with() {
    let of = |urls: &[&str]| {
        let urls = urls.iter().filter_map(|url| TypedUrl::parse(url));
        joined_urls(urls.collect()).map_err(|failure| failure.message)
    };
    assert_eq!(of(&[]), Ok(None));
    assert_eq!(of(&["mysql://u@h/x", "mysql://v@h/x"]), Ok(None));
    let different = [
        "mysql://u:one@h/x",
        "mysql://u@h/y",
        "mysql://v:p%20q@i/x",
        "postgres://w:r@/x?host=/run",
        "postgres://w@/y?host=/run",
    ];
    let joined = of(&different).unwrap().unwrap();
    for (url, password) in [
        ("mysql://u@h/x", Some("one")),
        ("mysql://v@i/x", Some("p q")),
        ("mysql://u@h/y", None),
        ("mysql://u@i/x", None),
        ("postgres://w@/x?host=/run", Some("r")),
        ("postgres://w@/y?host=/run", None),
    ] {
        let found = password_among(&joined, url);
        assert_eq!(found.as_deref(), password, "{url}");
    }
    for other in ["mysql://u:two@h/x", "mysql://u@h/x"] {
        let refused = of(&["mysql://u:one@h/x", other]).unwrap_err();
        assert!(refused.contains("different passwords"), "{refused}");
    }
}

#[test]
fn the_record_holds_no_secret() {
    for (word, kept) in [
        (
            "server.config.report_password=a b'c",
            "server.config.report_password=***",
        ),
        (
            "--set=server.config.s3-secret-key=x y",
            "--set=server.config.s3-secret-key=***",
        ),
        ("mysql://u:p@h/x", "mysql://u:***@h/x"),
        ("load.time=5s", "load.time=5s"),
    ] {
        assert_eq!(without_secrets(word), kept);
    }
}

#[test]
fn an_option_file_gives_user_and_password() {
    let text =
        "[mysqld]\nuser=mysql\n[client]\n# x\nuser = bench\npassword=\"s p\"\n[other]\npassword=no";
    let file = OptionFile::parse(text);
    assert_eq!(file.user.as_deref(), Some("bench"));
    assert_eq!(file.password.as_deref(), Some("s p"));
}

/// What MySQL's and MariaDB's `my_print_defaults --show client` make of the same lines.
#[test]
fn an_option_file_is_read_as_by_mysqls_programs() {
    for (written, meant) in [
        ("plain", "plain"),
        ("a=b;c", "a=b;c"),
        ("a#b", "a"),
        ("a # b", "a"),
        ("\"a#b\"", "a#b"),
        ("'a#b' # c", "a#b"),
        ("\"a\\\"#b\"", "a\"#b"),
        ("\"'a'\"", "'a'"),
        ("\"a'", "\"a'"),
        ("a\\\\b\\sc\\td\\x", "a\\b c\td\\x"),
        ("' a '", " a "),
        ("", ""),
    ] {
        let file = OptionFile::parse(&format!("[client]\npassword = {written}\n"));
        assert_eq!(file.password.as_deref(), Some(meant), "{written}");
    }
}

#[test]
fn the_recorded_command_can_be_typed_again() {
    assert_eq!(quoted("it's"), r"'it'\''s'");
    assert_eq!(quoted("--rows=5"), "--rows=5");
}
