//! `dyno bench` on PostgreSQL: what it accepts as an address, loads and runs, and what bad input
//! gets.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Finished, Program, Proxy, assert_no_file_has, postgres, pretend, wait_until};
use measure::setup::Outcome;
use testkit::{Postgres, PostgresServer};
use workload::name::WorkloadName;

const SHORT: &str = "--tables 1 --rows 100 --threads 2 --warmup 0s --events 20";
const USAGE: i32 = 2;
const SERVER: i32 = 3;
const STOPPED: i32 = 4;

/// A new database for one test; gives its URL.
fn database(server: &PostgresServer, name: &str) -> String {
    server.sql(&format!("CREATE DATABASE {name}"));
    server.url(name)
}

fn bench(url: &str, words: &str) -> Finished {
    Program::bench(url).args(SHORT).args(words).run()
}

#[test]
fn every_workload_runs_by_both_protocols() {
    let server = postgres();
    for workload in WorkloadName::ALL {
        for protocol in ["prepared", "text"] {
            let words = format!(
                "--create-database --prepare always --workload {} --protocol {protocol}",
                workload.name()
            );
            // Bulk inserts have tables of another form.
            let url = server.url(match workload {
                WorkloadName::BulkInsert => "bulk",
                _ => "everything",
            });
            let trial = bench(&url, &words).succeeds().trial();
            assert_eq!(trial.transactions.count, 20, "{words}");
            assert_eq!(trial.failures(), 0, "{words}");
        }
    }
    let done = bench(&server.url("everything"), "--create-database").succeeds();
    assert!(done.stderr.contains("PostgreSQL 1"), "{}", done.stderr);
}

#[test]
fn an_address_may_leave_out_what_libpq_finds_elsewhere() {
    let server = postgres();
    database(&server, "elsewhere");
    let (port, directory) = (server.port().to_string(), server.socket_directory());
    let socket = directory.display();
    for url in [
        format!("postgresql://root@/elsewhere?host={socket}&port={port}"),
        format!(
            "postgres://root@{}:{port}/elsewhere",
            socket.to_string().replace('/', "%2F")
        ),
    ] {
        bench(&url, "").succeeds();
    }
    let program = Program::bench("postgres://").args(SHORT);
    let program = program.env("PGHOST", "127.0.0.1").env("PGPORT", &port);
    let program = program.env("PGUSER", "root").env("PGDATABASE", "elsewhere");
    program.run().succeeds();
    let program = Program::bench("postgres://?service=mine").args(SHORT);
    let service = format!("[mine]\nhost=127.0.0.1\nport={port}\nuser=root\ndbname=elsewhere\n");
    fs::write(program.dir().join("services"), service).unwrap();
    program.env("PGSERVICEFILE", "services").run().succeeds();
}

fn assert_secret(done: &Finished) {
    let shown = format!("{}{}", done.stderr, done.stdout);
    assert!(!shown.contains("s3cret"), "{}", done.shown());
    assert_no_file_has(&done.out(), &["s3cret"]);
}

