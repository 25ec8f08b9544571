//! What a load does when a statement fails: run again, reconnect, or stop.

use std::time::Duration;

use client::TlsMode;
use client::postgres::{Connection, PostgresSession};
use client::reactor::{Reactor, timeout};
use client::tls::TlsFailure;
use testkit::{Postgres, PostgresServer};
use workload::session::{FailureKind, Param, Session, SessionError};

use super::{root, target};
use crate::common::{self, PATIENCE, assert_told, query, run, tls, why_no_tls};

const CONNECTIONS: usize = 12;

async fn session(server: &PostgresServer) -> PostgresSession {
    common::session(root(server), &["UPDATE t SET k = k + 1 WHERE id = $1"]).await
}

#[track_caller]
fn assert_failed(error: &SessionError, kind: FailureKind, sqlstate: &str) {
    let code = error.code();
    assert_eq!((error.kind, code.as_str()), (kind, sqlstate), "{error}");
    assert!(error.to_string().contains(sqlstate), "{error}");
}

#[test]
fn failures() {
    let limit = format!("max_connections={CONNECTIONS}");
    let mut server = Postgres::start(&[&limit, "superuser_reserved_connections=0"]);
    server.sql("CREATE TABLE t (id int PRIMARY KEY, k int); INSERT INTO t VALUES (1, 0), (2, 0)");
    no_tls(&server);
    too_many_clients(&server);
    run(async {
        killed_between_statements(&server).await;
        timeouts(&server).await;
        serialization_failure(&server).await;
        read_only(&server).await;
    });
    ended_in_a_statement(&server);
    deadlock(&server);
    stopped_server(&mut server);
}

fn no_tls(server: &PostgresServer) {
    for mode in [TlsMode::Required, TlsMode::VerifyCa] {
        let target = target(&server.url("sbtest"), None, &tls(mode));
        let error = run(Connection::open(&target)).unwrap_err();
        assert!(matches!(why_no_tls(&error), TlsFailure::NotOffered));
    }
    let preferred = target(&server.url("sbtest"), None, &tls(TlsMode::Preferred));
    let connection = run(Connection::open(&preferred)).unwrap();
    assert_eq!(connection.tls_description(), None);
}

fn too_many_clients(server: &PostgresServer) {
    run(async {
        let mut open = Vec::new();
        let refused = loop {
            match Connection::open(&root(server)).await {
                Ok(connection) => open.push(connection),
                Err(error) => break error,
            }
            assert!(open.len() <= CONNECTIONS);
        };
        assert_told(&refused, &["too many clients"], &["max_connections"]);
        let refused = refused.into_session_error(None);
        assert_failed(&refused, FailureKind::Lost, "53300");
        for connection in open {
            connection.close().await;
        }
    });
    // The server takes a moment to notice.
    while server_is_full(server) {}
}

fn server_is_full(server: &PostgresServer) -> bool {
    run(async {
        match Connection::open(&root(server)).await {
            Ok(mut connection) => {
                let busy = "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend'";
                connection.run(busy).await.unwrap().rows > 1
            }
            Err(_) => true,
        }
    })
}

/// Ends all connections but its own, and waits until they have.
fn terminate_others(server: &PostgresServer) {
    server.sql(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity \
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    );
}

async fn killed_between_statements(server: &PostgresServer) {
    let mut victim = session(server).await;
    terminate_others(server);
    let error = victim.execute(0, &[Param::Int(1)]).await.unwrap_err();
    assert_failed(&error, FailureKind::Away, "57P01");
    let error = query(&mut victim, "SELECT 1").await.unwrap_err();
    assert_eq!(error.kind, FailureKind::Lost, "{error}");
}

/// Runs `act` as soon as a connection runs a statement with this text.
fn during(server: &PostgresServer, text: &str, act: &str) {
    let running = format!("pid <> pg_backend_pid() AND state = 'active' AND query LIKE '%{text}%'");
    let wait = format!("SELECT 1 FROM pg_stat_activity WHERE {running}");
    while server.sql(&wait).is_empty() {}
    server.sql(&format!(
        "SELECT {act}(pid) FROM pg_stat_activity WHERE {running}"
    ));
}

fn ended_in_a_statement(server: &PostgresServer) {
    for (act, kind, sqlstate) in [
        ("pg_terminate_backend", FailureKind::Away, "57P01"),
        ("pg_cancel_backend", FailureKind::Refused, "57014"),
    ] {
        std::thread::scope(|scope| {
            scope.spawn(|| during(server, "victim", act));
            run(async {
                let mut victim = session(server).await;
                let sql = "SELECT 'victim', pg_sleep(1000)";
                let error = query(&mut victim, sql).await.unwrap_err();
                assert_failed(&error, kind, sqlstate);
                let next = query(&mut victim, "SELECT 1").await;
                assert_eq!(next.ok(), (kind == FailureKind::Refused).then_some(1));
            });
        });
    }
}

