//! Passwords: every way to give one, and everywhere that it must not be seen.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::common::{Cache, Program, assert_no_file_has, database, mariadb, mysql, wait_until};
use testkit::{Engine, MariaDb, Server};

const SHORT: &str = "--tables 1 --rows 50 --threads 1 --warmup 0s --events 5";
const USAGE: i32 = 2;
const SERVER: i32 = 3;
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
    let study = format!(
        "title = \"t\"\n[server]\nurl = \"{with_password}\"\nget_server_public_key = true\n\
         [data]\nrows = 50\n[load]\nwarmup = \"0s\"\ntime = \"10s\"\nevents = 5\n"
    );
    for (way, program) in [
        ("URL", bench(&with_password)),
        ("environment", bench(&url(name)).env("DYNO_PASSWORD", EVERY)),
        ("option file", option_file.args("--option-file my.cnf")),
        ("study", Program::study(&study)),
    ] {
        // So that the password is sent itself, where the plugin does so.
        server.sql("FLUSH PRIVILEGES");
        let done = program.run();
        assert_eq!(done.code(), Some(0), "{way}: {}", done.shown());
        assert_no_file_has(&done.out(), &[EVERY, &code]);
        let shown = format!("{}{}", done.stdout, done.stderr);
        assert!(!shown.contains(EVERY) && !shown.contains(&code), "{way}");
    }
    server.sql(&format!("DROP USER {name}@'%'"));
}

#[test]
fn mariadb_takes_a_password_of_every_special_character() {
    a_password_of_every_special_character(&mariadb(), "mysql_native_password");
}

#[test]
fn mysql_takes_a_password_of_every_special_character() {
    a_password_of_every_special_character(&mysql(), "caching_sha2_password");
}

/// It could be read in the process list as long as dyno runs, so it does not.
#[test]
fn a_password_that_cannot_be_told_from_its_address_is_refused() {
    for url in [
        "mysql://u:hush#12@127.0.0.1/x",
        "mysql://u:12#hush@127.0.0.1/x",
        "mysql://u:12/hush@127.0.0.1/x",
        "mysql://u:12?hush@127.0.0.1/x",
    ] {
        for program in [
            Program::bench(url),
            Program::new().args("doctor").arg(url),
            Program::study("title = \"t\"")
                .args("--set")
                .arg(&format!("server.url={url}")),
        ] {
            let done = program.run();
            let done = done.fails(USAGE, &["percent-encode", "%23", "DYNO_PASSWORD"]);
            assert!(!done.stderr.contains("hush"), "{}", done.shown());
        }
    }
}

#[test]
fn a_password_that_cannot_leave_the_command_line_ends_dyno() {
    // Only root can take /proc away, and only in a namespace of its own.
    let hidden = "mount -t tmpfs none /proc && exec \"$@\"";
    let words = ["bench", "mysql://u:hush@127.0.0.1:1/x"];
    let output = Command::new("unshare")
        .args([
            "--mount",
            "sh",
            "-c",
            hidden,
            "sh",
            env!("CARGO_BIN_EXE_dyno"),
        ])
        .args(words)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("not permitted") || error.contains("permission denied") {
        return testkit::skip(&error);
    }
    assert_eq!(output.status.code(), Some(USAGE), "{error}");
    assert!(error.contains("/proc/self/exe") && error.contains("DYNO_PASSWORD"));
    assert!(!error.contains("hush"), "{error}");
}

#[test]
fn memory_with_a_password_is_in_no_core_dump() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("mysql://u:hush@127.0.0.1:{port}/x");
    let running = Program::bench(&url).start();
    let (_silent, _) = listener.accept().unwrap();
    let limits = fs::read_to_string(format!("/proc/{}/limits", running.pid())).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
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
    let program = Program::study(study).cache(&cache);
    let program = program
        .arg("--set")
        .arg(&format!("variant.given.server.url={url}"));
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
    let done = program.args("--enable-cleartext-plugin").run().succeeds();
    assert!(done.trial().setup.tls.is_some());
    let study = fs::read_to_string(done.out().join("study.toml")).unwrap();
    assert!(study.contains(&format!("tls.ca = \"{ca}\"")), "{study}");
    assert!(study.contains("enable_cleartext_plugin = true"), "{study}");
    let again = Program::study(&study).run().succeeds();
    assert!(again.trial().setup.tls.is_some());
    // The mode and the authority count.
    let plain = study.replace(&format!("tls.ca = \"{ca}\""), "tls.mode = \"disable\"");
    let plain = Program::study(&plain).run().succeeds();
    assert_eq!(plain.trial().setup.tls, None);
    Program::study(&study.replace("localhost", "127.0.0.1"))
        .run()
        .fails(SERVER, &["not valid for name"]);
    let unused = "server.tls.mode=required";
    Program::study(&study)
        .arg("--set")
        .arg(unused)
        .run()
        .fails(USAGE, &["would not be used"]);
    Program::bench(&url)
        .args(SHORT)
        .args("--tls-mode preferred --tls-ca")
        .arg(&ca)
        .run()
        .fails(USAGE, &["would not be used"]);
    Program::study("title = \"t\"\nserver.engine = \"mariadb\"\nserver.tls.mode = \"required\"\n")
        .run()
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
    let (ca, key) = (server.ca_file(), key.display().to_string());
    let ca = ca.display();
    for (options, remedy) in [
        (String::new(), Some("--tls-ca")),
        (
            "--tls-mode disable".to_owned(),
            Some("--server-public-key-path"),
        ),
        ("--get-server-public-key".to_owned(), None),
        (
            "--tls-mode disable --get-server-public-key".to_owned(),
            None,
        ),
        (format!("--tls-mode verify-ca --tls-ca {ca}"), None),
        (
            format!("--tls-mode disable --server-public-key-path {key}"),
            None,
        ),
    ] {
        server.sql("FLUSH PRIVILEGES");
        let program = Program::bench(&url).args(SHORT).args(&options);
        let done = program.env("DYNO_PASSWORD", "hush").run();
        match remedy {
            Some(remedy) => drop(done.fails(SERVER, &["password was not sent", remedy])),
            None => drop(done.succeeds()),
        }
    }
    server.sql("DROP USER new@'%'");
}
