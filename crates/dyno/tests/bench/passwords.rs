//! Passwords: every way to give one, and everywhere that it must not be seen.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use crate::common::{
    Cache, Program, Served, command_line, database, mariadb, mysql, postgres, wait_until,
};
use rustix::process::Signal;
use testkit::{Engine, MariaDb, Server};

const SHORT: &str = "--tables 1 --rows 50 --threads 1 --warmup 0s --events 5";
const USAGE: i32 = 2;
const SERVER: i32 = 3;
const KEPT: i32 = 4;
/// Every special character of ASCII, letters that are none, and what an option file takes
/// for an escape sequence.
const EVERY: &str = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ üßñ€😀 \\n\\s%41 ";

/// As in a URL.
fn encoded(password: &str) -> String {
    let byte = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    password.bytes().map(byte).collect()
}

/// As in an option file.
fn escaped(password: &str) -> String {
    let escaped = password.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// A study of five transactions.
fn study(url: &str) -> String {
    let load = "data.rows = 50\nload = { warmup = \"0s\", time = \"1h\", events = 5 }\n";
    format!("title = \"t\"\nserver.url = \"{url}\"\n{load}")
}

fn a_password_of_every_special_character(server: &Server, plugin: &str) {
    let name = "special";
    database(server, name);
    server.create_user(name, EVERY, plugin, false);
    let port = server.port();
    let url = |login: &str| format!("mysql://{login}@127.0.0.1:{port}/{name}");
    let code = encoded(EVERY);
    let with_password = url(&format!("{name}:{code}"));
    let bench = |url: &str| {
        let program = Program::bench(url).args(SHORT);
        program.arg("--get-server-public-key")
    };
    let option_file = bench(&format!("mysql://127.0.0.1:{port}/{name}"));
    let text = format!("[client]\nuser = {name}\npassword = {}\n", escaped(EVERY));
    fs::write(option_file.dir().join("my.cnf"), text).unwrap();
    let study = study(&with_password) + "server.get_server_public_key = true\n";
    for program in [
        bench(&with_password),
        bench(&url(name)).env("DYNO_PASSWORD", EVERY),
        option_file.args("--option-file my.cnf"),
        Program::study(&study),
    ] {
        // So that the password is sent itself, where the plugin does so.
        server.sql("FLUSH PRIVILEGES");
        let done = program.succeeds();
        done.hides(EVERY);
        done.hides(&code);
    }
    server.sql(&format!("DROP USER {name}@'%'"));
}

#[test]
fn a_password_may_have_every_special_character() {
    a_password_of_every_special_character(&mariadb(), "mysql_native_password");
    a_password_of_every_special_character(&mysql(), "caching_sha2_password");
}

const SECRET: &str = "gr8-s3cret/&word";
/// A part that no encoding changes.
const PART: &str = "s3cret";

/// In URLs, on the command line and in a study; returns the URL without it.
fn a_password_stays_where_it_is<S: Served>(server: &S, urls: &[String]) -> String {
    let load = "--tables 1 --rows 50 --threads 2 --warmup 0s --time 1h";
    for url in urls {
        let mut running = Program::bench(url).args(load).start();
        running.says("  measure  ");
        let words = command_line(running.pid());
        let is_hidden = words.contains("keeper@") && !words.contains(PART);
        assert!(is_hidden, "{words}");
        running.signal(Signal::INT);
        running.wait().fails(KEPT, &[]).hides(PART);
    }
    let study = study(&urls[0]);
    Program::study(&study).succeeds().hides(PART);
    let other = Program::study(&study.replace("keeper", "other")).arg("--set");
    let set = other.arg(format!("server.url={}", urls[0]));
    set.succeeds().hides(PART);
    let plain = format!("{}://keeper@127.0.0.1:{}/secret", S::SCHEME, server.port());
    let program = Program::bench(&plain)
        .args(SHORT)
        .env("DYNO_PASSWORD", SECRET);
    program.succeeds().hides(PART);
    plain
}

#[test]
fn a_password_for_mariadb_stays_where_it_is() {
    let server = mariadb();
    database(&*server, "secret");
    server.add_user("keeper", SECRET, "secret");
    let login = format!("keeper:{}@127.0.0.1:{}", encoded(SECRET), server.port());
    let urls = ["mysql", "mariadb"].map(|scheme| format!("{scheme}://{login}/secret"));
    a_password_stays_where_it_is(&*server, &urls);
    // One that the server refuses.
    let wrong = urls[1].replace("keeper", "root");
    Program::bench(&wrong).fails(SERVER, &["1045"]).hides(PART);
    let study = format!("title = \"t\"\n[server]\nurl = \"{wrong}\"\n");
    Program::study(&study).fails(SERVER, &["1045"]).hides(PART);
    server.sql("DROP USER keeper@'%'");
}

#[test]
fn a_password_for_postgres_stays_where_it_is() {
    let server = postgres();
    database(&*server, "secret");
    server.add_user("keeper", SECRET, "secret");
    let (port, code) = (server.port(), encoded(SECRET));
    let socket = server.socket_directory().display();
    let urls = [
        format!("postgres://keeper:{code}@127.0.0.1:{port}/secret"),
        format!("postgresql://keeper:{code}@/secret?host={socket}&port={port}"),
    ];
    let plain = a_password_stays_where_it_is(&*server, &urls);
    let bench = || Program::bench(&plain).args(SHORT);
    bench().env("PGPASSWORD", SECRET).succeeds().hides(PART);
    let program = bench();
    let home = program.dir().to_owned();
    let file = home.join(".pgpass");
    fs::write(&file, format!("127.0.0.1:{port}:*:keeper:{SECRET}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    program.env("HOME", &home).succeeds().hides(PART);
}

#[test]
fn a_password_is_never_shown_to_another_server() {
    let study = "title = \"t\"\n[data]\nrows = 10\n[load]\nworkload = \"oltp_point_select\"\n\
        [[variant]]\nname = \"a\"\nserver.url = \"mysql://u@127.0.0.1:1/x\"\n\
        [[variant]]\nname = \"b\"\nserver.url = \"mysql://u@127.0.0.1:1/x\"\n";
    let set = |variant: &str, login: &str| {
        format!("variant.{variant}.server.url=mysql://{login}@127.0.0.1:1/x")
    };
    let list = ["one", "two"].map(|password| format!("\"mysql://u:{password}@127.0.0.1:1/x\""));
    for sets in [
        vec![set("a", "u:one"), set("b", "u:two")],
        vec![set("a", "u:one"), set("b", "u")],
        vec![format!("sweep.server.url=[{}]", list.join(", "))],
    ] {
        let program = sets.iter().fold(Program::study(study), |program, set| {
            program.arg("--set").arg(set)
        });
        let texts = ["with different passwords", "the study file"];
        program.fails(USAGE, &texts).hides("one:two");
    }
}

#[test]
fn a_password_that_was_typed_is_of_its_address_only() {
    let server = mariadb();
    server.add_user("typed", PART, "sbtest");
    let url = |user: &str, name: &str| database(&*server, name).replace("root@", user);
    let study = format!(
        "title = \"t\"\n[data]\nrows = 10\n[load]\nworkload = \"oltp_point_select\"\n\
         warmup = \"0s\"\ntime = \"300ms\"\n[[variant]]\nname = \"a\"\nserver.url = \"{}\"\n\
         [[variant]]\nname = \"b\"\nserver.url = \"{}\"\n",
        url("typed@", "typed_a"),
        url("typed@", "typed_b"),
    );
    let set = |variant: &str| {
        let with_password = url(&format!("typed:{PART}@"), &format!("typed_{variant}"));
        format!("variant.{variant}.server.url={with_password}")
    };
    let program = || Program::study(&study).arg("--set").arg(set("a"));
    program().fails(SERVER, &["1045"]);
    program().arg("--set").arg(set("b")).succeeds();
    // What the user says for all servers is for the others.
    program().env("DYNO_PASSWORD", PART).succeeds();
    server.sql("DROP USER typed@'%'");
}

#[test]
fn the_recorded_command_has_no_secret() {
    let load = "workload = 'oltp_point_select'; warmup = '0s'; time = '200ms'";
    let program = Program::private("sqlite", load, "").arg("--set");
    let done = program.arg("description=the token=hush-hush").succeeds();
    let command = done.result().environment.command;
    let is_hidden = command.ends_with("'description=the token=***'");
    assert!(is_hidden, "{command}");
}

/// It could be read in the process list as long as dyno runs, so it does not.
#[test]
fn a_password_that_cannot_be_told_from_its_address_is_refused() {
    let url = "mysql://u:hush#12@127.0.0.1/x";
    let set = format!("server.url={url}");
    for program in [
        Program::bench(url),
        Program::new().args("doctor").arg(url),
        Program::study("title = 't'").arg("--set").arg(set),
    ] {
        let texts = ["percent-encode", "%23", "DYNO_PASSWORD"];
        program.fails(USAGE, &texts).hides("hush");
    }
}

#[test]
fn a_password_that_cannot_leave_the_command_line_ends_dyno() {
    // Only root can take /proc away, and only in a namespace of its own.
    let hidden = "mount -t tmpfs none /proc && exec \"$@\"";
    let words = ["bench", "mysql://u:hush@127.0.0.1:1/x"];
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--mount",
        "sh",
        "-c",
        hidden,
        "sh",
        env!("CARGO_BIN_EXE_dyno"),
    ]);
    let output = unshare.args(words).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("not permitted") || error.contains("permission denied") {
        return testkit::skip(&error);
    }
    assert_eq!(output.status.code(), Some(USAGE), "{error}");
    assert!(error.contains("/proc/self/exe") && error.contains("DYNO_PASSWORD"));
    assert!(!error.contains("hush"), "{error}");
}

#[test]
fn a_password_is_in_no_process_list_and_no_core_dump_before_dyno_connects() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let running = Program::bench(&format!("mysql://u:hush@127.0.0.1:{port}/x")).start();
    let (_silent, _) = listener.accept().unwrap();
    let words = command_line(running.pid());
    let is_hidden = words.contains("u@127.0.0.1") && !words.contains("hush");
    assert!(is_hidden, "{words}");
    let limits = fs::read_to_string(format!("/proc/{}/limits", running.pid())).unwrap();
    let mut lines = limits.lines();
    let core = lines.find(|line| line.starts_with("Max core file size"));
    let soft = core.unwrap().split_whitespace().nth(4).unwrap();
    assert!(["0", "1"].contains(&soft), "{limits}");
}

