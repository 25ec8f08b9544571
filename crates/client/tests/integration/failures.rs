//! What a load does when a statement fails: run again, reconnect, or stop.

use std::sync::Arc;

use crate::common::{accepting, account, root, run};
use client::mysql::{Connector, MysqlSession, StatementProtocol};
use client::reactor::Reactor;
use client::route::Route;
use testkit::{MariaDb, MySql, Server};
use workload::catalog::{Catalog, Label, StatementClass};
use workload::session::{Connect, FailureKind, Param, Session, SessionError};

fn both(options: &[&str]) -> [Server; 2] {
    [MariaDb::start(options), MySql::start(options)]
}

fn connector(server: &Server, user: &str) -> Connector {
    let target = match user {
        "root" => root(server),
        user => account(server, user, "p", &accepting()),
    };
    Connector {
        targets: vec![Arc::new(target)],
        route: Arc::new(Route::fixed()),
        protocol: StatementProtocol::Prepared,
        stamp_replies: true,
    }
}

async fn session(server: &Server, user: &str) -> MysqlSession {
    let mut catalog = Catalog::default();
    let label = catalog.labels.intern("update", StatementClass::Write);
    catalog.add(label, "UPDATE t SET k = k + 1 WHERE id = ?".to_owned());
    let catalog = Arc::new(catalog);
    connector(server, user).connect(&catalog).await.unwrap()
}

/// A server with two rows and the account `victim`.
fn prepare(server: &Server) {
    let plugin = match server.engine() {
        testkit::Engine::MariaDb => "mysql_native_password",
        testkit::Engine::MySql => "caching_sha2_password",
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

/// Asks until there are connections of the victim like that.
fn wait_for(server: &Server, condition: &str) -> Vec<String> {
    loop {
        let found = connections(server, condition);
        if !found.is_empty() {
            return found;
        }
    }
}

fn wait_until_gone(server: &Server) {
    while !connections(server, "true").is_empty() {}
}

#[track_caller]
fn assert_lost(error: &SessionError) {
    assert_eq!(error.kind, FailureKind::Lost, "{error}");
    assert!(!error.message.is_empty());
}

async fn assert_next_is_lost(session: &mut MysqlSession) {
    let next = session.query(Label::default(), "SELECT 1").await;
    assert_lost(&next.unwrap_err());
}

#[test]
fn a_connection_that_is_killed_between_statements_is_lost() {
    for server in both(&[]) {
        prepare(&server);
        run(async {
            let mut session = session(&server, "victim").await;
            let [id] = &wait_for(&server, "true")[..] else {
                panic!("one connection")
            };
            server.sql(&format!("KILL {id}"));
            wait_until_gone(&server);
            assert_next_is_lost(&mut session).await;
        });
    }
}

#[test]
fn a_connection_that_is_killed_in_a_statement_is_lost() {
    for server in both(&[]) {
        prepare(&server);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let [id] = &wait_for(&server, "info LIKE '%sleep%'")[..] else {
                    panic!("one connection")
                };
                server.sql(&format!("KILL {id}"));
            });
            run(async {
                let mut session = session(&server, "victim").await;
                // MySQL may let the interrupted function return before it closes.
                let sql = "SELECT sleep(1000) UNION ALL SELECT sleep(1000)";
                let killed = session.query(Label::default(), sql).await;
                let error = match killed {
                    Err(error) => error,
                    Ok(_) => session
                        .query(Label::default(), "SELECT 1")
                        .await
                        .unwrap_err(),
                };
                assert_lost(&error);
            });
        });
    }
}

#[test]
fn a_statement_that_is_killed_is_refused_and_the_connection_goes_on() {
    for server in both(&[]) {
        prepare(&server);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let [id] = &wait_for(&server, "info LIKE '%COUNT%'")[..] else {
                    panic!("one connection")
                };
                server.sql(&format!("KILL QUERY {id}"));
            });
            run(async {
                let mut session = session(&server, "victim").await;
                // More rows than anybody counts.
                let tables: Vec<_> = (0..40).map(|number| format!("t AS t{number}")).collect();
                let sql = format!("SELECT STRAIGHT_JOIN COUNT(*) FROM {}", tables.join(", "));
                let error = session.query(Label::default(), &sql).await.unwrap_err();
                assert_eq!(
                    (error.kind, error.number),
                    (FailureKind::Refused, Some(1317)),
                    "{error}"
                );
                session.query(Label::default(), "SELECT 1").await.unwrap();
            });
        });
    }
}

#[test]
fn a_connection_that_idled_too_long_is_lost() {
    for server in both(&[]) {
        prepare(&server);
        run(async {
            let mut session = session(&server, "victim").await;
            session
                .query(Label::default(), "SET wait_timeout = 1")
                .await
                .unwrap();
            wait_until_gone(&server);
            assert_next_is_lost(&mut session).await;
        });
    }
}

