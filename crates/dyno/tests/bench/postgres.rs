//! `dyno bench` on PostgreSQL: what it accepts as an address, and what it says of versions, standbys,
//! and errors.

use std::fs;
use std::io::{Read, Write};

use crate::common::{Finished, Program, database, postgres, pretend};
use measure::setup::Outcome;
use testkit::Postgres;

const SHORT: &str = "--tables 1 --rows 100 --threads 2 --warmup 0s --events 20";
const SERVER: i32 = 3;
const STOPPED: i32 = 4;

fn bench(url: &str, words: &str) -> Finished {
    Program::bench(url).args(SHORT).args(words).run()
}

#[test]
fn an_address_may_leave_out_what_libpq_finds_elsewhere() {
    let server = postgres();
    database(&*server, "elsewhere");
    let (port, directory) = (server.port().to_string(), server.socket_directory());
    let socket = directory.display();
    let encoded = socket.to_string().replace('/', "%2F");
    for url in [
        format!("postgresql://root@/elsewhere?host={socket}&port={port}"),
        format!("postgres://root@{encoded}:{port}/elsewhere"),
    ] {
        bench(&url, "").succeeds();
    }
    let program = Program::bench("postgres://").args(SHORT);
    let program = program.env("PGHOST", "127.0.0.1").env("PGPORT", &port);
    let program = program.env("PGUSER", "root").env("PGDATABASE", "elsewhere");
    program.succeeds();
    let program = Program::bench("postgres://?service=mine").args(SHORT);
    let service = format!("[mine]\nhost=127.0.0.1\nport={port}\nuser=root\ndbname=elsewhere\n");
    fs::write(program.dir().join("services"), service).unwrap();
    program.env("PGSERVICEFILE", "services").succeeds();
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
fn too_many_connections() {
    let server = Postgres::start(&["max_connections=8", "superuser_reserved_connections=0"]);
    let url = server.url("sbtest");
    let words = "--tables 1 --rows 100 --threads 30 --warmup 0s --events 20";
    let texts = ["53300", "max_connections", "--threads"];
    Program::bench(&url).args(words).fails(SERVER, &texts);
}

#[test]
fn a_standby_takes_a_load_that_only_reads() {
    let mut server = Postgres::start(&[]);
    bench(&server.url("sbtest"), "--prepare only").succeeds();
    server.stop();
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
    let url = database(&*server, "errors");
    let sql = |sql: &str| server.sql(&format!("\\c errors\n{sql}"));
    // Other errors stop the load, unless they are ignored.
    bench(&url, "--prepare always").succeeds();
    sql("ALTER TABLE sbtest1 ADD CHECK (id % 2 = 0) NOT VALID");
    let update = "--workload oltp_update_index";
    let texts = ["23514", "UPDATE sbtest1", "--ignore-errors 23514"];
    let stopped = bench(&url, update).fails(STOPPED, &texts);
    assert!(matches!(stopped.trial().outcome, Outcome::Stopped { .. }));
    let ignored = bench(&url, &format!("{update} --ignore-errors 23514,40001"));
    let trial = ignored.succeeds().trial();
    let mut errors = trial.errors.iter();
    let failed = errors.find(|error| error.code == "23514").unwrap();
    assert_eq!(
        (failed.action.as_str(), trial.transactions.count),
        ("ignored", 20)
    );
}