/// A private server runs beside one whose password was typed.
#[test]
fn a_server_that_dyno_starts_inherits_no_password() {
    let (server, cache) = (MariaDb::start(&[]), Cache::new());
    server.create_user("typed", "hush-typed", "mysql_native_password", false);
    let study = "title = \"t\"\n[data]\nrows = 50\n[load]\nwarmup = \"0s\"\ntime = \"60s\"\n\
         [[variant]]\nname = \"started\"\nserver.engine = \"mariadb\"\n\
         [[variant]]\nname = \"given\"\nserver.url = \"mysql://x@127.0.0.1:1/x\"\n";
    let url = format!(
        "mysql://typed:hush-typed@127.0.0.1:{}/sbtest",
        server.port()
    );
    let set = format!("variant.given.server.url={url}");
    let program = Program::study(study).cache(&cache).arg("--set").arg(set);
    let running = program.env("DYNO_PASSWORD", "hush-said").start();
    let mut pid = None;
    wait_until("a server under load", || {
        pid = cache.server(1);
        pid.is_some()
    });
    for file in ["environ", "cmdline"] {
        let bytes = fs::read(format!("/proc/{}/{file}", pid.unwrap())).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.is_empty() && !text.contains("hush"), "{text}");
    }
    drop(running);
    cache.wait_for_no_process();
}

