//! Thousands of connections on one event loop.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{PATIENCE, by_socket, open, root};
use client::mysql::{Connection, Target};
use client::reactor::Reactor;
use testkit::{MariaDb, Server};

const CONNECTIONS: usize = 2000;

/// Opens all at once, uses all, closes all.
fn open_use_and_close(target: &Target) {
    let reactor = Reactor::new().unwrap();
    let opened = Rc::new(RefCell::new(Vec::new()));
    for _ in 0..CONNECTIONS {
        let (target, opened) = (target.clone(), Rc::clone(&opened));
        reactor.spawn(async move {
            let connection = Connection::open_within(PATIENCE, &target).await;
            opened.borrow_mut().push(connection.unwrap());
        });
    }
    reactor.run_tasks(|| false).unwrap();
    let connections = opened.take();
    assert_eq!(connections.len(), CONNECTIONS);
    let answered = Rc::new(RefCell::new(0));
    for mut connection in connections {
        let answered = Rc::clone(&answered);
        reactor.spawn(async move {
            for _ in 0..3 {
                let done = connection.run("SELECT 1 UNION SELECT 2").await.unwrap();
                *answered.borrow_mut() += done.rows;
            }
            connection.close().await;
        });
    }
    reactor.run_tasks(|| false).unwrap();
    assert_eq!(answered.take(), CONNECTIONS as u64 * 6);
    assert_eq!(reactor.task_count(), 0);
}

#[test]
fn by_tcp_and_by_unix_socket() {
    let server = MariaDb::start(&["--max-connections=2100", "--back-log=50"]);
    let before = aborted(&server);
    open_use_and_close(&root(&server));
    // Its queue is shorter than what comes at once.
    open_use_and_close(&by_socket(&server, "root", "", &open()));
    assert_eq!(aborted(&server), before, "all said good-bye");
}

/// Connections that ended without a word.
fn aborted(server: &Server) -> Vec<Vec<String>> {
    server.sql("SHOW GLOBAL STATUS LIKE 'Aborted_%'")
}
