//! What bad input gets: a message that says why and what to do, and its exit code.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;

use crate::common::{
    self, Finished, Program, Proxy, Served, database, mariadb, postgres, pretend, refusing_port,
};
use testkit::{MariaDb, Postgres};

const SHORT: &str = "--tables 1 --rows 100 --threads 2 --warmup 0s --events 20";
const USAGE: i32 = 2;
const SERVER: i32 = 3;

fn bench(url: &str, words: &str) -> Finished {
    Program::bench(url).args(SHORT).args(words).run()
}

#[test]
fn a_server_that_is_not_there() {
    let (_refuses, port) = refusing_port();
    let (one, other) = (format!("127.0.0.1:{port}"), format!("[::1]:{port}"));
    let address = format!("root@{one}/sbtest");
    let addresses = format!("u@{one},{other}/sbtest");
    let cases = format!(
        "mysql://root@no-such-host.invalid/sbtest => no-such-host.invalid & check the name
         postgres://root@no-such-host.invalid/sbtest => no-such-host.invalid & check the name
         mysql://{address} => Connection refused & start the server
         postgres://{address} => Connection refused & start the server
         mysql://{addresses} => {one} & {other}
         postgres://{addresses} => {one} & {other}
         mysql://u@no-such-host.invalid,nor-this.invalid/x => no-such-host.invalid & nor-this.invalid
         mysql://root@localhost/x?socket=/nonexistent.sock => no such socket & check the path
         postgres://root@/x?host=/nonexistent => no such socket & /nonexistent"
    );
    for (url, texts) in common::cases(&cases) {
        bench(url, "").fails(SERVER, &texts);
    }
}

#[test]
fn an_account_or_database_that_is_not_there() {
    let server = mariadb();
    server.add_user("bench", "right", "sbtest");
    server.sql("CREATE USER poor@'%'; GRANT USAGE ON *.* TO poor@'%'");
    let url = |login: &str| format!("mysql://{login}@127.0.0.1:{}/sbtest", server.port());
    let texts = ["1045", "28000", "DYNO_PASSWORD"];
    bench(&url("bench:wrong"), "")
        .fails(SERVER, &texts)
        .hides("wrong");
    bench(&server.url("no_such_database"), "").fails(SERVER, &["1049", "CREATE DATABASE"]);
    bench(&url("poor"), "").fails(SERVER, &["1044", "grant the account"]);
    server.sql("DROP USER bench@'%'; DROP USER poor@'%'");

    let server = postgres();
    server.create_user("bench", "right", "scram-sha-256");
    let url = |login: &str| format!("postgres://{login}@127.0.0.1:{}/sbtest", server.port());
    let texts = ["28P01", "DYNO_PASSWORD"];
    bench(&url("bench:wrong"), "")
        .fails(SERVER, &texts)
        .hides("wrong");
    bench(&url("bench"), "").fails(SERVER, &["requests a password", "PGPASSWORD"]);
    bench(&url("nobody:x"), "").fails(SERVER, &["28P01"]);
    bench(&server.url("no_such_database"), "").fails(SERVER, &["3D000", "--create-database"]);
    // It may neither create tables nor a database.
    server.sql("REVOKE CREATE ON SCHEMA public FROM public");
    bench(&url("bench:right"), "").fails(SERVER, &["42501", "grant the account"]);
    let url = url("bench:right").replace("/sbtest", "/no_such_database");
    bench(&url, "--create-database").fails(SERVER, &["42501", "grant the account"]);
}

/// The certificate is for localhost.
fn tls_that_cannot_be_believed<S: Served>(server: &S) {
    let ca = server.ca_file().display().to_string();
    let with_ca = |host: &str, mode: &str| {
        let url = format!("{}://root@{host}:{}/sbtest", S::SCHEME, server.port());
        bench(&url, &format!("--tls-ca {ca} {mode}"))
    };
    let texts = ["TLS", "not valid for name", "--tls-mode verify-ca"];
    with_ca("127.0.0.1", "--tls-mode verify-full").fails(SERVER, &texts);
    with_ca("127.0.0.1", "").fails(SERVER, &["TLS", "certificate"]);
    let verified = with_ca("127.0.0.1", "--tls-mode verify-ca").succeeds();
    assert!(verified.trial().setup.tls.is_some());
    with_ca("localhost", "--tls-mode verify-full").succeeds();
    // The system's authorities have not signed it.
    let url = server.url("sbtest");
    bench(&url, "--tls-mode verify-ca").fails(SERVER, &["TLS", "--tls-ca"]);
    bench(&url, "--tls-ca /nonexistent.pem").fails(USAGE, &["/nonexistent.pem"]);
}

