//! What scripts do: they prepare statements while the load runs, and read results.

use client::mysql::Mysql;
use client::postgres::Postgres;
use client::session::NetworkSession;
use client::{Protocol, StatementProtocol};
use workload::catalog::Label;
use workload::session::Param::{Double, Int, Null, Text};
use workload::session::{Connect, Reply, Rows, Session};

use crate::common::{both, catalog, connector, open, root, run};
use crate::postgres::target;

const CREATE: &str = "CREATE TABLE d (id INT, x DOUBLE PRECISION, c VARCHAR(20))";
const INSERT: &str = "INSERT INTO d VALUES (?, ?, ?)";
const SELECT: &str = "SELECT '?', c FROM d WHERE id = ? AND x > ?";

#[test]
fn mysql() {
    let closed = "SHOW SESSION STATUS LIKE 'Com_stmt_close'";
    for server in both(&[]) {
        run(async {
            a_script::<Mysql>(root(&server), StatementProtocol::Text, closed, "0").await;
            a_script::<Mysql>(root(&server), StatementProtocol::Prepared, closed, "1").await;
        });
    }
}

#[test]
fn postgres() {
    let server = testkit::Postgres::start(&[]);
    let target = target(&server.url("sbtest"), None, &open());
    let left = "SELECT count(*) FROM pg_prepared_statements";
    run(async {
        a_script::<Postgres>(target.clone(), StatementProtocol::Text, left, "0").await;
        a_script::<Postgres>(target, StatementProtocol::Prepared, left, "2").await;
    });
}

/// `freed` asks how many statements were or are left, once one of three is freed.
async fn a_script<P: Protocol>(
    target: P::Target,
    protocol: StatementProtocol,
    freed: &str,
    expected: &str,
) {
    let mut connector = connector::<P>(target);
    connector.protocol = protocol;
    let known = catalog(&["SELECT 1"]);
    let mut session = connector.connect(&known).await.unwrap();
    session.query(Label::default(), CREATE).await.unwrap();
    let insert = session.prepare(&INSERT.into()).await.unwrap();
    let select = session.prepare(&SELECT.into()).await.unwrap();
    assert_eq!((insert, select), (1, 2));
    values_of_all_types(&mut session, insert, select).await;
    results_are_read(&mut session).await;
    the_transaction_is_known(&mut session, insert).await;
    session.free(insert).await;
    assert_eq!(one(&mut session, freed).await, expected);
    // What was not freed is still there.
    let reply = session.execute(select, &[Int(1), Int(1)]).await.unwrap();
    assert_eq!(reply.rows, 1);
    assert_eq!(session.execute(0, &[]).await.unwrap().rows, 1);
    let again = session.prepare(&INSERT.into()).await.unwrap();
    assert_eq!(again, insert);
    session
        .query(Label::default(), "DROP TABLE d")
        .await
        .unwrap();
    session.close().await;
}

async fn values_of_all_types<P: Protocol>(
    session: &mut NetworkSession<P>,
    insert: u32,
    select: u32,
) {
    for values in [
        [Int(1), Double(1.5), Text(b"it's ?")],
        [Int(2), Null, Null],
        [Int(3), Double(-0.25), Text(b"")],
        // The second value has another type than before.
        [Int(4), Int(4), Null],
        [Null, Double(1e300), Text(b"x")],
    ] {
        let reply = session.execute(insert, &values).await.unwrap();
        let inserted = Reply {
            has_result: false,
            rows: 0,
            affected: 1,
        };
        assert_eq!(reply, inserted, "{values:?}");
    }
    for (values, rows) in [
        ([Int(1), Double(1.0)], 1),
        ([Int(1), Int(1)], 1),
        ([Int(1), Int(2)], 0),
        ([Int(1), Null], 0),
        ([Int(4), Double(3.75)], 1),
    ] {
        let reply = session.execute(select, &values).await.unwrap();
        let selected = Reply {
            has_result: true,
            rows,
            affected: 0,
        };
        assert_eq!(reply, selected, "{values:?}");
    }
}

async fn results_are_read<P: Protocol>(session: &mut NetworkSession<P>) {
    let mut rows = Rows::default();
    let sql = "SELECT id, x AS y, c FROM d WHERE id < 4 ORDER BY id";
    let reply = session.fetch(sql, &mut rows).await.unwrap();
    let selected = Reply {
        has_result: true,
        rows: 3,
        affected: 0,
    };
    assert_eq!(reply, selected);
    assert_eq!(rows.columns, ["id", "y", "c"]);
    let wanted = [
        [Some("1"), Some("1.5"), Some("it's ?")],
        [Some("2"), None, None],
        [Some("3"), Some("-0.25"), Some("")],
    ];
    let wanted = wanted.map(|row| row.map(|cell| cell.map(str::to_owned)).to_vec());
    assert_eq!(rows.rows, wanted);
    let sql = "SELECT count(*) FROM d WHERE id IS NULL AND x = 1e300";
    assert_eq!(one(session, sql).await, "1");
    let update = "UPDATE d SET c = c WHERE id <= 2";
    let reply = session.fetch(update, &mut rows).await.unwrap();
    assert_eq!((reply.has_result, reply.affected), (false, 2));
    assert_eq!(rows, Rows::default());
}

async fn the_transaction_is_known<P: Protocol>(session: &mut NetworkSession<P>, insert: u32) {
    let mut rows = Rows::default();
    session.fetch("BEGIN", &mut rows).await.unwrap();
    session
        .execute(insert, &[Int(5), Null, Null])
        .await
        .unwrap();
    let refused = session.fetch("SELECT nothing", &mut rows).await;
    assert!(refused.unwrap_err().is_from_server());
    session.rollback().await.unwrap();
    assert_eq!(one(session, "SELECT count(*) FROM d").await, "5");
}

/// The last value of a result.
async fn one<P: Protocol>(session: &mut NetworkSession<P>, sql: &str) -> String {
    let mut rows = Rows::default();
    session.fetch(sql, &mut rows).await.unwrap();
    let mut cells = rows.rows.into_iter().flatten().flatten();
    cells.next_back().unwrap()
}
