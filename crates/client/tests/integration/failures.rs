//! What a load does when a statement fails: run again, reconnect, or stop.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{self, accepting, account, both, connector, query, run};
use client::mysql::{Connector, MysqlSession, Target};
use client::reactor::timeout;
use testkit::{Engine, Server};
use workload::session::{Connect, FailureKind, Param, Session, SessionError};

fn victim(server: &Server) -> Target {
    account(server, "victim", "p", &accepting())
}

async fn session(server: &Server) -> MysqlSession {
    common::session(victim(server), &["UPDATE t SET k = k + 1 WHERE id = ?"]).await
}

/// A server with two rows and the account `victim`.
fn prepare(server: &Server) {
    let plugin = match server.engine() {
        Engine::MariaDb => "mysql_native_password",
        Engine::MySql => "caching_sha2_password",
    };
    server.create_user("victim", "p", plugin, false);
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, k INT); INSERT INTO t VALUES (1, 0), (2, 0)");
}

fn connections(server: &Server, condition: &str) -> Vec<String> {
    let rows = server.sql(&format!(
        "SELECT id FROM information_schema.processlist WHERE user = 'victim' AND {condition}"
    ));
    rows.into_iter().flatten().collect()
}

/// Ends (`KILL`, `KILL QUERY`) the one connection of the victim like that, once there is one.
fn kill(server: &Server, how: &str, condition: &str) {
    while connections(server, condition).is_empty() {}
    let [id] = &connections(server, condition)[..] else {
        panic!("one connection")
    };
    server.sql(&format!("{how} {id}"));
}

fn wait_until_gone(server: &Server) {
    while !connections(server, "true").is_empty() {}
}

#[track_caller]
fn assert_failed(error: &SessionError, kind: FailureKind, number: u32) {
    let failed = (error.kind, error.number);
    assert_eq!(failed, (kind, Some(number)), "{error}");
}

#[track_caller]
fn assert_lost(error: &SessionError) {
    assert_eq!(error.kind, FailureKind::Lost, "{error}");
    assert!(!error.message.is_empty());
}

async fn assert_next_is_lost(session: &mut MysqlSession) {
    assert_lost(&query(session, "SELECT 1").await.unwrap_err());
}

#[test]
fn failures() {
    for mut server in both(&[]) {
        prepare(&server);
        for fails in [
            of_two_that_wait_for_each_other_one_runs_again,
            a_connection_that_is_killed_between_statements_is_lost,
            a_connection_that_is_killed_in_a_statement_is_lost,
            a_statement_that_is_killed_is_refused_and_the_connection_goes_on,
            a_connection_that_idled_too_long_is_lost,
            who_waits_too_long_for_a_lock_runs_again,
            a_server_that_accepts_no_more_writes_is_away,
        ] {
            fails(&server);
            wait_until_gone(&server);
        }
        a_server_that_dies_takes_its_connections(&mut server);
    }
}

fn a_connection_that_is_killed_between_statements_is_lost(server: &Server) {
    run(async {
        let mut session = session(server).await;
        kill(server, "KILL", "true");
        wait_until_gone(server);
        assert_next_is_lost(&mut session).await;
    });
}

fn a_connection_that_is_killed_in_a_statement_is_lost(server: &Server) {
    std::thread::scope(|scope| {
        scope.spawn(|| kill(server, "KILL", "info LIKE '%sleep%'"));
        run(async {
            let mut session = session(server).await;
            // MySQL may let the interrupted function return before it closes.
            let sql = "SELECT sleep(1000) UNION ALL SELECT sleep(1000)";
            match query(&mut session, sql).await {
                Err(error) => assert_lost(&error),
                Ok(_) => assert_next_is_lost(&mut session).await,
            }
        });
    });
}