#[test]
fn tls_that_cannot_be_had_or_believed() {
    tls_that_cannot_be_believed(&MariaDb::builder().tls(true).start());
    let server = Postgres::builder().tls(true).start();
    tls_that_cannot_be_believed(&server);
    // libpq's words for the same.
    let ca = server.ca_file().display().to_string();
    let words = format!("?sslmode=verify-full&sslrootcert={ca}");
    let libpqs = server.url("sbtest") + &words;
    bench(&libpqs, "").fails(SERVER, &["not valid for name"]);

    let texts = ["TLS", "--tls-mode"];
    bench(&mariadb().url("sbtest"), "--tls-mode required").fails(SERVER, &texts);
    let plain = postgres();
    let program = Program::bench(&plain.url("sbtest")).env("PGSSLMODE", "require");
    program.fails(SERVER, &texts);
}

#[test]
fn another_protocol_at_that_port() {
    const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n<html></html>";
    // Until the client leaves.
    let until_it_leaves = |mut stream: TcpStream| drop(stream.read_to_end(&mut Vec::new()));
    let greets = move |words: &'static [u8]| {
        move |mut stream: TcpStream| {
            let _ = stream.write_all(words);
            until_it_leaves(stream);
        }
    };
    let answers = move |mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 100]);
        let _ = stream.write_all(HTTP);
        until_it_leaves(stream);
    };
    let mysqls = b"\x4a\0\0\0\x0a8.0.36\0\x01\0\0\0abcdefgh\0";
    for (url, text) in [
        (pretend("mysql", greets(HTTP)), "not MySQL"),
        (pretend("postgres", answers), "not PostgreSQL"),
        (pretend("postgres", greets(mysqls)), "not PostgreSQL"),
    ] {
        bench(&url, "").fails(SERVER, &[text, "check host and port"]);
    }
    // These wait for a request that never comes.
    std::thread::scope(|scope| {
        for scheme in ["mysql", "postgres"] {
            let silent = pretend(scheme, until_it_leaves);
            let texts = ["did not complete the login", "listens there"];
            scope.spawn(move || bench(&silent, "").fails(SERVER, &texts));
        }
    });
}

/// At once, in the greeting, in the login, among the replies of the first statements.
fn closes_in_the_middle<S: Served>(server: &S, bytes: &[u64]) {
    let at_once = pretend(S::SCHEME, drop);
    bench(&at_once, "").fails(SERVER, &["connection was lost", "server's log"]);
    bench(&database(server, "closes"), "--prepare only").succeeds();
    for bytes in bytes {
        let proxy = Proxy::cutting(server.port(), *bytes);
        let url = format!("{}://root@127.0.0.1:{}/closes", S::SCHEME, proxy.port());
        bench(&url, "").fails(SERVER, &["help: "]);
    }
}

#[test]
fn a_server_that_closes_in_the_middle() {
    closes_in_the_middle(&*mariadb(), &[1, 30, 95, 115, 130, 250, 400, 700]);
    closes_in_the_middle(&*postgres(), &[1, 2, 30, 300, 420, 500, 700]);
}

/// The server's codes for a column and a table that do not exist.
fn tables_that_are_not_the_load_s(server: &impl Served, no_column: &str, no_table: &str) {
    let url = database(server, "others");
    let sql = |sql: &str| server.sql_in("others", sql);
    let bench = |words: &str| {
        let program = Program::bench(&url).args("--tables 1 --threads 2 --warmup 0s --events 20");
        program.args(words).run()
    };
    sql("CREATE TABLE sbtest1 (id INT PRIMARY KEY, name TEXT)");
    sql("INSERT INTO sbtest1 VALUES (1, 'precious')");
    for words in ["--rows 100", "--rows 100 --prepare always"] {
        bench(words).fails(USAGE, &["(id, name)", "(id, k, c, pad)", "drop sbtest1"]);
    }
    assert_eq!(sql("SELECT name FROM sbtest1").concat(), ["precious"]);
    bench("--rows 100 --prepare never").fails(SERVER, &[no_column, "schema differs"]);
    sql("DROP TABLE sbtest1");
    bench("--rows 100 --prepare never").fails(SERVER, &[no_table, "--prepare missing"]);
    bench("--rows 100").succeeds();
    bench("--rows 200").fails(USAGE, &["100 rows", "200 rows", "--prepare always"]);
    bench("--rows 100 --secondary").fails(USAGE, &["secondary", "--prepare always"]);
    bench("--rows 200 --prepare always").succeeds();
}