/// What is recorded of a benchmark logs in the same way.
#[test]
fn tls_has_the_same_words_in_a_study_as_on_the_command_line() {
    let server = MariaDb::builder().tls(true).start();
    let url = format!("mysql://root@localhost:{}/sbtest", server.port());
    let ca = server.ca_file().display().to_string();
    let program = Program::bench(&url).args(SHORT).arg("--tls-ca").arg(&ca);
    let done = program.args("--enable-cleartext-plugin").succeeds();
    assert!(done.trial().setup.tls.is_some());
    let study = done.file("study.toml");
    assert!(study.contains(&format!("tls.ca = \"{ca}\"")), "{study}");
    assert!(study.contains("enable_cleartext_plugin = true"), "{study}");
    let again = Program::study(&study).succeeds();
    assert!(again.trial().setup.tls.is_some());
    // The mode and the authority count.
    let plain = study.replace(&format!("tls.ca = \"{ca}\""), "tls.mode = \"disable\"");
    let plain = Program::study(&plain).succeeds();
    assert_eq!(plain.trial().setup.tls, None);
    Program::study(&study.replace("localhost", "127.0.0.1")).fails(SERVER, &["not valid for name"]);
    let unused = Program::study(&study).args("--set server.tls.mode=required");
    unused.fails(USAGE, &["would not be used"]);
    let unused = Program::bench(&url).args("--tls-mode preferred --tls-ca");
    unused.arg(&ca).fails(USAGE, &["would not be used"]);
    Program::study("title = \"t\"\nserver.engine = \"mariadb\"\nserver.tls.mode = \"required\"\n")
        .fails(USAGE, &["server.tls.mode", "has no effect"]);
}

/// MySQL's own certificate is verified, or its key is, or its user takes both as they are.
#[test]
fn mysql_gets_a_password_that_it_does_not_know_by_name_only() {
    let server = mysql();
    assert_eq!(server.engine(), Engine::MySql);
    server.create_user("new", "hush", "caching_sha2_password", false);
    let url = format!("mysql://new@127.0.0.1:{}/sbtest", server.port());
    let key = server.data_dir().join("public_key.pem");
    assert_eq!(fs::metadata(&key).unwrap().mode() & 0o004, 0o004);
    let (ca, key) = (server.ca_file(), key.display());
    let ca = ca.display();
    for (options, remedy) in [
        ("", "--tls-ca"),
        ("--tls-mode disable", "--server-public-key-path"),
        ("--get-server-public-key", ""),
        ("--tls-mode disable --get-server-public-key", ""),
        (&format!("--tls-mode verify-ca --tls-ca {ca}"), ""),
        (
            &format!("--tls-mode disable --server-public-key-path {key}"),
            "",
        ),
    ] {
        server.sql("FLUSH PRIVILEGES");
        let program = Program::bench(&url).args(SHORT).args(options);
        let program = program.env("DYNO_PASSWORD", "hush");
        match remedy {
            "" => program.succeeds(),
            _ => program.fails(SERVER, &["password was not sent", remedy]),
        };
    }
    server.sql("DROP USER new@'%'");
}
