//! Each server starts, answers, restarts, and leaves nothing.

use std::net::TcpStream;
use std::path::Path;

use testkit::{MariaDb, MySql, Server};

/// A server shared by several tests is started in the thread of the first one, and must not end with it.
#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let server = std::thread::spawn(|| MariaDb::start(&[])).join().unwrap();
    assert_eq!(server.sql("SELECT 1"), [["1"]]);
}

#[test]
fn servers_answer() {
    answers(MariaDb::start(&["--max-connections=77"]));
    answers(MySql::start(&["--max-connections=77"]));
}

fn answers(mut server: Server) {
    TcpStream::connect(("127.0.0.1", server.port())).expect("it listens on its port");
    assert!(server.url("sbtest").starts_with("mysql://root@127.0.0.1:"));
    let rows = server.sql("CREATE TABLE t (a INT, b VARCHAR(9)); INSERT INTO t VALUES (1, 'x\\ty'), (2, NULL); SELECT * FROM t");
    assert_eq!(rows, [["1", "x\ty"], ["2", "NULL"]]);
    assert_eq!(server.sql("SELECT @@max_connections"), [["77"]]);

    server.restart();
    assert_eq!(server.sql("SELECT count(*) FROM t"), [["2"]]);

    let pid = server.pid().expect("it runs");
    let data = server.data_dir();
    drop(server);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert!(!data.exists());
}

#[test]
#[should_panic(expected = "unknown")]
fn a_server_that_does_not_start_shows_its_log() {
    MariaDb::start(&["--no-such-option=1"]);
}
