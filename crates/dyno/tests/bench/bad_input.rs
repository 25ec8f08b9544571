//! What bad input gets: a message that says why and what to do, and its exit code.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::common::{Program, Proxy, assert_no_file_has, database, mariadb, pretend};
use testkit::{MariaDb, MySql};

const SHORT: &str = "--tables 1 --rows 100 --threads 2 --warmup 0s --events 20";
const USAGE: i32 = 2;
const SERVER: i32 = 3;

#[test]
fn a_server_that_is_not_there() {
    Program::bench("mysql://root@no-such-host.invalid/sbtest")
        .run()
        .fails(SERVER, &["no-such-host.invalid", "check the name"]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    Program::bench(&format!("mysql://root@127.0.0.1:{port}/sbtest"))
        .run()
        .fails(SERVER, &["Connection refused", "start the server"]);
    for scheme in ["mysql", "postgres"] {
        Program::bench(&format!(
            "{scheme}://u@127.0.0.1:{port},[::1]:{port}/sbtest"
        ))
        .run()
        .fails(
            SERVER,
            &[&format!("127.0.0.1:{port}"), &format!("[::1]:{port}")],
        );
    }
    Program::bench("mysql://root@no-such-host.invalid,nor-this.invalid/sbtest")
        .run()
        .fails(SERVER, &["no-such-host.invalid", "nor-this.invalid"]);
    Program::bench("mysql://root@localhost/sbtest?socket=/nonexistent.sock")
        .run()
        .fails(SERVER, &["no such socket", "check the path"]);
}

#[test]
fn an_account_or_database_that_is_not_there() {
    let server = mariadb();
    server.create_user("bench", "right", "mysql_native_password", false);
    let url = format!("mysql://bench:wrong@127.0.0.1:{}/sbtest", server.port());
    let refused = Program::bench(&url)
        .run()
        .fails(SERVER, &["1045", "28000", "DYNO_PASSWORD"]);
    assert!(!refused.stderr.contains("wrong"), "{}", refused.stderr);
    Program::bench(&server.url("no_such_database"))
        .run()
        .fails(SERVER, &["1049", "CREATE DATABASE"]);
    server.sql("CREATE USER poor@'%'; GRANT USAGE ON *.* TO poor@'%'");
    let poor = format!("mysql://poor@127.0.0.1:{}/sbtest", server.port());
    Program::bench(&poor)
        .run()
        .fails(SERVER, &["1044", "grant the account"]);
    server.sql("DROP USER bench@'%'; DROP USER poor@'%'");
}

#[test]
fn tls_that_cannot_be_had_or_believed() {
    let server = MariaDb::builder().tls(true).start();
    let ca = server.ca_file().display().to_string();
    // The certificate is for localhost.
    let bench = |host: &str, mode: &str| {
        let url = format!("mysql://root@{host}:{}/sbtest", server.port());
        Program::bench(&url)
            .args(SHORT)
            .args(&format!("--tls-ca {ca} {mode}"))
            .run()
    };
    bench("127.0.0.1", "--tls-mode verify-full").fails(
        SERVER,
        &["TLS", "not valid for name", "--tls-mode verify-ca"],
    );
    bench("127.0.0.1", "").fails(SERVER, &["TLS", "certificate"]);
    assert!(
        bench("127.0.0.1", "--tls-mode verify-ca")
            .succeeds()
            .trial()
            .setup
            .tls
            .is_some()
    );
    bench("localhost", "--tls-mode verify-full").succeeds();
    // The system's authorities have not signed it.
    let url = server.url("sbtest");
    Program::bench(&url)
        .args("--tls-mode verify-ca")
        .run()
        .fails(SERVER, &["TLS", "--tls-ca"]);
    Program::bench(&url)
        .args("--tls-ca /nonexistent.pem")
        .run()
        .fails(USAGE, &["/nonexistent.pem"]);
    let plain = mariadb();
    Program::bench(&plain.url("sbtest"))
        .args("--tls-mode required")
        .run()
        .fails(SERVER, &["TLS", "--tls-mode"]);
}

#[test]
fn an_http_server_at_that_port() {
    let greets = pretend("mysql", |mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n<html></html>");
        // Until the client leaves.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    Program::bench(&greets)
        .run()
        .fails(SERVER, &["not MySQL", "check host and port"]);
    // This one waits for a request that never comes.
    let waits = pretend("mysql", |mut stream| {
        let _ = stream.read(&mut [0; 100]);
    });
    Program::bench(&waits)
        .run()
        .fails(SERVER, &["did not complete the login", "listens there"]);
}

#[test]
fn a_server_that_closes_in_the_middle() {
    let at_once = pretend("mysql", drop);
    Program::bench(&at_once)
        .run()
        .fails(SERVER, &["connection was lost", "server's log"]);
    let server = mariadb();
    let url = database(&server, "closes");
    Program::bench(&url)
        .args(SHORT)
        .args("--prepare only")
        .run()
        .succeeds();
    // In the greeting, in the login, among the replies of the first statements.
    for bytes in [1, 30, 95, 115, 130, 250, 400, 700] {
        let proxy = Proxy::cutting(server.port(), bytes);
        let url = format!("mysql://root@127.0.0.1:{}/closes", proxy.port());
        let ended = Program::bench(&url).args(SHORT).run();
        ended.fails(SERVER, &["help: "]);
    }
}

#[test]
fn tables_that_are_not_the_load_s() {
    let server = mariadb();
    let url = database(&server, "others");
    let bench = |words: &str| {
        let program = Program::bench(&url).args("--tables 1 --threads 2 --warmup 0s --events 20");
        program.args(words).run()
    };
    server.sql("CREATE TABLE others.sbtest1 (id INT PRIMARY KEY, name TEXT)");
    server.sql("INSERT INTO others.sbtest1 VALUES (1, 'precious')");
    for words in ["--rows 100", "--rows 100 --prepare always"] {
        bench(words).fails(USAGE, &["(id, name)", "(id, k, c, pad)", "drop sbtest1"]);
    }
    assert_eq!(
        server.sql("SELECT name FROM others.sbtest1").concat(),
        ["precious"]
    );
    bench("--rows 100 --prepare never").fails(SERVER, &["1054", "schema differs"]);
    server.sql("DROP TABLE others.sbtest1");
    bench("--rows 100").succeeds();
    bench("--rows 200").fails(USAGE, &["100 rows", "200 rows", "--prepare always"]);
    bench("--rows 100 --secondary").fails(USAGE, &["secondary", "--prepare always"]);
    bench("--rows 200 --prepare always").succeeds();
}

#[test]
fn a_command_line_that_makes_no_sense() {
    for (words, texts) in [
        ("--threads 0", ["--threads", "from 1 to 100_000"]),
        ("--tables 0", ["--tables", "from 1 to 100_000"]),
        ("--thread 4", ["--thread", "'--threads'"]),
        ("--wrokload oltp_insert", ["--wrokload", "'--workload'"]),
        (
            "--workload oltp_readwrite",
            ["oltp_readwrite", "did you mean 'oltp_read_write'?"],
        ),
        (
            "--time 5x",
            ["`x` in `5x` is not a unit", "`us`, `ms`, `s`, `m`"],
        ),
        ("--distribution zipf", ["no distribution 'zipf'", "zipfian"]),
        ("--distribution zipfian:exp=-1", ["exp", "zipfian"]),
        ("--rate 0.0001", ["--rate", "from 0.001 to"]),
        ("--rate nan", ["--rate", "from 0.001 to"]),
        ("--prepare perhaps", ["--prepare", "missing"]),
        ("--storage-engine x;drop", ["storage_engine", "x;drop"]),
        (
            "--workload select_random_points --tables 2",
            ["one table", "tables is 2"],
        ),
        (
            "--workload oltp_update_index --index-updates 0",
            ["no statement", "oltp_update_index"],
        ),
    ] {
        let refused = Program::bench("sqlite:").args(words).run();
        let refused = refused.fails(USAGE, &texts);
        assert!(!refused.out().exists(), "{words}");
    }
    for (url, text) in [
        ("oracle://h/x", "oracle://h/x"),
        ("nonsense", "nonsense"),
        ("sqlite:x?journal_mode=wall", "journal_mode=wall"),
        ("mysql://root@127.0.0.1/x?sokcet=/y", "only socket= is"),
    ] {
        Program::bench(url).run().fails(USAGE, &[text]);
    }
    Program::new()
        .args("bnech sqlite:")
        .run()
        .fails(USAGE, &["bnech", "'bench'"]);
}

#[test]
fn a_study_with_a_fault_shows_the_place() {
    let study = "title = \"t\"\n[server]\nengine = \"sqlite\"\n[data]\ntables = 1\nrows = 100\n\
                 [load]\nworkload = \"oltp_read_only\"\nthreads = 1\ntime = \"1s\"\n";
    let with = |line: &str| Program::study(&format!("{study}{line}\n")).run();
    with("threds = 4").fails(USAGE, &["study.toml:11:1", "did you mean `threads`?"]);
    with("warmup = 5").fails(USAGE, &["study.toml:11:10", "warmup"]);
    with("warmup = \"5x\"").fails(USAGE, &["study.toml:11:10", "unit"]);
    with("distribution = \"zipf\"").fails(USAGE, &["study.toml:11:16", "zipfian:exp"]);
    with("rate = \"").fails(USAGE, &["study.toml:11:9"]);
    Program::study(&study.replace("oltp_read_only", "oltp_reed_only"))
        .run()
        .fails(USAGE, &["study.toml:8:12", "oltp_read_only"]);
    let members = "[topology]\ncluster = \"quorum\"\nfollow = \"any\"\n";
    let members = format!("{}{members}", study.replace("sqlite", "postgres"));
    Program::study(&members.replace("oltp_read_only", "oltp_read_write"))
        .run()
        .fails(
            USAGE,
            &[
                "study.toml:12:11",
                "quorum",
                "index_update",
                "oltp_read_only",
            ],
        );
    Program::study(study)
        .args("--set load.thraeds=4")
        .run()
        .fails(USAGE, &["load.thraeds", "threads"]);
    Program::new()
        .args("run missing.toml")
        .run()
        .fails(USAGE, &["missing.toml", "studies/quickstart.toml"]);
}

#[test]
fn results_are_never_overwritten() {
    let program = Program::bench("sqlite:").args(SHORT);
    let out = program.dir().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("mine"), "mine").unwrap();
    let refused = program.run().fails(USAGE, &["already exists", "--out"]);
    let mine = std::fs::read_to_string(refused.out().join("mine")).unwrap();
    assert_eq!(mine, "mine");
    assert_eq!(std::fs::read_dir(refused.out()).unwrap().count(), 1);
}

#[test]
fn a_password_stays_where_it_is() {
    const SECRET: &str = "gr8-s3cret/&word";
    const ENCODED: &str = "gr8-s3cret%2F&word";
    let server = mariadb();
    let plain = database(&server, "secret");
    server.create_user("keeper", SECRET, "mysql_native_password", false);
    let port = server.port();
    let url = format!("mysql://keeper:{ENCODED}@127.0.0.1:{port}/secret");
    let mut running = Program::bench(&url)
        .args("--tables 1 --rows 100 --threads 2 --warmup 0s --time 2s")
        .start();
    running.says("  measure  ");
    let arguments = std::fs::read(format!("/proc/{}/cmdline", running.pid())).unwrap();
    let arguments = String::from_utf8_lossy(&arguments).into_owned();
    assert!(arguments.contains("keeper@127.0.0.1"), "{arguments}");
    assert!(!arguments.contains("s3cret"), "{arguments}");
    let done = running.wait().succeeds();
    assert!(!done.stderr.contains("s3cret") && !done.stdout.contains("s3cret"));
    assert_no_file_has(&done.out(), &["s3cret"]);
    // A study's URL, and one that fails.
    let study = format!(
        "title = \"t\"\n[server]\nurl = \"{url}\"\n[data]\ntables = 1\nrows = 100\n\
         [load]\nworkload = \"oltp_read_only\"\nthreads = 1\nwarmup = \"0s\"\ntime = \"1s\"\n"
    );
    let done = Program::study(&study).run().succeeds();
    assert!(!done.stderr.contains("s3cret") && !done.stdout.contains("s3cret"));
    assert_no_file_has(&done.out(), &["s3cret"]);
    let words = format!("server.url={url}");
    let done = Program::study(&study.replace("keeper", "other"))
        .args("--set")
        .arg(&words)
        .run()
        .succeeds();
    assert_no_file_has(&done.out(), &["s3cret"]);
    // The other ways to give it.
    let url = plain.replace("root@", "keeper@");
    Program::bench(&url)
        .args(SHORT)
        .env("DYNO_PASSWORD", SECRET)
        .run()
        .succeeds();
    let program = Program::bench(&plain.replace("root@", "")).args(SHORT);
    let text = format!("[client]\nuser=keeper\npassword=\"{SECRET}\"\n");
    std::fs::write(program.dir().join("my.cnf"), text).unwrap();
    program.args("--option-file my.cnf").run().succeeds();
    server.sql("DROP USER keeper@'%'");
}

#[test]
fn a_password_is_never_shown_to_another_server() {
    let study = "title = \"t\"\n[data]\nrows = 10\n[load]\nworkload = \"oltp_point_select\"\n\
        [[variant]]\nname = \"a\"\nserver.url = \"mysql://u@127.0.0.1:1/x\"\n\
        [[variant]]\nname = \"b\"\nserver.url = \"mysql://u@127.0.0.1:1/x\"\n";
    let refused = |sets: &[&str]| {
        let mut program = Program::study(study);
        for set in sets {
            program = program.arg("--set").arg(set);
        }
        let texts = ["with different passwords", "the study file"];
        let done = program.run().fails(USAGE, &texts);
        assert!(!done.stderr.contains("one:two"), "{}", done.shown());
    };
    let (a, b) = ("variant.a.server.url", "variant.b.server.url");
    let url = |password: &str| format!("mysql://u{password}@127.0.0.1:1/x");
    let set = |key: &str, password: &str| format!("{key}={}", url(password));
    refused(&[&set(a, ":one"), &set(b, ":two")]);
    refused(&[&set(a, ":one"), &set(b, "")]);
    let list = format!(
        "sweep.server.url=[\"{}\", \"{}\"]",
        url(":one"),
        url(":two")
    );
    refused(&[&list]);
}

#[test]
fn a_password_that_was_typed_is_of_its_address_only() {
    const SECRET: &str = "s3cret";
    let server = mariadb();
    server.create_user("typed", SECRET, "mysql_native_password", false);
    let url = |user: &str, name: &str| database(&server, name).replace("root@", user);
    let study = format!(
        "title = \"t\"\n[data]\nrows = 10\n[load]\nworkload = \"oltp_point_select\"\n\
         warmup = \"0s\"\ntime = \"300ms\"\n[[variant]]\nname = \"a\"\nserver.url = \"{}\"\n\
         [[variant]]\nname = \"b\"\nserver.url = \"{}\"\n",
        url("typed@", "typed_a"),
        url("typed@", "typed_b"),
    );
    let set = |variant: &str| {
        let with_password = url(&format!("typed:{SECRET}@"), &format!("typed_{variant}"));
        format!("variant.{variant}.server.url={with_password}")
    };
    let program = || Program::study(&study).arg("--set").arg(&set("a"));
    program().run().fails(SERVER, &["1045"]);
    program().arg("--set").arg(&set("b")).run().succeeds();
    // What the user says for all servers is for the others.
    program().env("DYNO_PASSWORD", SECRET).run().succeeds();
    server.sql("DROP USER typed@'%'");
}

#[test]
fn an_argument_that_is_no_text_is_taken_or_refused() {
    use std::os::unix::ffi::OsStrExt;
    let bytes = std::ffi::OsStr::from_bytes(b"out-\xff");
    let bench = || Program::new().args("bench sqlite:").args(SHORT);
    let done = bench().arg("--out").os_arg(bytes).run().succeeds();
    store::read_result(&done.dir().join(bytes)).unwrap();
    bench()
        .os_arg(bytes)
        .run()
        .fails(USAGE, &["unexpected argument"]);
}

#[test]
fn the_recorded_command_has_no_secret() {
    let study = "title = \"t\"\n[server]\nengine = \"sqlite\"\n[data]\nrows = 10\n\
        [load]\nworkload = \"oltp_point_select\"\nwarmup = \"0s\"\ntime = \"200ms\"\n";
    let program = Program::study(study).arg("--set");
    let done = program.arg("description=the token=hush-hush").run();
    let command = done.succeeds().result().environment.command;
    assert!(
        command.ends_with("'description=the token=***'"),
        "{command}"
    );
}

#[test]
fn a_password_in_the_url_leaves_the_process_list_before_dyno_connects() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let running = Program::bench(&format!("mysql://root:hush-hush@127.0.0.1:{port}/x")).start();
    let (_silent, _) = listener.accept().unwrap();
    let shown = std::fs::read(format!("/proc/{}/cmdline", running.pid())).unwrap();
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("root@127.0.0.1"), "{shown}");
    assert!(!shown.contains("hush-hush"), "{shown}");
}

#[test]
fn sqlite_has_no_tls() {
    for option in [
        "--tls-mode required",
        "--get-server-public-key",
        "--tls-ca x.pem",
    ] {
        let program = Program::bench("sqlite:").args(SHORT).args(option);
        program.run().fails(USAGE, &["no effect on SQLite"]);
    }
}

#[test]
fn a_mysql_account_that_needs_what_the_client_was_told_not_to_use() {
    let server = MySql::start(&["--skip-log-bin"]);
    server.create_user("careful", "pw", "caching_sha2_password", true);
    let url = format!("mysql://careful:pw@127.0.0.1:{}/sbtest", server.port());
    Program::bench(&url)
        .args(SHORT)
        .args("--tls-mode required")
        .run()
        .fails(SERVER, &["password was not sent", "--tls-ca"]);
    Program::bench(&url)
        .args(SHORT)
        .args("--tls-mode disable --get-server-public-key")
        .run()
        .fails(SERVER, &["1045", "refused the connection"]);
    let done = Program::bench(&url)
        .args(SHORT)
        .args("--tls-mode verify-ca --tls-ca")
        .arg(&server.ca_file().display().to_string())
        .run();
    assert!(done.succeeds().trial().setup.tls.is_some());
}