/// Behind a proxy, it may be another one than before.
#[test]
fn a_server_that_accepts_no_more_writes_is_away() {
    for server in both(&[]) {
        prepare(&server);
        // A read-only server still accepts writes from administrators.
        server.sql("REVOKE ALL ON *.* FROM victim; GRANT SELECT, UPDATE ON *.* TO victim");
        run(async {
            let mut session = session(&server, "victim").await;
            for kind in [FailureKind::Refused, FailureKind::Away] {
                server.sql("SET GLOBAL read_only = ON");
                let error = session.execute(0, &[Param::Int(1)]).await.unwrap_err();
                assert_eq!((error.kind, error.number), (kind, Some(1290)), "{error}");
                server.sql("SET GLOBAL read_only = OFF");
                session.execute(0, &[Param::Int(1)]).await.unwrap();
            }
        });
    }
}

#[test]
fn a_server_that_dies_takes_its_connections() {
    for mut server in both(&[]) {
        prepare(&server);
        run(async {
            let mut session = session(&server, "victim").await;
            let connector = connector(&server, "victim");
            server.kill();
            assert_next_is_lost(&mut session).await;
            let refused = connector.connect(&Arc::default()).await.unwrap_err();
            // Its host answers that nothing listens: it may be restarting.
            assert_eq!(refused.kind, FailureKind::Away, "{refused}");
        });
    }
}

#[test]
fn of_two_that_wait_for_each_other_one_runs_again() {
    for server in both(&[]) {
        prepare(&server);
        let reactor = Reactor::new().unwrap();
        let [mut one, mut two] = reactor
            .block_on(async {
                let mut sessions = [
                    session(&server, "victim").await,
                    session(&server, "victim").await,
                ];
                for (session, id) in sessions.iter_mut().zip(1..) {
                    session.query(Label::default(), "BEGIN").await.unwrap();
                    let done = session.execute(0, &[Param::Int(id)]).await.unwrap();
                    assert_eq!(done.affected, 1);
                }
                sessions
            })
            .unwrap();
        let (first, second) = reactor
            .block_on(both_of(
                async { (one.execute(0, &[Param::Int(2)]).await, one.rollback().await) },
                async { (two.execute(0, &[Param::Int(1)]).await, two.rollback().await) },
            ))
            .unwrap();
        let failed: Vec<_> = [&first.0, &second.0]
            .into_iter()
            .filter_map(|done| done.as_ref().err())
            .collect();
        let [error] = failed[..] else {
            panic!("one of both is the victim: {first:?} {second:?}")
        };
        assert_eq!(
            (error.kind, error.number),
            (FailureKind::Restart, Some(1213))
        );
        assert_eq!(error.sqlstate, Some(*b"40001"));
        assert_eq!(
            error.statement.as_deref(),
            Some("UPDATE t SET k = k + 1 WHERE id = ?")
        );
        assert!(first.1.is_ok() && second.1.is_ok());
        assert_eq!(
            server.sql("SELECT SUM(k) FROM t"),
            [["0"]],
            "both were rolled back"
        );
        reactor
            .block_on(async {
                one.close().await;
                two.close().await;
            })
            .unwrap();
    }
}

#[test]
fn who_waits_too_long_for_a_lock_runs_again() {
    for server in both(&["--innodb-lock-wait-timeout=1"]) {
        prepare(&server);
        run(async {
            let (mut one, mut two) = (
                session(&server, "victim").await,
                session(&server, "victim").await,
            );
            for session in [&mut one, &mut two] {
                session.query(Label::default(), "BEGIN").await.unwrap();
            }
            one.execute(0, &[Param::Int(1)]).await.unwrap();
            let error = two.execute(0, &[Param::Int(1)]).await.unwrap_err();
            assert_eq!(
                (error.kind, error.number),
                (FailureKind::Restart, Some(1205))
            );
            two.rollback().await.unwrap();
        });
    }
}

/// Runs two futures beside each other until both have ended.
async fn both_of<A, B>(one: impl Future<Output = A>, two: impl Future<Output = B>) -> (A, B) {
    let (mut one, mut two) = (std::pin::pin!(one), std::pin::pin!(two));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(|context| {
        use std::task::Poll;
        if first.is_none()
            && let Poll::Ready(output) = one.as_mut().poll(context)
        {
            first = Some(output);
        }
        if second.is_none()
            && let Poll::Ready(output) = two.as_mut().poll(context)
        {
            second = Some(output);
        }
        match (first.take(), second.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (one, two) => {
                (first, second) = (one, two);
                Poll::Pending
            }
        }
    })
    .await
}