#[test]
fn a_password_stays_where_it_is() {
    const SECRET: &str = "gr8-s3cret/&word";
    const ENCODED: &str = "gr8-s3cret%2F&word";
    let server = postgres();
    database(&server, "secret");
    server.create_user("keeper", SECRET, "scram-sha-256");
    server.sql("ALTER DATABASE secret OWNER TO keeper");
    let port = server.port();
    let socket = server.socket_directory().display();
    for url in [
        format!("postgres://keeper:{ENCODED}@127.0.0.1:{port}/secret"),
        format!("postgresql://keeper:{ENCODED}@/secret?host={socket}&port={port}"),
    ] {
        let program = Program::bench(&url).args("--tables 1 --rows 100 --threads 2 --warmup 0s");
        let mut running = program.args("--time 2s").start();
        running.says("  measure  ");
        let arguments = fs::read(format!("/proc/{}/cmdline", running.pid())).unwrap();
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        assert!(arguments.contains("keeper@"), "{arguments}");
        assert!(!arguments.contains("s3cret"), "{arguments}");
        assert_secret(&running.wait().succeeds());
    }
    let url = format!("postgres://keeper:{ENCODED}@127.0.0.1:{port}/secret");
    let study = format!(
        "title = \"t\"\n[server]\nurl = \"{url}\"\n[data]\ntables = 1\nrows = 100\n\
         [load]\nwarmup = \"0s\"\ntime = \"60s\"\nevents = 20\n"
    );
    assert_secret(&Program::study(&study).run().succeeds());
    // The other ways to give it.
    let url = format!("postgres://keeper@127.0.0.1:{port}/secret");
    for variable in ["PGPASSWORD", "DYNO_PASSWORD"] {
        let program = Program::bench(&url).args(SHORT).env(variable, SECRET);
        assert_secret(&program.run().succeeds());
    }
    let program = Program::bench(&url).args(SHORT);
    let home = program.dir().display().to_string();
    let file = program.dir().join(".pgpass");
    fs::write(&file, format!("127.0.0.1:{port}:*:keeper:{SECRET}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_secret(&program.env("HOME", &home).run().succeeds());
    // Ways in which it could not be kept.
    for url in [
        "postgres://u:s3cret#x@127.0.0.1/x",
        "postgres://u:s3cret/x@/x?host=/run",
        "postgres://u@127.0.0.1/x?password=s3cret",
    ] {
        let refused = Program::bench(url).run();
        let refused = refused.fails(USAGE, &["percent-encode", "DYNO_PASSWORD"]);
        assert!(!refused.stderr.contains("s3cret"), "{}", refused.shown());
    }
}

#[test]
fn a_server_that_is_not_there() {
    Program::bench("postgres://root@no-such-host.invalid/sbtest")
        .run()
        .fails(SERVER, &["no-such-host.invalid", "check the name"]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    Program::bench(&format!("postgres://root@127.0.0.1:{port}/sbtest"))
        .run()
        .fails(SERVER, &["Connection refused", "start the server"]);
    Program::bench("postgres://root@/sbtest?host=/nonexistent")
        .run()
        .fails(SERVER, &["no such socket"]);
    for (url, text) in [
        ("postgres://127.0.0.1/x?sokcet=/y", "\"sokcet\" is unknown"),
        ("postgres://127.0.0.1/x?sslmode=on", "sslmode"),
    ] {
        Program::bench(url).run().fails(USAGE, &[text]);
    }
}

#[test]
fn an_account_or_database_that_is_not_there() {
    let server = postgres();
    server.create_user("bench", "right", "scram-sha-256");
    let login = |login: &str| format!("postgres://{login}@127.0.0.1:{}/sbtest", server.port());
    let refused = bench(&login("bench:wrong"), "").fails(SERVER, &["28P01", "DYNO_PASSWORD"]);
    assert!(!refused.stderr.contains("wrong"), "{}", refused.stderr);
    bench(&login("bench"), "").fails(SERVER, &["requests a password", "PGPASSWORD"]);
    bench(&login("nobody:x"), "").fails(SERVER, &["28P01"]);
    bench(&server.url("no_such_database"), "").fails(SERVER, &["3D000", "--create-database"]);
    // It may neither create tables nor a database.
    server.sql("REVOKE CREATE ON SCHEMA public FROM public");
    bench(&login("bench:right"), "").fails(SERVER, &["42501", "grant the account"]);
    let url = login("bench:right").replace("/sbtest", "/no_such_database");
    bench(&url, "--create-database").fails(SERVER, &["42501", "grant the account"]);
}

#[test]
fn tls_that_cannot_be_had_or_believed() {
    let server = Postgres::builder().tls(true).start();
    let ca = server.ca_file().display().to_string();
    // The certificate is for localhost.
    let with_ca = |host: &str, mode: &str| {
        let url = format!("postgres://root@{host}:{}/sbtest", server.port());
        bench(&url, &format!("--tls-ca {ca} {mode}"))
    };
    let texts = ["TLS", "not valid for name", "--tls-mode verify-ca"];
    with_ca("127.0.0.1", "--tls-mode verify-full").fails(SERVER, &texts);
    let verified = with_ca("127.0.0.1", "--tls-mode verify-ca").succeeds();
    assert!(verified.trial().setup.tls.is_some());
    with_ca("localhost", "--tls-mode verify-full").succeeds();
    let url = server.url("sbtest");
    bench(&url, "--tls-mode verify-ca").fails(SERVER, &["TLS", "--tls-ca"]);
    bench(&url, "--tls-ca /nonexistent.pem").fails(USAGE, &["/nonexistent.pem"]);
    // libpq's words for the same.
    let libpqs = format!("{url}?sslmode=verify-full&sslrootcert={ca}");
    bench(&libpqs, "").fails(SERVER, &["not valid for name"]);
    let plain = postgres();
    let program = Program::bench(&plain.url("sbtest")).env("PGSSLMODE", "require");
    program.run().fails(SERVER, &["TLS", "--tls-mode"]);
}

#[test]
fn another_protocol_at_that_port() {
    let http = pretend("postgres", |mut stream| {
        let _ = stream.read(&mut [0; 100]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n<html></html>");
        // Until the client leaves.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    bench(&http, "").fails(SERVER, &["not PostgreSQL", "check host and port"]);
    let mysql = pretend("postgres", |mut stream| {
        let _ = stream.write_all(b"\x4a\0\0\0\x0a8.0.36\0\x01\0\0\0abcdefgh\0");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    bench(&mysql, "").fails(SERVER, &["not PostgreSQL", "check host and port"]);
    let silent = pretend("postgres", |mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    bench(&silent, "").fails(SERVER, &["did not complete", "listens there"]);
}

#[test]
fn a_version_that_dyno_does_not_support() {
    for version in ["12.22", "19beta1"] {
        let url = pretend("postgres", move |mut stream| {
            // A request for TLS, then the startup message.
            let _ = stream.read(&mut [0; 8]);
            let _ = stream.write_all(b"N");
            let _ = stream.read(&mut [0; 1000]);
            let mut reply = b"R\0\0\0\x08\0\0\0\0S".to_vec();
            let status = format!("server_version\0{version}\0");
            reply.extend((status.len() as u32 + 4).to_be_bytes());
            reply.extend(status.as_bytes());
            reply.extend(b"Z\0\0\0\x05I");
            let _ = stream.write_all(&reply);
            let _ = stream.read(&mut [0; 100]);
        });
        bench(&url, "").fails(SERVER, &[version, "13 to 18", "supported version"]);
    }
}

#[test]
fn a_server_that_closes_in_the_middle() {
    let at_once = pretend("postgres", drop);
    bench(&at_once, "").fails(SERVER, &["connection was lost", "server's log"]);
    let server = postgres();
    let url = database(&server, "closes");
    bench(&url, "--prepare only").succeeds();
    // In the login and among the replies of the first statements.
    for bytes in [1, 2, 30, 300, 420, 500, 700] {
        let proxy = Proxy::cutting(server.port(), bytes);
        let url = format!("postgres://root@127.0.0.1:{}/closes", proxy.port());
        bench(&url, "").fails(SERVER, &["help: "]);
    }
}

#[test]
fn tables_that_are_not_the_load_s() {
    let server = postgres();
    let url = database(&server, "others");
    let target = |sql: &str| server.sql(&format!("\\c others\n{sql}"));
    target("CREATE TABLE sbtest1 (id INT PRIMARY KEY, name TEXT)");
    target("INSERT INTO sbtest1 VALUES (1, 'precious')");
    for words in ["", "--prepare always"] {
        bench(&url, words).fails(USAGE, &["(id, name)", "(id, k, c, pad)", "drop sbtest1"]);
    }
    assert_eq!(target("SELECT name FROM sbtest1").concat(), ["precious"]);
    bench(&url, "--prepare never").fails(SERVER, &["42703", "schema differs"]);
    target("DROP TABLE sbtest1");
    bench(&url, "--prepare never").fails(SERVER, &["42P01", "--prepare missing"]);
    bench(&url, "").succeeds();
    let more = "--rows 200";
    let program = |words: &str| {
        Program::bench(&url)
            .args("--tables 1 --warmup 0s --events 20")
            .args(words)
            .run()
    };
    program(more).fails(USAGE, &["100 rows", "200 rows", "--prepare always"]);
    program("--rows 200 --prepare always").succeeds();
    // A table that is only in another schema of the database is not seen.
    target("CREATE SCHEMA other");
    target("ALTER TABLE sbtest1 SET SCHEMA other");
    program("--prepare never").fails(SERVER, &["42P01"]);
    let options = format!("{url}?options=-c%20search_path=other");
    let done = Program::bench(&options)
        .args("--tables 1 --rows 200 --prepare never --warmup 0s --events 20")
        .run()
        .succeeds();
    // The study in the result finds it, too.
    let study = fs::read_to_string(done.out().join("study.toml")).unwrap();
    Program::study(&study).run().succeeds();
}

#[test]
fn too_many_connections() {
    let server = Postgres::start(&["max_connections=8", "superuser_reserved_connections=0"]);
    let url = server.url("sbtest");
    let words = "--tables 1 --rows 100 --threads 30 --warmup 0s --events 20";
    let program = Program::bench(&url).args(words);
    program
        .run()
        .fails(SERVER, &["53300", "max_connections", "--threads"]);
}

#[test]
fn a_standby_takes_a_load_that_only_reads() {
    let mut server = Postgres::start(&[]);
    bench(&server.url("sbtest"), "--prepare only").succeeds();
    server.stop("fast");
    fs::write(server.data_dir().join("standby.signal"), "").unwrap();
    server.restart();
    let url = server.url("sbtest");
    bench(&url, "--workload oltp_point_select").succeeds();
    let texts = ["25006", "read-only", "use the primary"];
    bench(&url, "--prepare always").fails(SERVER, &texts);
    bench(&url, "--workload oltp_update_index").fails(STOPPED, &texts);
}

#[test]
fn errors_are_told_by_their_sqlstate() {
    let server = postgres();
    let url = database(&server, "errors");
    let sql = |sql: &str| server.sql(&format!("\\c errors\n{sql}"));
    sql("ALTER DATABASE errors SET deadlock_timeout = '10ms'");
    // Deadlocks restart.
    let words = "--workload oltp_write_only --tables 1 --rows 6 --threads 8 --warmup 0s \
        --index-updates 6 --distribution uniform --events 60";
    let program = || Program::bench(&url).args(words);
    let trial = program().run().succeeds().trial();
    assert_eq!((trial.transactions.count, trial.failures()), (60, 0));
    let deadlock = trial.errors.iter().find(|error| error.code == "40P01");
    assert!(
        deadlock.is_some_and(|error| error.action == "restarted"),
        "{:?}",
        trial.errors
    );
    // Other errors stop the load, unless they are ignored.
    bench(&url, "--prepare always").succeeds();
    sql("ALTER TABLE sbtest1 ADD CHECK (id % 2 = 0) NOT VALID");
    let update = "--workload oltp_update_index";
    let texts = ["23514", "UPDATE sbtest1", "--ignore-errors 23514"];
    let stopped = bench(&url, update).fails(STOPPED, &texts);
    assert!(matches!(stopped.trial().outcome, Outcome::Stopped { .. }));
    let ignored = bench(&url, &format!("{update} --ignore-errors 23514,40001"));
    let trial = ignored.succeeds().trial();
    let failed = trial
        .errors
        .iter()
        .find(|error| error.code == "23514")
        .unwrap();
    assert_eq!(
        (failed.action.as_str(), trial.transactions.count),
        ("ignored", 20)
    );
}

#[test]
fn a_connection_that_is_terminated_is_opened_again() {
    let server = postgres();
    let url = database(&server, "victims");
    let mut running = Program::bench(&url)
        .args("--tables 1 --rows 100 --threads 3 --warmup 0s --time 300s")
        .start();
    running.says("  measure  ");
    let terminate =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'victims'";
    assert!(server.sql(terminate).len() >= 3);
    running.says(" reconnects");
    running.signal(rustix::process::Signal::INT);
    let trial = running.wait().fails(STOPPED, &[]).trial();
    assert!((1..=4).contains(&trial.reconnects), "{:?}", trial.errors);
    wait_until("no connection is left", || {
        let left = "SELECT 1 FROM pg_stat_activity WHERE datname = 'victims'";
        server.sql(left).is_empty()
    });
}
