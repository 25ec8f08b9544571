//! Statements and their replies: long, many, prepared, loaded from memory.

use client::clock::monotonic_ns;
use client::postgres::{Connection, Connector, PostgresSession};
use client::{StatementProtocol, TlsMode};
use testkit::{Postgres, PostgresServer};
use workload::catalog::Label;
use workload::session::{Connect, Param, Session};

use super::{by_socket, root, target};
use crate::common::{catalog, connector, one_value, run, tls};

#[test]
fn statements() {
    let server = Postgres::builder().tls(true).start();
    for mode in [TlsMode::Disable, TlsMode::Required] {
        let target = target(&server.url("sbtest"), None, &tls(mode));
        run(async {
            let mut connection = Connection::open(&target).await.unwrap();
            assert!(connection.server_version().starts_with(char::is_numeric));
            assert!(connection.backend_pid() > 0);
            let is_encrypted = connection.tls_description().is_some();
            assert_eq!(is_encrypted, mode == TlsMode::Required);
            long_statements_and_rows(&mut connection).await;
            parameters_of_all_types(&mut connection).await;
            many_rows(&mut connection).await;
            several_statements(&mut connection).await;
            a_table_is_loaded_from_memory(&mut connection).await;
            errors_leave_the_connection_usable(&mut connection).await;
            connection.close().await;
        });
        server.sql("DROP TABLE p, n, l");
    }
    assert!(!server.log().contains("unexpected EOF"), "{}", server.log());
    sessions(&server);
}

async fn long_statements_and_rows(connection: &mut Connection) {
    for length in [0, 100, 16_384, 100_000, 20 << 20] {
        let sql = format!("SELECT length('{}')", "x".repeat(length));
        assert_eq!(one_value(connection, &sql).await, length.to_string());
        let sql = format!("SELECT repeat('x', {length}) UNION ALL SELECT 'y'");
        assert_eq!(connection.run(&sql).await.unwrap().rows, 2, "{length}");
        let mut statement = connection.prepare(&sql).await.unwrap();
        let done = connection.execute(&mut statement, &[], &sql).await;
        assert_eq!(done.unwrap().rows, 2, "{length} bytes, prepared");
    }
    let sql = "SELECT length($1)::text || $1";
    let mut statement = connection.prepare(sql).await.unwrap();
    let text = "ü".repeat(5 << 20);
    let values = [Param::Text(text.as_bytes())];
    let done = connection.execute(&mut statement, &values, sql).await;
    assert_eq!(done.unwrap().rows, 1);
}

async fn parameters_of_all_types(connection: &mut Connection) {
    let create =
        "CREATE TABLE p (a int, b bigint, c smallint, d char(6), e varchar, f text, g numeric)";
    connection.run(create).await.unwrap();
    let sql = "INSERT INTO p VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let mut insert = connection.prepare(sql).await.unwrap();
    // With the numeric all go as text.
    let plain = "INSERT INTO p VALUES ($1, $2, $3, $4, $5, $6)";
    let mut binary = connection.prepare(plain).await.unwrap();
    let texts = ["", "it's", r"\ ü"];
    let numbers = [
        (i64::from(i32::MIN), i64::MIN, i64::from(i16::MIN)),
        (0, 0, 0),
        (i64::from(i32::MAX), i64::MAX, i64::from(i16::MAX)),
    ];
    for ((a, b, c), text) in numbers.into_iter().zip(texts) {
        let [a, b, c] = [a, b, c].map(Param::Int);
        let text = Param::Text(text.as_bytes());
        let values = [a, b, c, text, text, text, a];
        let done = connection.execute(&mut insert, &values, sql).await;
        assert_eq!((done.unwrap().affected), 1);
        let done = connection.execute(&mut binary, &values[..6], plain).await;
        let done = done.unwrap();
        assert_eq!((done.rows, done.affected), (0, 1));
    }
    let columns = "a, b, c, d, e, f";
    let twice = "HAVING count(*) = 2 ORDER BY a";
    let sql = format!("SELECT {columns} FROM p GROUP BY {columns} {twice}");
    let rows = connection.rows(&sql).await.unwrap();
    for ((row, (a, b, c)), text) in rows.iter().zip(numbers).zip(texts) {
        let row: Vec<_> = row.iter().map(|cell| cell.as_deref().unwrap()).collect();
        let wanted = format!("{a}|{b}|{c}|{text:6}|{text}|{text}");
        assert_eq!(row.join("|"), wanted);
    }
    assert_eq!(rows.len(), 3);
    // A number that the type cannot hold is the server's to refuse.
    let values = [[i64::MAX, 0, 0].map(Param::Int), [Param::Text(b""); 3]].concat();
    let refused = connection.execute(&mut binary, &values, plain).await;
    assert_eq!(refused.unwrap_err().sqlstate(), Some("22003"));
    let few = [Param::Int(1)];
    let refused = connection.execute(&mut binary, &few, plain).await;
    assert_eq!(refused.unwrap_err().sqlstate(), Some("08P01"));
    // UPDATE counts the rows that it found.
    let sql = "UPDATE p SET a = a WHERE c <= $1";
    let mut update = connection.prepare(sql).await.unwrap();
    let done = connection.execute(&mut update, &[Param::Int(0)], sql).await;
    assert_eq!(done.unwrap().affected, 4);
    // A value for each of many parameters.
    let places: Vec<_> = (1..=500).map(|number| format!("${number}")).collect();
    let sql = format!("SELECT * FROM p WHERE a IN ({})", places.join(","));
    let mut select = connection.prepare(&sql).await.unwrap();
    let values: Vec<_> = (0..500).map(Param::Int).collect();
    let done = connection.execute(&mut select, &values, &sql).await;
    assert_eq!(done.unwrap().rows, 2);
}