#[test]
fn tables_of_others_stay() {
    tables_that_are_not_the_load_s(&*mariadb(), "1054", "1146 (42S02)");
    let server = postgres();
    tables_that_are_not_the_load_s(&*server, "42703", "42P01");
    // A table that is only in another schema of the database is not seen.
    let sql = "CREATE SCHEMA other; ALTER TABLE sbtest1 SET SCHEMA other";
    server.sql_in("others", sql);
    let words = "--tables 1 --rows 200 --prepare never --warmup 0s --events 20";
    let bench = |url: &str| Program::bench(url).args(words).run();
    let url = server.url("others");
    bench(&url).fails(SERVER, &["42P01"]);
    let done = bench(&format!("{url}?options=-c%20search_path=other")).succeeds();
    // The study in the result finds it, too.
    Program::study(&done.file("study.toml")).succeeds();
}

#[test]
fn a_study_with_a_fault_shows_the_place() {
    let study = "title = \"t\"\n[server]\nengine = \"sqlite\"\n[data]\ntables = 1\nrows = 100\n\
                 [load]\nworkload = \"oltp_read_only\"\nthreads = 1\ntime = \"1s\"\n";
    let members = "[topology]\ncluster = \"quorum\"\nfollow = \"any\"\n";
    let table =
        "[sweep]\n\"load.threads\" = [1]\n[report]\ntables = [{ rows = \"load.threads\", columns";
    let writes = study
        .replace("oltp_read_only", "oltp_read_write")
        .replace("sqlite", "postgres");
    let change = "relative to the first [[variant]]";
    let quorum = "oltp_read_only & index_update & quorum";
    for (study, texts) in [
        (
            format!("{study}threds = 4"),
            "11:1 & did you mean `threads`?",
        ),
        (format!("{study}warmup = 5"), "11:10 & warmup"),
        (
            format!("{study}distribution = \"zipf\""),
            "11:16 & zipfian:exp",
        ),
        (format!("{study}rate = \""), "11:9"),
        (
            study.replace("oltp_read_only", "oltp_reed_only"),
            "8:12 & oltp_read_only",
        ),
        (writes + members, &format!("12:11 & {quorum}")),
        (
            format!("{study}{table} = [\"tsp\"] }}]"),
            "14:47 & did you mean `tps`?",
        ),
        (
            format!("{study}{table} = [\"tps.change_pct\"] }}]"),
            &format!("14:47 & {change}"),
        ),
    ] {
        let texts = format!("study.toml:{texts}");
        let texts: Vec<&str> = texts.split(" & ").collect();
        for command in ["run", "plan"] {
            let program = Program::new().with_study(&study).arg(command);
            program.arg("study.toml").fails(USAGE, &texts);
        }
    }
    let set = Program::study(study).args("--set load.thraeds=4");
    set.fails(USAGE, &["load.thraeds", "threads"]);
}

#[test]
fn results_are_never_overwritten() {
    let program = Program::bench("sqlite:").args(SHORT);
    let out = program.dir().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("mine"), "mine").unwrap();
    let refused = program.fails(USAGE, &["already exists", "--out"]);
    assert_eq!(refused.file("mine"), "mine");
    assert_eq!(std::fs::read_dir(refused.out()).unwrap().count(), 1);
}

#[test]
fn an_argument_that_is_no_text_is_taken_or_refused() {
    let bytes = OsStr::from_bytes(b"out-\xff");
    let bench = || Program::new().args("bench sqlite:").args(SHORT);
    let done = bench().arg("--out").arg(bytes).succeeds();
    store::read_result(&done.dir().join(bytes)).unwrap();
    bench().arg(bytes).fails(USAGE, &["invalid UTF-8"]);
}