fn a_statement_that_is_killed_is_refused_and_the_connection_goes_on(server: &Server) {
    std::thread::scope(|scope| {
        scope.spawn(|| kill(server, "KILL QUERY", "info LIKE '%COUNT%'"));
        run(async {
            let mut session = session(server).await;
            // More rows than anybody counts.
            let tables: Vec<_> = (0..40).map(|number| format!("t AS t{number}")).collect();
            let sql = format!("SELECT STRAIGHT_JOIN COUNT(*) FROM {}", tables.join(", "));
            let error = query(&mut session, &sql).await.unwrap_err();
            assert_failed(&error, FailureKind::Refused, 1317);
            query(&mut session, "SELECT 1").await.unwrap();
        });
    });
}

fn a_connection_that_idled_too_long_is_lost(server: &Server) {
    run(async {
        let mut session = session(server).await;
        let limit = "SET wait_timeout = 1";
        query(&mut session, limit).await.unwrap();
        wait_until_gone(server);
        assert_next_is_lost(&mut session).await;
    });
}

/// Behind a proxy, it may be another one than before.
fn a_server_that_accepts_no_more_writes_is_away(server: &Server) {
    // A read-only server still accepts writes from administrators.
    server.sql("REVOKE ALL ON *.* FROM victim; GRANT SELECT, UPDATE ON *.* TO victim");
    run(async {
        let mut session = session(server).await;
        for kind in [FailureKind::Refused, FailureKind::Away] {
            server.sql("SET GLOBAL read_only = ON");
            let error = session.execute(0, &[Param::Int(1)]).await.unwrap_err();
            assert_failed(&error, kind, 1290);
            server.sql("SET GLOBAL read_only = OFF");
            session.execute(0, &[Param::Int(1)]).await.unwrap();
        }
    });
}

fn a_server_that_dies_takes_its_connections(server: &mut Server) {
    run(async {
        let mut session = session(server).await;
        let connector: Connector = connector(victim(server));
        server.kill();
        assert_next_is_lost(&mut session).await;
        let refused = connector.connect(&Arc::default()).await.unwrap_err();
        // Its host answers that nothing listens: it may be restarting.
        assert_eq!(refused.kind, FailureKind::Away, "{refused}");
    });
}

fn of_two_that_wait_for_each_other_one_runs_again(server: &Server) {
    run(async {
        let (mut one, mut two) = (session(server).await, session(server).await);
        for (session, id) in [(&mut one, 1), (&mut two, 2)] {
            query(session, "BEGIN").await.unwrap();
            let done = session.execute(0, &[Param::Int(id)]).await.unwrap();
            assert_eq!(done.affected, 1);
        }
        let mut waiting = Box::pin(two.execute(0, &[Param::Int(1)]));
        let waits = timeout(Duration::from_millis(10), waiting.as_mut()).await;
        assert!(waits.is_none());
        let first = one.execute(0, &[Param::Int(2)]).await;
        // Who is the victim is the server's choice; the other one goes on.
        if first.is_err() {
            one.rollback().await.unwrap();
        }
        let second = waiting.await;
        let error = match (first, second) {
            (Err(error), Ok(_)) | (Ok(_), Err(error)) => error,
            both => panic!("one of both is the victim: {both:?}"),
        };
        assert_failed(&error, FailureKind::Restart, 1213);
        assert_eq!(error.sqlstate, Some(*b"40001"));
        let update = "UPDATE t SET k = k + 1 WHERE id = ?";
        assert_eq!(error.statement.as_deref(), Some(update));
        one.rollback().await.unwrap();
        two.rollback().await.unwrap();
        let sum = server.sql("SELECT SUM(k) FROM t");
        assert_eq!(sum, [["0"]], "both were rolled back");
    });
}

fn who_waits_too_long_for_a_lock_runs_again(server: &Server) {
    run(async {
        let (mut one, mut two) = (session(server).await, session(server).await);
        for session in [&mut one, &mut two] {
            query(session, "BEGIN").await.unwrap();
        }
        let limit = "SET innodb_lock_wait_timeout = 1";
        query(&mut two, limit).await.unwrap();
        one.execute(0, &[Param::Int(1)]).await.unwrap();
        let error = two.execute(0, &[Param::Int(1)]).await.unwrap_err();
        assert_failed(&error, FailureKind::Restart, 1205);
        two.rollback().await.unwrap();
    });
}