async fn many_rows(connection: &mut Connection) {
    let create = "CREATE TABLE n AS SELECT id FROM generate_series(1, 100000) AS id";
    let done = connection.run(create).await.unwrap();
    assert_eq!((done.rows, done.affected), (0, 0));
    let sql = "SELECT id, NULL, 'text' FROM n ORDER BY id";
    assert_eq!(connection.run(sql).await.unwrap().rows, 100_000);
    let mut statement = connection.prepare(sql).await.unwrap();
    let done = connection.execute(&mut statement, &[], sql).await;
    assert_eq!(done.unwrap().rows, 100_000);
    let rows = connection.rows(sql).await.unwrap();
    assert_eq!(rows.len(), 100_000);
    let row = [Some("78"), None, Some("text")];
    assert_eq!(rows[77], row.map(|cell| cell.map(str::to_owned)));
    let wide = format!("SELECT {}", ["1"; 1600].join(","));
    assert_eq!(connection.rows(&wide).await.unwrap()[0].len(), 1600);
}

async fn several_statements(connection: &mut Connection) {
    let sql = "SELECT 1; UPDATE n SET id = id WHERE id <= 3; SELECT 2, 3; DO $$BEGIN RAISE WARNING 'w'; END$$";
    let done = connection.run(sql).await.unwrap();
    assert_eq!((done.rows, done.affected), (2, 3));
    assert_eq!(connection.run("").await.unwrap().rows, 0);
    let mut empty = connection.prepare("").await.unwrap();
    let done = connection.execute(&mut empty, &[], "").await;
    assert_eq!(done.unwrap().rows, 0);
    for name in ["BEGIN", "COMMIT"] {
        let mut statement = connection.prepare(name).await.unwrap();
        let done = connection.execute(&mut statement, &[], name).await;
        assert_eq!(done.unwrap().affected, 0);
    }
}

async fn a_table_is_loaded_from_memory(connection: &mut Connection) {
    let create = "CREATE TABLE l (id int PRIMARY KEY, c text)";
    connection.run(create).await.unwrap();
    let sql = "COPY l FROM STDIN";
    let mut next = 1..=20_000;
    let loaded = connection.load(sql, |out| {
        for id in next.by_ref().take(777) {
            out.extend_from_slice(format!("{id}\t{}\n", "z".repeat(100)).as_bytes());
        }
    });
    assert_eq!(loaded.await.unwrap().affected, 20_000);
    assert_eq!(connection.load(sql, |_| {}).await.unwrap().affected, 0);

    // The server gives up at the first line and takes the others all the same.
    let mut left = 2000;
    let refused = connection.load(sql, |out| {
        if left > 0 {
            left -= 1;
            out.extend_from_slice("1\tagain\n".repeat(1000).as_bytes());
        }
    });
    assert_eq!(refused.await.unwrap_err().sqlstate(), Some("23505"));
    let count = one_value(connection, "SELECT count(*) FROM l").await;
    assert_eq!(count, "20000");

    // Refused before a line is sent; and a statement that wants no lines.
    let nobody = |_: &mut Vec<u8>| panic!("nobody asked for lines");
    let refused = connection.load("COPY none FROM STDIN", nobody).await;
    assert_eq!(refused.unwrap_err().sqlstate(), Some("42P01"));
    assert_eq!(connection.load("SELECT 1", nobody).await.unwrap().rows, 1);
}