async fn timeouts(server: &PostgresServer) {
    let mut holder = session(server).await;
    query(&mut holder, "BEGIN; UPDATE t SET k = 0")
        .await
        .unwrap();
    let mut waiter = session(server).await;
    let limit = "SET lock_timeout = '10ms'";
    query(&mut waiter, limit).await.unwrap();
    let error = waiter.execute(0, &[Param::Int(1)]).await.unwrap_err();
    assert_failed(&error, FailureKind::Restart, "55P03");
    holder.rollback().await.unwrap();
    let in_transaction = "SET idle_in_transaction_session_timeout = '10ms'; BEGIN";
    for (setting, sqlstate) in [
        ("SET idle_session_timeout = '10ms'", "57P05"),
        (in_transaction, "25P03"),
    ] {
        let mut idle = session(server).await;
        query(&mut idle, setting).await.unwrap();
        let others = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SET idle%'";
        while !server.sql(others).is_empty() {}
        let error = query(&mut idle, "SELECT 1").await.unwrap_err();
        assert_failed(&error, FailureKind::Lost, sqlstate);
    }
}

async fn serialization_failure(server: &PostgresServer) {
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM t";
    let mut first = session(server).await;
    query(&mut first, begin).await.unwrap();
    let mut second = session(server).await;
    second.execute(0, &[Param::Int(1)]).await.unwrap();
    let error = first.execute(0, &[Param::Int(1)]).await.unwrap_err();
    assert_failed(&error, FailureKind::Restart, "40001");
    let error = query(&mut first, "SELECT 1").await.unwrap_err();
    assert_failed(&error, FailureKind::Refused, "25P02");
    first.rollback().await.unwrap();
    let again = first.execute(0, &[Param::Int(1)]).await.unwrap();
    assert_eq!(again.affected, 1);
    let sql = "INSERT INTO t VALUES (1, 0)";
    let error = query(&mut first, sql).await.unwrap_err();
    assert_failed(&error, FailureKind::Restart, "23505");
}

async fn read_only(server: &PostgresServer) {
    let mut reader = session(server).await;
    // A server that has accepted a write has lost its role.
    for kind in [FailureKind::Refused, FailureKind::Away] {
        let sql = "SET default_transaction_read_only = on";
        query(&mut reader, sql).await.unwrap();
        let error = reader.execute(0, &[Param::Int(1)]).await.unwrap_err();
        assert_failed(&error, kind, "25006");
        let sql = "SET default_transaction_read_only = off";
        query(&mut reader, sql).await.unwrap();
        reader.execute(0, &[Param::Int(1)]).await.unwrap();
    }
}

fn deadlock(server: &PostgresServer) {
    let reactor = Reactor::new().unwrap();
    let outcome = reactor.block_on(async {
        let mut first = session(server).await;
        let mut second = session(server).await;
        for (session, limit) in [(&mut first, "10ms"), (&mut second, "1h")] {
            let begin = format!("SET deadlock_timeout = '{limit}'; BEGIN");
            query(session, &begin).await.unwrap();
        }
        first.execute(0, &[Param::Int(1)]).await.unwrap();
        second.execute(0, &[Param::Int(2)]).await.unwrap();
        // The one that waits shorter finds the deadlock; the other must wait before.
        let mut waiting = Box::pin(second.execute(0, &[Param::Int(1)]));
        let waits = "SELECT 1 FROM pg_locks WHERE NOT granted";
        while server.sql(waits).is_empty() {
            let poll = timeout(Duration::from_millis(10), waiting.as_mut()).await;
            assert!(poll.is_none());
        }
        let error = first.execute(0, &[Param::Int(2)]).await.unwrap_err();
        assert_failed(&error, FailureKind::Restart, "40P01");
        first.rollback().await.unwrap();
        let waited = timeout(PATIENCE, waiting).await;
        waited.expect("no deadlock any more").unwrap();
    });
    outcome.unwrap();
}

fn stopped_server(server: &mut PostgresServer) {
    run(async {
        let mut victim = session(server).await;
        server.stop();
        let error = victim.execute(0, &[Param::Int(1)]).await.unwrap_err();
        assert_failed(&error, FailureKind::Away, "57P01");
        let error = Connection::open(&root(server)).await.unwrap_err();
        assert_told(&error, &["cannot connect"], &["nothing listens there"]);
        assert_eq!(error.into_session_error(None).kind, FailureKind::Away);
        server.restart();
        let mut victim = session(server).await;
        server.kill();
        let error = victim.execute(0, &[Param::Int(1)]).await.unwrap_err();
        let is_lost = matches!(error.kind, FailureKind::Lost | FailureKind::Away);
        assert!(is_lost, "{error}");
        server.restart();
        let mut again = session(server).await;
        let done = again.execute(0, &[Param::Int(1)]).await.unwrap();
        assert_eq!(done.affected, 1);
        again.close().await;
    });
}