async fn errors_leave_the_connection_usable(connection: &mut Connection) {
    for (sql, sqlstate) in [
        ("SELECT FROM WHERE", "42601"),
        ("SELECT * FROM no_such_table", "42P01"),
        ("INSERT INTO l VALUES (1, '')", "23505"),
        ("SELECT 1/0", "22012"),
        ("SELECT 1; SELECT 1/0; SELECT 2", "22012"),
        ("SELECT 1/(3-id) FROM n ORDER BY id", "22012"),
    ] {
        let error = connection.run(sql).await.unwrap_err();
        assert_eq!(error.sqlstate(), Some(sqlstate), "{error}");
        assert!(error.to_string().contains(sql), "{error}");
        let error = connection.rows(sql).await.unwrap_err();
        assert_eq!(error.sqlstate(), Some(sqlstate), "{error}");
    }
    let error = connection.prepare("SELECT nothing").await.unwrap_err();
    assert_eq!(error.sqlstate(), Some("42703"));
    let sql = "SELECT 1/$1::int";
    let mut statement = connection.prepare(sql).await.unwrap();
    for (divisor, outcome) in [(0, Some("22012")), (1, None), (0, Some("22012"))] {
        let values = [Param::Int(divisor)];
        let done = connection.execute(&mut statement, &values, sql).await;
        let error = done.err();
        assert_eq!(error.as_ref().and_then(|error| error.sqlstate()), outcome);
    }
}

async fn session(connector: &Connector) -> PostgresSession {
    let select = "SELECT c FROM s WHERE id = $1";
    let update = "UPDATE s SET c = $2 WHERE id = $1";
    let catalog = catalog(&["BEGIN", select, update]);
    connector.connect(&catalog).await.unwrap()
}

/// The workloads' view, by both protocols, stamped and unstamped.
fn sessions(server: &PostgresServer) {
    server.sql("CREATE TABLE s (id int PRIMARY KEY, c char(20)); INSERT INTO s VALUES (1, 'one'), (2, 'two')");
    for protocol in [StatementProtocol::Prepared, StatementProtocol::Text] {
        let mut connector: Connector = connector(root(server));
        connector.protocol = protocol;
        run(async {
            let mut stamped = session(&connector).await;
            let begun_ns = monotonic_ns();
            let mut arrivals = 0;
            for _ in 0..100 {
                let reply = stamped.execute(1, &[Param::Int(2)]).await.unwrap();
                assert_eq!((reply.rows, reply.affected), (1, 0));
                if let Some(arrived_ns) = stamped.reply_arrived_ns() {
                    assert!((begun_ns..=monotonic_ns()).contains(&arrived_ns));
                    arrivals += 1;
                }
            }
            assert!(arrivals > 50, "the kernel stamps {arrivals} of 100 replies");
            stamped.execute(0, &[]).await.unwrap();
            let params = [Param::Int(1), Param::Text(b"it's")];
            let reply = stamped.execute(2, &params).await.unwrap();
            assert_eq!((reply.rows, reply.affected), (0, 1));
            stamped.rollback().await.unwrap();
            let sql = "SELECT * FROM s WHERE c = 'one'";
            let reply = stamped.query(Label::default(), sql).await.unwrap();
            assert_eq!(reply.rows, 1, "the update was rolled back");
            // There is nothing to roll back, and nothing is sent.
            stamped.rollback().await.unwrap();
            stamped.close().await;
            connector.stamp_replies = false;
            let mut unstamped = session(&connector).await;
            unstamped.execute(1, &[Param::Int(2)]).await.unwrap();
            assert_eq!(unstamped.reply_arrived_ns(), None);
            unstamped.close().await;
        });
    }
    let by_socket = target(&by_socket(server, "root"), None, &tls(TlsMode::Preferred));
    run(async {
        let mut local = session(&connector(by_socket)).await;
        let reply = local.execute(1, &[Param::Int(2)]).await.unwrap();
        assert_eq!((reply.rows, local.reply_arrived_ns()), (1, None));
        local.close().await;
    });
}
